"""The builtin tier: reviewed exclusions read from the code, never from the database (rules R1 and R3)."""

import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.matching import normalise
from routing.domain.modes import Tier

FILE = Path(__file__).with_name("builtin_exclusions.toml")
KEYS = frozenset({"entry", "models", "reason", "reviewed"})


class BuiltinFileError(ValueError):
    """The reviewed file cannot be read; the message is one sentence that names the entry."""


@dataclass(frozen=True, kw_only=True)
class BuiltinEntry:
    """One reviewed exclusion. `models` empty: all models."""

    entry: str
    reason: str
    reviewed: date
    models: tuple[str, ...] = ()

    def rows(self) -> tuple[ExclusionRow, ...]:
        """The entry as plain rows, one for each model it is about."""
        starts_at = datetime.combine(self.reviewed, time(), tzinfo=UTC)
        return tuple(
            ExclusionRow(
                key=f"builtin:{self.entry}:{model or '*'}",
                tier=Tier.BUILTIN,
                entry=self.entry,
                model=model,
                reason=self.reason,
                starts_at=starts_at,
            )
            for model in self.models or (None,)
        )


@cache
def builtin_entries() -> tuple[BuiltinEntry, ...]:
    """The entries of the file shipped with this code. Raises `BuiltinFileError`."""
    return parse(FILE.read_text(encoding="utf-8"))


def parse(text: str) -> tuple[BuiltinEntry, ...]:
    """The entries of a builtin file. Raises `BuiltinFileError`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BuiltinFileError(f"The builtin exclusions are not TOML: {error}.") from error
    rows = document.pop("exclusion", [])
    if document or not isinstance(rows, list):
        raise BuiltinFileError("The builtin exclusions hold [[exclusion]] tables and nothing else.")
    return tuple(_read(row, number) for number, row in enumerate(rows, start=1))


def _read(row: Any, number: int) -> BuiltinEntry:
    try:
        return _entry(row)
    except (TypeError, ValueError) as error:
        raise BuiltinFileError(f"Builtin exclusion {number}: {error}") from error


def _entry(row: Any) -> BuiltinEntry:
    if not isinstance(row, dict) or not row.keys() <= KEYS:
        raise TypeError(f"it has the keys {', '.join(sorted(KEYS))} and no others.")
    models, reason, reviewed = row.get("models", []), row.get("reason"), row.get("reviewed")
    if not isinstance(models, list) or not all(isinstance(model, str) and model.strip() for model in models):
        raise TypeError("models is a list of model slugs.")
    if not isinstance(reason, str) or not reason.strip():
        raise TypeError("it needs a reason.")
    if not isinstance(reviewed, date) or isinstance(reviewed, datetime):
        raise TypeError("reviewed is the day of the review, like 2026-05-06.")
    name = row.get("entry")
    if not isinstance(name, str):
        raise TypeError("it needs an entry.")
    return BuiltinEntry(
        entry=normalise(name),
        reason=reason.strip(),
        reviewed=reviewed,
        models=tuple(model.strip().lower() for model in models),
    )
