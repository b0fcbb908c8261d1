"""Whether a model's production preferences make sense before they are stored (rules, Terms: production endpoint).

They are sent with every probe and decide what counts as capacity: what would admit nothing, or silently
everything, is refused here.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from routing.domain.matching import normalise
from routing.domain.preferences import NAME_LISTS, CallerMistake, checked

KEYS = ("only", "ignore", "quantizations", "data_collection", "zdr", "max_price")
PRICES = ("prompt", "completion", "request", "image")
LARGEST_PRICE_USD = 1_000_000
_QUANTIZATION = re.compile(r"[a-z0-9_.-]{1,30}")


class BadPreferences(ValueError):
    """Preferences that cannot be meant; the message is one sentence."""


def checked_preferences(preferences: Any) -> dict[str, Any]:
    """`preferences` with names as the gateway writes them and without empty values. Raises `BadPreferences`."""
    if not isinstance(preferences, Mapping):
        raise BadPreferences('Preferences are a JSON object, like {"quantizations": ["fp8"]}.')
    unknown = sorted(set(preferences) - set(KEYS))
    if unknown:
        raise BadPreferences(
            f"There is no production preference {unknown[0]!r}; there are: {', '.join(KEYS)}."
        )
    try:
        found = checked(preferences)
        return {key: _sensible(key, value) for key, value in found.items() if value not in (None, [], {})}
    except CallerMistake as error:
        raise BadPreferences(str(error).removeprefix("provider.").capitalize()) from error


def _sensible(key: str, value: Any) -> Any:
    if key in NAME_LISTS:
        return _names(key, value)
    if key == "quantizations":
        return _quantizations(value)
    if key == "max_price":
        return _prices(value)
    return value


def _names(key: str, words: Iterable[str]) -> list[str]:
    try:
        return [normalise(word) for word in words]
    except ValueError as error:
        raise BadPreferences(f"{key}: {error}") from error


def _quantizations(words: Iterable[str]) -> list[str]:
    found = [word.strip().lower() for word in words]
    for word in found:
        if not _QUANTIZATION.fullmatch(word):
            raise BadPreferences(f"quantizations: {word!r} is not one, like fp8 or unknown.")
    return found


def _prices(value: Mapping[str, Any]) -> dict[str, Any]:
    if not set(value) <= set(PRICES):
        raise BadPreferences(f"max_price names USD limits for {', '.join(PRICES)}.")
    for name, price in value.items():
        if not _is_price(price):
            raise BadPreferences(f"max_price: {name} is a number of USD, not {price!r}.")
    return dict(value)


def _is_price(price: Any) -> bool:
    try:
        return not isinstance(price, bool) and 0 <= Decimal(str(price)) < LARGEST_PRICE_USD
    except InvalidOperation:
        return False
