"""/models and /models/{id}/endpoints, with the gateway's own faults applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sandbox.catalogue import endpoints_body, models_body
from sandbox.exchange import Exchange, encode, send_bytes, send_json
from sandbox.failures import Headers, edge_refusal, refusal
from sandbox.faults.shapes import ERROR_PAGE
from sandbox.gateway_faults import DISCOVERY_KINDS, stand_in_the_way
from sandbox.scenario import Endpoint, GatewayFault, Model
from sandbox.state import SandboxState

_JSON = (("Content-Type", "application/json"),)
_HTML = (("Content-Type", "text/html; charset=UTF-8"),)
# As recorded: an edge may serve the list of models an hour old.
_CACHED = (("Cache-Control", "public, max-age=300, stale-while-revalidate=3600, stale-if-error=3600"),)


async def serve_models(state: SandboxState, exchange: Exchange) -> None:
    """The list of models."""
    await stand_in_the_way(state, exchange)
    rows = [(model, state.serving(model)) for model in state.listed_models()]
    if state.gateway_fault("discovery_empty") is not None:
        rows = []
    await _send(state, exchange, models_body(rows), model="", headers=_CACHED)


async def serve_endpoints(state: SandboxState, exchange: Exchange, name: str, *, with_speed: bool) -> None:
    """The endpoints of one model; 404 for a model that is not listed."""
    await stand_in_the_way(state, exchange)
    found = state.find_model(name)
    if found is None or found[1] is not None:
        raise refusal(404, f"Model {name} not found")
    model = found[0]
    endpoints = _listed(state, model)
    await _send(
        state, exchange, endpoints_body(model, endpoints, is_authenticated=with_speed), model=model.id
    )


def _listed(state: SandboxState, model: Model) -> list[Endpoint]:
    """The serving endpoints after the faults that shorten or lengthen the list."""
    endpoints = state.serving(model)
    if state.gateway_fault("discovery_empty", model.id) is not None:
        return []
    shrunk = state.gateway_fault("discovery_shrunk", model.id)
    if shrunk is not None:
        return endpoints[: _number(shrunk, "keep")]
    if state.gateway_fault("discovery_duplicated", model.id) is not None:
        return [row for endpoint in endpoints for row in (endpoint, endpoint)]
    huge = state.gateway_fault("discovery_huge", model.id)
    if huge is not None and endpoints:
        return [
            replace(endpoints[0], tag=f"host-{index}/fp8", provider=f"Host {index}")
            for index in range(_number(huge, "endpoints"))
        ]
    return endpoints


def _number(fault: GatewayFault, name: str) -> int:
    """A number parameter, or its default where the fault was built without one."""
    value = fault.params.get(name, DISCOVERY_KINDS[fault.kind][name].default)
    assert isinstance(value, int | float)
    return int(value)


async def _send(
    state: SandboxState, exchange: Exchange, body: dict[str, Any], *, model: str, headers: Headers = ()
) -> None:
    """The body, or what a discovery fault makes of it."""
    failing = state.gateway_fault("discovery_error", model)
    if failing is not None:
        raise edge_refusal(_number(failing, "status"), "Internal Server Error")
    unreadable = state.gateway_fault("discovery_unreadable", model)
    nested = state.gateway_fault("discovery_nested", model)
    if nested is not None:
        depth = _number(nested, "depth")
        await send_bytes(exchange, 200, b'{"data":' + b"[" * depth + b"]" * depth + b"}", _JSON)
    elif unreadable is not None:
        await _send_unreadable(exchange, body, str(unreadable.params.get("variant", "html")))
    else:
        await send_json(exchange, 200, body, headers)


async def _send_unreadable(exchange: Exchange, body: dict[str, Any], variant: str) -> None:
    data = encode(body)
    match variant:
        case "truncated":
            await send_bytes(exchange, 200, data[: len(data) // 2], _JSON)
        case "wrong_shape":
            await send_json(exchange, 200, {"data": "unavailable"})
        case _:
            await send_bytes(exchange, 200, ERROR_PAGE.encode(), _HTML)
