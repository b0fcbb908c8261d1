"""Making hostile text storable and showable: what a provider wrote ends up in reasons, subjects and evidence.

PostgreSQL refuses NUL characters, UTF-8 refuses lone surrogates, JSON columns refuse NaN; line breaks forge
mail headers and log lines, and direction overrides make a line read as another one.
"""

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

REPLACEMENT = "\ufffd"

_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_BREAKS = re.compile("[\\s\u2028\u2029]+")


def storable_text(text: str) -> str:
    """`text` with plain line feeds, and U+FFFD for every other control, surrogate or direction override."""
    return _UNSTORABLE.sub(REPLACEMENT, text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str, limit: int) -> str:
    """`text` as one line of at most `limit` characters, fit for a mail header, a log line or a table cell."""
    line = storable_text(_BREAKS.sub(" ", text)).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def storable_json(value: Any) -> Any:  # noqa: PLR0911  one line a type
    """`value` as JSON types: times in ISO 8601, decimals as text, sets as sorted lists, no NaN, clean text.

    Raises TypeError for anything else: evidence that cannot be stored is our mistake, not a provider's.
    """
    match value:
        case None | bool() | int():
            return value
        case StrEnum():
            return value.value
        case str():
            return storable_text(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return str(value)
        case datetime():
            return value.isoformat()
        case Mapping():
            return {storable_text(str(key)): storable_json(item) for key, item in value.items()}
        case AbstractSet():
            return sorted((storable_json(item) for item in value), key=str)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [storable_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be stored as evidence")
