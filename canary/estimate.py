"""What watching a model will cost, asked of the gateway before the model is watched (rule C21)."""

from dataclasses import dataclass
from decimal import Decimal

from asgiref.sync import async_to_sync

from canary.planning import ESTIMATED_COMPLETION_TOKENS, ESTIMATED_PROMPT_TOKENS, estimated_usd
from canary.probes.registry import PROBES
from routing.connections import open_gateway
from routing.gateways.base import DiscoveredEndpoint, Discovery
from routing.models import Capability
from routing.models import Gateway as GatewayRow

DAY_S = 86_400


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A day of probing by the catalogue's prices. `unpriced` endpoints name no price and count as 0."""

    endpoints: int
    unpriced: int
    runs_a_round: int
    day_usd: Decimal


def estimate(gateway: GatewayRow, slug: str, *, interval_s: int) -> Estimate:
    """Ask the gateway which endpoints serve `slug` and at what prices.

    Raises `ModelNotFound`, `GatewayUnavailable`, `KeyRefused`.
    """
    endpoints = async_to_sync(_discover)(gateway, slug).endpoints
    runs = [
        _run_usd(endpoint)
        for endpoint in endpoints
        for probe in PROBES
        if probe.applies(endpoint.supported_parameters)
    ]
    return Estimate(
        endpoints=len(endpoints),
        unpriced=sum(endpoint.prompt_price is None for endpoint in endpoints),
        runs_a_round=len(runs),
        day_usd=sum(runs, start=Decimal(0)) * DAY_S / interval_s,
    )


async def _discover(row: GatewayRow, slug: str) -> Discovery:
    gateway = open_gateway(row)
    try:
        return await gateway.discover(slug)
    finally:
        await gateway.aclose()


def _run_usd(endpoint: DiscoveredEndpoint) -> Decimal:
    prices = Capability(
        prompt_price=endpoint.prompt_price,
        completion_price=endpoint.completion_price,
        request_price=endpoint.request_price,
    )
    return estimated_usd(prices, ESTIMATED_PROMPT_TOKENS, ESTIMATED_COMPLETION_TOKENS)
