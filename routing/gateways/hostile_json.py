"""Reading values out of JSON that another party wrote: nothing is trusted, nothing raises but `Unreadable`.

Each `as_…` function returns the value when it is what its name says, else None or an empty container.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

NAME_CHARS = 200
MAX_INT = 10**15
MAX_AMOUNT = Decimal(10**9)
MAX_COUNT = 2**31 - 1
"""Largest count believed, which is also the largest that a 32-bit column holds."""
MAX_COST_USD = Decimal(1000)
"""What one request surely costs less than: a million tokens of the dearest model come to some hundred USD."""
MAX_MS = 1e9
"""Longest time believed of one exchange: eleven days."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_AMOUNT = re.compile(r"[+-]?\d{0,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,2})?", re.ASCII)


class Unreadable(Exception):
    """The payload is not the JSON it should be; the message continues the sentence "The answer …"."""


def load_object(payload: bytes | str) -> dict[str, Any]:
    """The JSON object in `payload`, numbers with a fraction as Decimal. Raises `Unreadable`.

    White space before it is normal: the gateway pads slow answers with it.
    """
    text = decode(payload).strip()
    if not text:
        raise Unreadable("is empty")
    if is_html(text):
        raise Unreadable("is an HTML page, not JSON")
    try:
        document = json.loads(text, parse_float=_finite_decimal, parse_constant=lambda _: None)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(
            "breaks off in the middle" if _is_unfinished(error, text) else "is not JSON"
        ) from None
    if not isinstance(document, dict):
        raise Unreadable("is not a JSON object")
    return document


def decode(payload: bytes | str) -> str:
    """`payload` as text without a byte order mark; bytes that are not UTF-8 become U+FFFD, as evidence."""
    text = payload.decode("utf-8", errors="replace") if isinstance(payload, bytes) else payload
    return text.removeprefix("\ufeff")


def is_html(text: str) -> bool:
    """Whether `text` begins like a page of a proxy or an edge server."""
    return text.lstrip()[:1] == "<"


def as_mapping(value: object) -> Mapping[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_name(value: object) -> str | None:
    """`value` as a short printable name on one line; None when it is no string or nothing is left of it."""
    if not isinstance(value, str):
        return None
    if len(value) <= NAME_CHARS and value.isascii() and value.isprintable():
        return value.strip() or None  # what nearly every name is, read for every chunk of a stream
    return clean(value, NAME_CHARS) or None


def as_names(value: object) -> frozenset[str]:
    """The printable strings of a list, each as `as_name` reads it."""
    return frozenset(name for name in map(as_name, as_list(value)) if name)


def as_int(value: object) -> int | None:
    """A whole number of sane size (also `8192.0` and `"8192"`), else None. True is not a number here."""
    if type(value) is int:
        return value if abs(value) <= MAX_INT else None
    number = as_decimal(value)
    if number is None or number != number.to_integral_value():
        return None
    return int(number)


def as_decimal(value: object) -> Decimal | None:
    """A finite number of sane size and at most 30 decimals from a number or a numeric string, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    if isinstance(value, int) and abs(value) > MAX_INT:
        return None
    digits = str(value).strip() if not isinstance(value, str) or len(value) <= 80 else ""
    if not any(character.isdigit() for character in digits) or not _AMOUNT.fullmatch(digits):
        return None
    number = Decimal(digits)
    return number if abs(number) <= MAX_INT else None


def as_price(value: object) -> Decimal | None:
    """An amount of money that is not negative (the gateway writes -1 for "depends"), else None."""
    number = as_decimal(value)
    return number if number is not None and 0 <= number <= MAX_AMOUNT else None


def as_count(value: object) -> int | None:
    """A whole number from 0 to `MAX_COUNT` (read like `as_int`), else None."""
    number = as_int(value)
    return number if number is not None and 0 <= number <= MAX_COUNT else None


def as_cost(value: object) -> Decimal | None:
    """What one request may have cost in USD: not negative and below `MAX_COST_USD`, else None."""
    amount = as_price(value)
    return amount if amount is not None and amount < MAX_COST_USD else None


def as_ms(value: float | None) -> float | None:
    """A time in milliseconds that can be one: finite, not negative, at most `MAX_MS`; else None."""
    return value if value is not None and math.isfinite(value) and 0 <= value <= MAX_MS else None


def clean(text: str, limit: int) -> str:
    """`text` on one line without control characters and lone surrogates, cut to `limit` characters."""
    line = _CONTROL.sub(" ", text[: limit * 4].encode("utf-8", "replace").decode("utf-8")).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def whole_text(parts: Sequence[str]) -> str:
    """`parts` joined; surrogate pairs split over two parts are put together, lone ones become U+FFFD."""
    return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def bounded(value: object, *, depth: int = 6, items: int = 64, chars: int = 1000) -> Any:
    """A copy of a JSON value that is small enough to store and holds plain JSON types only.

    What lies deeper than `depth` is left out, lists and objects keep their first `items` entries.
    """
    if isinstance(value, str):
        return clean(value, chars)
    if isinstance(value, dict) and depth:
        kept = list(value.items())[:items]
        return {
            clean(str(key), NAME_CHARS): bounded(item, depth=depth - 1, items=items, chars=chars)
            for key, item in kept
        }
    if isinstance(value, list) and depth:
        return [bounded(item, depth=depth - 1, items=items, chars=chars) for item in value[:items]]
    if isinstance(value, bool):
        return value
    number = as_decimal(value)
    return None if number is None else int(number) if isinstance(value, int) else float(number)


def _finite_decimal(digits: str) -> Decimal | None:
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_unfinished(error: ValueError, text: str) -> bool:
    """Whether the text reads well until it stops, as a cut transfer leaves it."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= len(text) or error.msg.startswith("Unterminated string")
