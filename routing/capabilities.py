"""Dated capability rows: what each endpoint of a list advertises, a new row when it changes."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from routing.domain.modes import CapabilitySource
from routing.gateways.base import DiscoveredEndpoint
from routing.models import Capability, Endpoint

PRICE_STEP = Decimal("0.000000000001")
"""Prices are kept to 12 places of a USD; the cheapest token seen costs 10 ** -8."""
MOST_PRICE = Decimal(10_000_000)
MOST_TOKENS = 2**62


def write_capabilities(
    endpoints: Iterable[Endpoint], rows: Mapping[str, DiscoveredEndpoint], *, now: datetime
) -> tuple[str, ...]:
    """Close and open advertised rows where they differ; the sorted tags whose capabilities changed (not new ones)."""
    listed = list(endpoints)
    current = {
        row.endpoint_id: row
        for row in Capability.objects.filter(
            endpoint__in=listed, source=CapabilitySource.ADVERTISED.value, valid_until__isnull=True
        )
    }
    fresh, outdated, changed = [], [], []
    for endpoint in listed:
        values = _values(rows[endpoint.tag])
        known = current.get(endpoint.pk)
        if known is not None and all(getattr(known, name) == value for name, value in values.items()):
            continue
        if known is not None:
            outdated.append(known.pk)
            changed.append(endpoint.tag)
        fresh.append(
            Capability(endpoint=endpoint, source=CapabilitySource.ADVERTISED.value, valid_from=now, **values)
        )
    Capability.objects.filter(pk__in=outdated).update(valid_until=now)
    Capability.objects.bulk_create(fresh)
    return tuple(sorted(changed))


def _values(row: DiscoveredEndpoint) -> dict[str, Any]:
    """The columns of a capability row; what cannot be true (negative, absurd) is unknown."""
    return {
        "parameters": sorted(row.supported_parameters),
        "quantization": (row.quantization or "")[:30],
        "context_length": _tokens(row.context_length),
        "max_completion_tokens": _tokens(row.max_completion_tokens),
        "prompt_price": _price(row.prompt_price),
        "completion_price": _price(row.completion_price),
        "request_price": _price(row.request_price),
    }


def _tokens(count: int | None) -> int | None:
    return count if count is not None and 0 <= count <= MOST_TOKENS else None


def _price(price: Decimal | None) -> Decimal | None:
    if price is None or not price.is_finite() or not 0 <= price < MOST_PRICE:
        return None
    return price.quantize(PRICE_STEP)
