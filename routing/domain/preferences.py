"""The `provider` object of a request as callers and models write it: checked keys and types, lower-case names.

Keys and types are those of OpenRouter's ProviderPreferences, which answers an unknown key with a 400.
"""

from collections.abc import Callable, Mapping
from typing import Any

NAME_LISTS = ("order", "only", "ignore")
"""The keys that name providers and endpoints."""
MOST_NAMES = 10_000
"""Names taken of one list; the gateways know some hundreds."""


class CallerMistake(ValueError):
    """A request that cannot be meant as it is written; the message is one sentence."""


def checked(provider: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of `provider` with lower-case names, each once; None stays None ("not set"). Raises `CallerMistake`."""
    if provider is None:
        return {}
    if not isinstance(provider, (dict, Mapping)):  # dict first: asking the abstract class is slow
        raise CallerMistake(f"provider is an object, not {type(provider).__name__}.")
    found = {}
    for key, value in provider.items():
        read = READERS.get(key)
        if read is None:
            raise CallerMistake(f"provider has no key {key!r}; there are: {', '.join(READERS)}.")
        try:
            found[key] = None if value is None else read(value)
        except (TypeError, ValueError) as error:
            raise CallerMistake(f"provider.{key} is {error}, not {_shown(value)}.") from None
    return found


def names_in(value: object) -> list[str]:
    """The names of a list, stripped, lower-case and each once, in their order. Raises TypeError and ValueError."""
    form = "a list of names"
    if not isinstance(value, (list, tuple)) or len(value) > MOST_NAMES:
        raise TypeError(form)
    try:
        names = [name.lower() for name in map(str.strip, value)]
    except TypeError:
        raise TypeError(form) from None
    if "" in names:
        raise ValueError(form)
    return list(dict.fromkeys(names))


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _policy(value: object) -> str:
    if value not in ("allow", "deny"):
        raise ValueError("allow or deny")
    return str(value)


def _sort(value: object) -> Any:
    if not isinstance(value, (str, Mapping)):
        raise TypeError("a word, or an object with by and partition")
    return fresh(value)


def _prices(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError("an object of prices in USD per million tokens")
    return fresh(value)


def _measure(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Mapping)):
        raise TypeError("a number, or an object of percentiles")
    return fresh(value)


READERS: Mapping[str, Callable[[object], Any]] = {
    "order": names_in,
    "only": names_in,
    "ignore": names_in,
    "allow_fallbacks": _flag,
    "require_parameters": _flag,
    "data_collection": _policy,
    "zdr": _flag,
    "enforce_distillable_text": _flag,
    "quantizations": names_in,
    "sort": _sort,
    "max_price": _prices,
    "preferred_min_throughput": _measure,
    "preferred_max_latency": _measure,
}
"""Each key of the object with its reader, which says in its error what it takes."""


def fresh(value: Any) -> Any:
    """`value` with every list and object inside it copied, so that nobody else holds them."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: fresh(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [fresh(item) for item in value]
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def model_names(model: str, fallbacks: object) -> tuple[str, ...]:
    """The model of a request and its fallback models (`models`), which may be None. Raises `CallerMistake`."""
    if not isinstance(model, str) or not model.strip():
        raise CallerMistake(f"model is a model's name, like author/model, not {_shown(model)}.")
    if fallbacks is None:
        return (model,)
    if not isinstance(fallbacks, (list, tuple)) or not all(
        isinstance(name, str) and name for name in fallbacks
    ):
        raise CallerMistake(f"models is a list of model names, not {_shown(fallbacks)}.")
    return (model, *fallbacks)
