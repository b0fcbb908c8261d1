"""/sandbox/…: what was served, and faults changed while it runs. Not part of any gateway's API."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

from sandbox.exchange import Exchange, send_json
from sandbox.failures import bad_request, refusal
from sandbox.loading import parse_faults, parse_gateway_faults, parse_keys
from sandbox.state import SandboxState
from sandbox.tables import ScenarioError

_LOG_PAGE = 1000
_KEYS = ("model", "tag", "faults", "gateway", "keys")


async def serve(state: SandboxState, exchange: Exchange, path: str) -> None:
    """Answer one control request. Raises GatewayRefusal (400, 404) with a sentence."""
    match exchange.method, path:
        case "GET", "/sandbox/state":
            await send_json(exchange, 200, state.report())
        case "GET", "/sandbox/log":
            await send_json(exchange, 200, {"data": _log(state, exchange.query)})
        case "DELETE", "/sandbox/state":
            state.reset_counters()
            await send_json(exchange, 200, {"ok": True})
        case "POST", "/sandbox/faults":
            try:
                changed = _replace(state, _object(await exchange.body()))
            except ScenarioError as error:
                raise bad_request(str(error)) from None
            await send_json(exchange, 200, {"ok": True, "replaced": changed})
        case _:
            raise refusal(404, f"No route for {exchange.method} {exchange.path}.")


def _log(state: SandboxState, query: str) -> list[dict[str, Any]]:
    """The log lines after the number `after`, a thousand at a time."""
    given = parse_qs(query).get("after", ["0"])[0]
    if not given.isdigit():
        raise bad_request("after must be the number of a log line")
    lines = [asdict(served) for served in state.log if served.number > int(given)]
    return lines[:_LOG_PAGE]


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except ValueError:
        raise bad_request("The request body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise bad_request("The request body must be a JSON object.")
    return data


def _replace(state: SandboxState, data: dict[str, Any]) -> list[str]:
    """Replace an endpoint's faults (`model`, `tag`, `faults`), the gateway's (`gateway`) and the `keys`.

    Everything is checked before anything is changed. Their times count from the sandbox's start.
    """
    unknown = next((key for key in data if key not in _KEYS), None)
    if unknown is not None:
        raise ScenarioError(f"faults: `{unknown}` is not a key here; known are {', '.join(_KEYS)}.")
    gateway = parse_gateway_faults(data["gateway"], "gateway") if "gateway" in data else None
    keys = parse_keys(data["keys"], "keys") if "keys" in data else None
    replaced: list[str] = []
    if "faults" in data:
        model, tag = str(data.get("model", "")), str(data.get("tag", ""))
        faults = parse_faults(data["faults"], f"models.{model}.endpoints.{tag}")
        if not state.replace_faults(model, tag, faults):
            raise ScenarioError(f"faults: there is no endpoint with `model` {model!r} and `tag` {tag!r}.")
        replaced.append("faults")
    if gateway is not None:
        state.gateway_faults = gateway
        replaced.append("gateway")
    if keys is not None:
        state.keys = keys
        replaced.append("keys")
    return replaced
