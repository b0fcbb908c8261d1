"""The thresholds of scoring and suspension: one frozen record, its defaults and its readers.

Sources of the constants: rules C4 and C12-C16. A changed policy applies to later decisions only (C19).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from typing import Any

# From the least under which a rule still means something to the most that times can hold.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "interval_s": (0.001, 2_678_400),
    "min_gap": (0, 10_000),
    "max_gap": (0, 10_000),
    "rounds_to_suspend": (1, 1_000),
    "rounds_to_recover": (1, 1_000),
    "floor": (0, 1_000_000),
    "ladder_reset_days": (0.000_001, 36_500),
    "common_min": (0, 1_000_000),
    "first_text_limit_s": (0.001, 3_600),
}
LADDER_BOUNDS = (0.000_01, 36_500)


class PolicyError(ValueError):
    """A policy value that cannot be read or makes no sense; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Thresholds for one model. Durations in seconds or days as named; gaps in intervals; shares 0-1."""

    interval_s: float = 1800.0
    min_gap: float = 0.8
    max_gap: float = 12.0
    rounds_to_suspend: int = 2
    rounds_to_recover: int = 2
    floor: int = 2
    max_share: float | None = None
    ladder_days: tuple[float, ...] = (1.0, 3.0, 7.0)
    ladder_reset_days: float = 14.0
    common_share: float = 0.8
    common_min: int = 3
    same_contract: bool = False
    first_text_limit_s: float = 10.0

    def __post_init__(self) -> None:
        """Refuse values under which the rules mean nothing. Raises `PolicyError`."""
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:  # also false for what is not a number
                raise PolicyError(f"{name} must be from {least:g} to {most:g}, not {value:g}.")
        for name in ("common_share", "max_share"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise PolicyError(f"{name} must be above 0 and at most 1, not {value:g}.")
        least, most = LADDER_BOUNDS
        if not self.ladder_days or not all(least <= days <= most for days in self.ladder_days):
            raise PolicyError(f"ladder_days must name one or more lengths from {least:g} to {most:g} days.")

    @property
    def shortest_gap(self) -> timedelta:
        """A round starting sooner than this after the last scored one is not scored (C12)."""
        return timedelta(seconds=self.min_gap * self.interval_s)

    @property
    def longest_gap(self) -> timedelta:
        """A streak whose latest result is older than this starts anew (C12)."""
        return timedelta(seconds=self.max_gap * self.interval_s)

    @property
    def ladder_reset(self) -> timedelta:
        """So long after the start of the latest counted suspension the ladder restarts (C15)."""
        return timedelta(days=self.ladder_reset_days)

    def as_json(self) -> dict[str, Any]:
        """The values as JSON types, for the decision log."""
        return {**asdict(self), "ladder_days": list(self.ladder_days)}


def with_overrides(policy: Policy, overrides: Mapping[str, Any]) -> Policy:
    """`policy` with the values of a mapping, text or JSON alike. Raises `PolicyError`."""
    known = {field.name: field.type for field in fields(Policy)}
    values = {}
    for name, value in overrides.items():
        if name not in known:
            raise PolicyError(f"There is no policy value {name[:60]!r}; there are: {', '.join(known)}.")
        values[name] = _read(name, value, getattr(Policy, name))
    return replace(policy, **values)


def from_assignments(assignments: Iterable[str]) -> Policy:
    """The default policy with `KEY=VALUE` words of a command line. Raises `PolicyError`."""
    pairs = [word.partition("=") for word in assignments]
    for key, equals, _ in pairs:
        if not equals:
            raise PolicyError(f"A policy value is written KEY=VALUE, not {key[:60]!r}.")
    return with_overrides(Policy(), {key.strip(): value.strip() for key, _, value in pairs})


def _read(name: str, value: Any, default: Any) -> Any:
    """`value` in the type of `default`; `none` is no value where the default has none."""
    try:
        if name == "ladder_days":
            return tuple(float(day) for day in (value.split(",") if isinstance(value, str) else value))
        if name == "max_share":
            return None if value is None or str(value).lower() == "none" else float(value)
        if isinstance(default, bool):
            return _boolean(value)
        if isinstance(default, int):
            return _whole(value)
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise PolicyError(f"{name} cannot be {str(value)[:60]!r}.") from error


def _boolean(value: Any) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False}
    if str(value).lower() not in words:
        raise ValueError(value)
    return words[str(value).lower()]


def _whole(value: Any) -> int:
    if float(value) != int(float(value)):
        raise ValueError(value)
    return int(float(value))
