"""How a gateway reads the names in its provider lists (rules, Terms: `matches`), and how a name is checked.

A *tag* names one endpoint (`deepinfra/fp8`), a *base slug* one provider (`deepinfra`); a tag may equal its
base slug. Names are lower-case everywhere inside the project.
"""

import difflib
import re
from collections.abc import Iterable

SERVICE_TIERS = frozenset({"flex", "priority"})
"""Last tag parts that a base slug does not reach. Not `fast`: `fireworks/fast` is a plain variant."""

MAX_NAME_LENGTH = 128
"""Longest slug or tag taken for one; the longest seen in the recordings has 22 characters."""

MAX_SLUG_LENGTH = 100
"""Longest base slug the catalogue takes in: its column holds no more."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*")


def base_slug(tag: str) -> str:
    """The provider's base slug of `tag`: what stands before the first slash."""
    return tag.partition("/")[0]


def is_service_tier(tag: str) -> bool:
    """Whether `tag` is a service tier of its provider (`openai/flex`), which only its full name reaches."""
    _, slash, lane = tag.rpartition("/")
    return bool(slash) and lane in SERVICE_TIERS


def matches(entry: str, tag: str) -> bool:
    """Whether the gateway reads the list entry `entry` as naming the endpoint `tag`.

    A full tag matches itself; a base slug matches every tag of that provider except service tiers.
    """
    if entry == tag:
        return True
    return entry == base_slug(tag) and not is_service_tier(tag)


def siblings(tag: str, tags: Iterable[str]) -> tuple[str, ...]:
    """The other `tags` that a request with `only: [tag]` would reach too, sorted and without duplicates."""
    return tuple(sorted({other for other in tags if other != tag and matches(tag, other)}))


def normalise(name: str) -> str:
    """`name` as a slug or tag: stripped and lower-case. Raises ValueError with one sentence if it is none."""
    candidate = name.strip().lower()
    if not candidate:
        raise ValueError("A provider or endpoint name is empty.")
    if len(candidate) > MAX_NAME_LENGTH:
        raise ValueError(
            f"A provider or endpoint name has at most {MAX_NAME_LENGTH} characters, not {len(candidate)}."
        )
    if not _NAME.fullmatch(candidate):
        raise ValueError(
            f"{candidate!r} is not a provider slug or endpoint tag, like deepinfra or deepinfra/fp8."
        )
    return candidate


def nearest(name: str, known: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """Up to `n` of `known` that look most like `name`, best first, for "unknown name, did you mean …"."""
    wanted = name.strip().lower()[:MAX_NAME_LENGTH]
    return tuple(difflib.get_close_matches(wanted, sorted(set(known)), n=n))
