"""The `provider` object of a request: its keys are checked, the values of its lists are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.failures import bad_request, unknown_provider_keys

_PROVIDER_KEYS = frozenset(
    {
        "order",
        "only",
        "ignore",
        "allow_fallbacks",
        "require_parameters",
        "data_collection",
        "zdr",
        "enforce_distillable_text",
        "quantizations",
        "sort",
        "max_price",
        "preferred_min_throughput",
        "preferred_max_latency",
    }
)
_SORTS = frozenset({"price", "throughput", "latency", "exacto"})
_PRICE_KEYS = frozenset({"prompt", "completion", "request", "image", "audio"})


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """The `provider` object, with the gateway's defaults."""

    only: tuple[str, ...] | None = None
    order: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    allow_fallbacks: bool = True
    require_parameters: bool = False
    deny_training: bool = False
    zdr: bool = False
    quantizations: tuple[str, ...] = ()
    sort: str | None = None
    max_price: Mapping[str, float] = field(default_factory=dict)
    min_throughput: float | None = None
    max_latency_s: float | None = None


DEFAULT_PREFERENCES = Preferences()


def read_preferences(provider: Any) -> Preferences:
    """The `provider` object of a body; raises GatewayRefusal (400) for an unknown key or a wrong type."""
    if provider is None:
        return DEFAULT_PREFERENCES
    if not isinstance(provider, dict):
        raise bad_request("provider must be an object")
    unknown = [key for key in provider if key not in _PROVIDER_KEYS]
    if unknown:
        raise unknown_provider_keys(unknown)
    only = provider.get("only")
    return Preferences(
        only=_strings(provider, "only") if only else None,
        order=_strings(provider, "order"),
        ignore=_strings(provider, "ignore"),
        allow_fallbacks=_boolean(provider, "allow_fallbacks", default=True),
        require_parameters=_boolean(provider, "require_parameters", default=False),
        deny_training=_choice(provider, "data_collection", ("allow", "deny")) == "deny",
        zdr=_boolean(provider, "zdr", default=False),
        quantizations=_strings(provider, "quantizations"),
        sort=_sort(provider.get("sort")),
        max_price=_prices(provider.get("max_price")),
        min_throughput=_median(provider, "preferred_min_throughput"),
        max_latency_s=_median(provider, "preferred_max_latency"),
    )


def _strings(provider: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = provider.get(key) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise bad_request(f"provider.{key} must be an array of strings")
    return tuple(values)


def _boolean(provider: Mapping[str, Any], key: str, *, default: bool) -> bool:
    value = provider.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise bad_request(f"provider.{key} must be a boolean")
    return value


def _choice(provider: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    value = provider.get(key)
    if value is not None and value not in choices:
        raise bad_request(f"provider.{key} must be one of {', '.join(choices)}")
    return value if isinstance(value, str) else None


def _sort(value: Any) -> str | None:
    by = value.get("by") if isinstance(value, dict) else value
    if by is not None and by not in _SORTS:
        raise bad_request(f"provider.sort must be one of {', '.join(sorted(_SORTS))}")
    return by if isinstance(by, str) else None


def _prices(value: Any) -> dict[str, float]:
    """USD per million tokens; numbers or strings, as the documentation and the specification differ."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not value.keys() <= _PRICE_KEYS:
        raise bad_request(f"provider.max_price must be an object with {', '.join(sorted(_PRICE_KEYS))}")
    try:
        return {key: float(price) for key, price in value.items() if price is not None}
    except (TypeError, ValueError):
        raise bad_request("provider.max_price must hold numbers") from None


def _median(provider: Mapping[str, Any], key: str) -> float | None:
    value = provider.get(key)
    if isinstance(value, dict):
        value = value.get("p50")
    if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
        raise bad_request(f"provider.{key} must be a number or an object of percentiles")
    return value
