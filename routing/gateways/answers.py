"""What a chat answer says of itself, read as hostile text: bounded, printable, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from routing.domain.preferences import CallerMistake
from routing.gateways.attribution import named_by_router
from routing.gateways.hostile_json import as_mapping

OLDEST_ANSWER = timedelta(hours=1)
"""An answer that says it began longer ago, or in the future, is not believed about it."""
NAME_CHARS = 200
MOST_COST_USD = Decimal(100_000)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Who served an answer, by display name; when it began, if it can be told; what it cost in USD."""

    served_by: str = ""
    generation_id: str = ""
    finish_reason: str = ""
    cost_usd: Decimal | None = None
    began_at: datetime | None = None


def read_answer(response: object, *, now: datetime) -> Answer:
    """Read an answer: an object of JSON types, or an SDK's object with `model_dump`. Raises `CallerMistake`."""
    document = _document(response)
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return Answer(
        served_by=_name(document.get("provider"))
        or _name(named_by_router(as_mapping(document.get("openrouter_metadata")))),
        generation_id=_name(document.get("id")),
        finish_reason=_name(_get(choice, "finish_reason"))[:40],
        cost_usd=_cost(_get(document.get("usage"), "cost")),
        began_at=_moment(document.get("created"), now),
    )


def _document(response: object) -> Mapping[str, Any]:
    if not isinstance(response, Mapping):
        dump = getattr(response, "model_dump", None)
        response = dump() if callable(dump) else None
    if not isinstance(response, Mapping):
        raise CallerMistake("The response is the answer's object, or an SDK's object with model_dump.")
    return response


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _name(value: object) -> str:
    """`value` on one line, printable and bounded; empty when it is no text."""
    if not isinstance(value, str):
        return ""
    line = "".join(char if char.isprintable() else " " for char in value[: 2 * NAME_CHARS])
    return line.strip()[:NAME_CHARS]


def _cost(value: object) -> Decimal | None:
    """A cost that can be one, to eight places."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    is_number = value.is_finite() if isinstance(value, Decimal) else True
    if not is_number or not 0 <= value < MOST_COST_USD:
        return None
    return Decimal(str(value)).quantize(Decimal("0.00000001"))


def _moment(value: object, now: datetime) -> datetime | None:
    """The epoch seconds of `created`, when they are of the last hour."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    now_s = now.timestamp()
    if not now_s - OLDEST_ANSWER.total_seconds() <= value <= now_s:
        return None
    return now - timedelta(seconds=now_s - value)
