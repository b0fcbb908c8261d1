"""Whether a model's production preferences admit an endpoint (rules, Terms: production endpoint).

Data policies are not in the catalogue, so they cannot rule an endpoint out here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from routing.domain.matching import matches

COVERED_QUANTIZATIONS: Mapping[str, frozenset[str]] = {
    "fp4": frozenset({"fp4", "mxfp4", "nvfp4"}),
    "fp8": frozenset({"fp8", "mxfp8"}),
}
"""Names that stand for several (OpenRouter's provider selection page); any other stands for itself."""
UNKNOWN_QUANTIZATION = "unknown"
FITTING_KEYS = ("quantizations", "max_price")
"""The preferences that `is_fitting` looks at."""
TOKENS_PER_PRICE = Decimal(1_000_000)
"""`max_price` is in USD per million tokens, the catalogue's prices are per token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """What one serving endpoint offers. Prices in USD per token, None where the catalogue has none."""

    tag: str
    quantization: str = ""
    prompt_price: Decimal | None = None
    completion_price: Decimal | None = None


def is_admitted(offer: Offer, preferences: Mapping[str, Any]) -> bool:
    """Whether `preferences` admit the endpoint: by name, quantisation and price."""
    return is_named(offer.tag, preferences) and is_fitting(offer, preferences)


def is_named(tag: str, preferences: Mapping[str, Any]) -> bool:
    """Whether `only` and `ignore` of `preferences` let the gateway use the endpoint `tag`."""
    only, ignore = preferences.get("only"), preferences.get("ignore")
    return (not only or _names(only, tag)) and not (ignore and _names(ignore, tag))


def is_fitting(offer: Offer, preferences: Mapping[str, Any]) -> bool:
    """Whether quantisation and price of the endpoint are within `preferences`. An unknown price is."""
    return _is_quantization_admitted(offer, preferences.get("quantizations")) and _is_price_admitted(
        offer, preferences.get("max_price") or {}
    )


def _names(entries: Iterable[str], tag: str) -> bool:
    return any(matches(entry.strip().lower(), tag) for entry in entries)


def _is_quantization_admitted(offer: Offer, wanted: Iterable[str] | None) -> bool:
    if not wanted:
        return True
    quantization = offer.quantization or UNKNOWN_QUANTIZATION
    return any(quantization in COVERED_QUANTIZATIONS.get(name, {name}) for name in wanted)


def _is_price_admitted(offer: Offer, most: Mapping[str, Any]) -> bool:
    prices = {"prompt": offer.prompt_price, "completion": offer.completion_price}
    return all(
        price is None or (limit := _price(most.get(kind))) is None or price * TOKENS_PER_PRICE <= limit
        for kind, price in prices.items()
    )


def _price(limit: object) -> Decimal | None:
    """A price limit, which may be written as text; None when there is none to be read."""
    try:
        return None if limit is None else Decimal(str(limit))
    except InvalidOperation:
        return None
