"""How a kind of fault is declared: a name, its parameters, and a function from one turn to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sandbox.answers import Scene
from sandbox.scenario import ParamValue
from sandbox.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Param:
    """One parameter of a kind: its type, default, and what values it takes.

    `optional` lets it be absent (None); `choices` or `least`/`most` bound it.
    """

    type: type[str] | type[float] | type[bool]
    default: ParamValue = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


class Params:
    """The parameters of one fault, defaults filled in."""

    def __init__(self, values: Mapping[str, ParamValue]) -> None:
        self._values = values

    def number(self, name: str) -> float:
        """A number that has a value."""
        value = self._values[name]
        assert isinstance(value, int | float)
        return float(value)

    def whole(self, name: str) -> int:
        """A number that is used as a count or a status."""
        return int(self.number(name))

    def text(self, name: str) -> str:
        """A text; empty where it is absent."""
        value = self._values[name]
        return value if isinstance(value, str) else ""

    def flag(self, name: str) -> bool:
        """A boolean."""
        return self._values[name] is True


Apply = Callable[[Turn, Scene, Params], Turn]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of fault; `summary` is the first line of the function's docstring."""

    name: str
    apply: Apply
    params: Mapping[str, Param] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.apply.__doc__ or "").strip().partition("\n")[0]

    def filled(self, values: Mapping[str, ParamValue]) -> Params:
        """The parameters with defaults for those that are not given."""
        return Params({name: values.get(name, param.default) for name, param in self.params.items()})


KINDS: dict[str, Kind] = {}


def fault(name: str, **params: Param) -> Callable[[Apply], Apply]:
    """Register a function as the kind `name` with these parameters."""

    def register(apply: Apply) -> Apply:
        KINDS[name] = Kind(name=name, apply=apply, params=params)
        return apply

    return register


def number(default: float, *, least: float | None = 0, most: float | None = None) -> Param:
    """A number parameter, not negative unless said otherwise."""
    return Param(type=float, default=default, least=least, most=most)


def choice(*choices: str) -> Param:
    """A text parameter with fixed values, the first being the default."""
    return Param(type=str, default=choices[0], choices=choices)


def text(default: str = "") -> Param:
    """A free text parameter."""
    return Param(type=str, default=default)


def flag(default: bool) -> Param:
    """A boolean parameter."""
    return Param(type=bool, default=default)
