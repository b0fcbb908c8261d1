"""Typed reading of a TOML table, with errors that name the table and the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class ScenarioError(ValueError):
    """A scenario that cannot be used; the message is one sentence naming the key."""


class Table:
    """One table of the file; every key that was read is ticked off, and `finish` complains about the rest."""

    def __init__(self, data: Any, where: str, parent: str = "") -> None:
        if not isinstance(data, Mapping):
            raise ScenarioError(f"{where}: a table is needed here, not {_shown(data)}.")
        self._data = dict(data)
        self._read: set[str] = set()
        self.where = where
        self.parent = parent

    def named(self, where: str) -> Table:
        """The same table under a better name for its errors."""
        self.where = where
        return self

    def with_defaults(self, defaults: Mapping[str, Any]) -> Table:
        """The same table with values for the keys it lacks."""
        self._data = {**defaults, **self._data}
        return self

    def finish(self) -> None:
        """Raise ScenarioError for the first key nobody read."""
        unknown = next((key for key in self._data if key not in self._read), None)
        if unknown is not None:
            known = ", ".join(sorted(self._read))
            raise ScenarioError(f"{self.where}: `{unknown}` is not a key here; known are {known}.")

    def _get(self, key: str, default: Any, needed: str) -> Any:
        self._read.add(key)
        value = self._data.get(key, default)
        if value is None and key not in self._data:
            raise ScenarioError(f"{self.where}: `{key}` is missing ({needed}).")
        return value

    def text(self, key: str, default: Any = None, *, takes_numbers: bool = False) -> str:
        """A string; numbers too where they are a natural way to write one."""
        value = self._get(key, default, "a text")
        if takes_numbers and isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:g}"
        if not isinstance(value, str):
            raise ScenarioError(f"{self.where}: `{key}` must be a text, not {_shown(value)}.")
        return value

    def number(
        self, key: str, default: Any = None, *, least: float | None = 0, most: float | None = None
    ) -> float:
        """A number within bounds."""
        value = self._get(key, default, "a number")
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ScenarioError(f"{self.where}: `{key}` must be a number, not {_shown(value)}.")
        if (least is not None and value < least) or (most is not None and value > most):
            raise ScenarioError(f"{self.where}: `{key}` must be {_range(least, most)}, not {value:g}.")
        return float(value)

    def optional_number(self, key: str, *, least: float, default: float | None = None) -> float | None:
        """A number, or None where the key is absent."""
        if key not in self._data:
            self._read.add(key)
            return default
        return self.number(key, least=least)

    def whole(self, key: str, default: int, *, least: int | None = 0) -> int:
        """A whole number."""
        value = self.number(key, default, least=least)
        if value != int(value):
            raise ScenarioError(f"{self.where}: `{key}` must be a whole number, not {value:g}.")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._get(key, default, "true or false")
        if not isinstance(value, bool):
            raise ScenarioError(f"{self.where}: `{key}` must be true or false, not {_shown(value)}.")
        return value

    def choice(self, key: str, default: Any, choices: Iterable[str]) -> str:
        """One of the given texts."""
        value = self.text(key, default)
        if value not in choices:
            raise ScenarioError(f"{self.where}: `{key}` must be one of {', '.join(choices)}, not {value!r}.")
        return value

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of texts, or one text alone."""
        value = self._get(key, default, "a list of texts")
        items = (value,) if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise ScenarioError(f"{self.where}: `{key}` must be a list of texts, not {_shown(value)}.")
        return tuple(items)

    def choices(self, key: str, default: tuple[str, ...], choices: Iterable[str]) -> tuple[str, ...]:
        """A list of texts, each one of the given."""
        allowed = tuple(choices)
        values = self.texts(key, default)
        wrong = next((value for value in values if value not in allowed), None)
        if wrong is not None:
            raise ScenarioError(f"{self.where}: `{key}` must hold only {', '.join(allowed)}, not {wrong!r}.")
        return values

    def span(self, key: str, default: tuple[float, float]) -> tuple[float, float]:
        """Two numbers, the smaller first, or one number for both."""
        value = self._get(key, list(default), "a number or two")
        pair = [value, value] if isinstance(value, int | float) and not isinstance(value, bool) else value
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(
                isinstance(part, int | float) and not isinstance(part, bool) and part >= 0 for part in pair
            )
            or pair[0] > pair[1]
        ):
            raise ScenarioError(
                f"{self.where}: `{key}` must be a number or [smaller, larger], not {_shown(value)}."
            )
        return float(pair[0]), float(pair[1])

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A table as it is; empty where it is absent."""
        value = self._get(key, {}, "a table")
        if not isinstance(value, Mapping):
            raise ScenarioError(f"{self.where}: `{key}` must be a table, not {_shown(value)}.")
        return value

    def table(self, key: str) -> Table:
        """A table to be read in turn; empty where it is absent."""
        return Table(self.mapping(key), key)

    def tables(self, key: str) -> list[Table]:
        """A list of tables to be read in turn; empty where it is absent."""
        value = self._get(key, [], "a list of tables")
        if not isinstance(value, list):
            raise ScenarioError(f"{self.where}: `{key}` must be a list of tables, not {_shown(value)}.")
        return [Table(item, f"{self.where}.{key}[{index}]", self.where) for index, item in enumerate(value)]


def _shown(value: Any) -> str:
    """A value in a sentence, cut short."""
    return repr(value)[:60]


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"between {least:g} and {most:g}"
    return f"at least {least:g}" if least is not None else f"at most {most:g}"
