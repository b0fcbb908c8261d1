"""The last good rows as a JSON document and back, strictly: what is half readable is not believed (rule R3)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from routing.domain.exclusion_rows import ExclusionRow, ModelRow, Rows
from routing.domain.matching import normalise
from routing.domain.modes import Tier

FORMAT = 1
"""Raised when the document changes; another number is not read."""


class SnapshotUnreadable(ValueError):
    """A document that is not a snapshot of this format; the message is one sentence."""


def encode(rows: Rows, *, confirmed_at: datetime) -> dict[str, Any]:
    """`rows` as JSON types, without the reviewed tier, which is read from the code.

    `confirmed_at`: when the database last said that this is still so.
    """
    return {
        "format": FORMAT,
        "confirmed_at": confirmed_at.isoformat(),
        "version": rows.version,
        "is_stopped": rows.is_stopped,
        "exclusions": [_exclusion(row) for row in rows.exclusions if row.tier is not Tier.BUILTIN],
        "models": [_model(row) for row in rows.models],
        "tags": sorted(rows.tags),
    }


def decode(document: object) -> tuple[Rows, datetime]:
    """The rows of a document and when they were last confirmed. Raises `SnapshotUnreadable`."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise SnapshotUnreadable(f"This is no snapshot of format {FORMAT}.")
    try:
        rows = Rows(
            version=_typed(document["version"], int),
            is_stopped=_typed(document["is_stopped"], bool),
            exclusions=tuple(_read_exclusion(row) for row in document["exclusions"]),
            models=tuple(_read_model(row) for row in document["models"]),
            tags=frozenset(normalise(tag) for tag in document["tags"]),
        )
        return rows, _time(document["confirmed_at"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnapshotUnreadable(f"The snapshot cannot be read: {type(error).__name__} {error}.") from error


def _exclusion(row: ExclusionRow) -> dict[str, Any]:
    return {
        "key": row.key,
        "tier": row.tier.value,
        "entry": row.entry,
        "model": row.model,
        "reason": row.reason,
        "starts_at": row.starts_at.isoformat(),
        "ends_at": row.ends_at.isoformat() if row.ends_at else None,
        "may_give_way": row.may_give_way,
        "contracts": list(row.contracts),
    }


def _read_exclusion(row: Mapping[str, Any]) -> ExclusionRow:
    return ExclusionRow(
        key=_typed(row["key"], str),
        tier=Tier(row["tier"]),
        entry=normalise(row["entry"]),
        model=None if row["model"] is None else _typed(row["model"], str),
        reason=_typed(row["reason"], str),
        starts_at=_time(row["starts_at"]),
        ends_at=None if row["ends_at"] is None else _time(row["ends_at"]),
        may_give_way=_typed(row["may_give_way"], bool),
        contracts=tuple(_typed(name, str) for name in row["contracts"]),
    )


def _model(row: ModelRow) -> dict[str, Any]:
    return {
        "slug": row.slug,
        "is_watched": row.is_watched,
        "is_gone": row.is_gone,
        "admitted": list(row.admitted),
        "discovered_at": row.discovered_at.isoformat() if row.discovered_at else None,
        "preferences": dict(row.preferences),
    }


def _read_model(row: Mapping[str, Any]) -> ModelRow:
    return ModelRow(
        slug=_typed(row["slug"], str),
        is_watched=_typed(row["is_watched"], bool),
        is_gone=_typed(row["is_gone"], bool),
        admitted=tuple(normalise(tag) for tag in row["admitted"]),
        discovered_at=None if row["discovered_at"] is None else _time(row["discovered_at"]),
        preferences=_typed(row["preferences"], dict),
    )


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _time(text: str) -> datetime:
    """An ISO 8601 time with its zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return moment
