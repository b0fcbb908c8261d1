"""What a list of endpoints is worth when it is suddenly much shorter (rule C1)."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Believed:
    """What follows from a list. `shrunk` is the list to compare the next one with, None when this one is believed."""

    left: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    shrunk: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class CatalogueChange:
    """What one discovery changed; all are sorted tags.

    `joined` serve for the first time, `returned` serve again, `left` serve no more; `held_back` are missing
    from a much shorter list that is not believed yet. `changed` have other capabilities than before.
    """

    joined: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def weigh(serving: frozenset[str], listed: frozenset[str], shrunk: Sequence[str] | None) -> Believed:
    """Who has left, by what served until now, what is listed now, and the last list that was not believed.

    A list without more than half of the endpoints is held back once. The next one agrees when it is as short
    and lacks nothing that the held-back one still had.
    """
    missing = tuple(sorted(serving - listed))
    if 2 * len(missing) <= len(serving):
        return Believed(left=missing)
    if shrunk is not None and serving & frozenset(shrunk) <= listed:
        return Believed(left=missing)
    return Believed(held_back=missing, shrunk=tuple(sorted(listed)))
