"""The faults the gateway itself can have: their parameters, and those that stand before every answer."""

from __future__ import annotations

from sandbox.exchange import Exchange
from sandbox.failures import Failure, GatewayRefusal, edge_refusal, own_rate_limit
from sandbox.faults.errors import retry_after
from sandbox.faults.registry import Param, choice, flag, number, text
from sandbox.faults.shapes import ERROR_PAGE
from sandbox.state import SandboxState

# Change the answers of /models and /models/{id}/endpoints.
DISCOVERY_KINDS: dict[str, dict[str, Param]] = {
    "discovery_unreadable": {"variant": choice("html", "truncated", "wrong_shape")},
    "discovery_empty": {},
    "discovery_shrunk": {"keep": number(1)},
    "discovery_error": {"status": number(500, least=400, most=599)},
    "discovery_duplicated": {},
    "discovery_huge": {"endpoints": number(100_000, least=1)},
    "discovery_nested": {"depth": number(100_000, least=1)},
}
# Stand before discovery and inference alike.
GENERAL_KINDS: dict[str, dict[str, Param]] = {
    "down": {"status": number(502, least=400, most=599), "html": flag(True)},
    "unreachable": {},
    "silent": {},
    "slow": {"seconds": number(5)},
}
# Change inference only.
INFERENCE_KINDS: dict[str, dict[str, Param]] = {
    "rate_limited": {"retry_after": text()},
    "all_ignored": {},
    "ignores_pins": {},
}
GATEWAY_KINDS = {**DISCOVERY_KINDS, **GENERAL_KINDS, **INFERENCE_KINDS}


async def stand_in_the_way(state: SandboxState, exchange: Exchange) -> None:
    """Apply the general faults: a delay, an error page, a closed connection, or silence for ever."""
    slow = state.gateway_fault("slow")
    if slow is not None:
        await exchange.wait_until(exchange.clock() + float(slow.params.get("seconds") or 5))
    if state.gateway_fault("unreachable") is not None:
        await exchange.hang_up(reset=True)
    if state.gateway_fault("silent") is not None:
        await exchange.until_gone()
    down = state.gateway_fault("down")
    if down is None:
        return
    status = int(float(down.params.get("status") or 502))
    if down.params.get("html", True):
        raise GatewayRefusal(Failure(status=status, page=ERROR_PAGE))
    raise edge_refusal(status, "Bad gateway")


def limit_rate(state: SandboxState) -> None:
    """Raise the gateway's own 429 while its `rate_limited` fault lasts."""
    fault = state.gateway_fault("rate_limited")
    if fault is None:
        return
    wall_s = state.timing.wall()
    headers, _ = retry_after(str(fault.params.get("retry_after") or ""), wall_s)
    hint = headers[0][1] if headers else None
    raise own_rate_limit(limit=20, reset_ms=int(wall_s * 1000) + 60_000, retry_after=hint)
