"""Random histories of one model for properties: rounds of words, with flags, at uneven times."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from canary.domain import suspension
from canary.domain.decision import Decision
from canary.domain.policy import Policy
from routing.domain.modes import Mode
from tests.canary.domain.builders import Run, moment, run

TAGS = ("a/1", "a/2", "b", "c", "d")
PACE = 8
"""Half-hours in an interval of four hours: a day is six rounds, so that rungs end in a short history."""
POLICY = Policy(interval_s=4 * 3600)
PASSING = ("L+,S+", "L+", "fr+,L+", "de+,L+", "F+,L+", "L+,S?")
FAILING = ("L-", "L-,S+", "L+,S-", "fr-,L+", "de-,L+", "F-,L+", "L-,S-,fr-", "L!,S-")
FROZEN = ("L!", "L?", "L!,S!", "L?,S?", "0", "fr?,L?", "L!,S+", "fr?,L+")
WORDS = (*PASSING, *FAILING, *FAILING, *FROZEN, ".")
MOODS = (
    PASSING,
    PASSING,
    FAILING,
    FROZEN,
    WORDS,
    ("L-,S+",),
    ("L+,S-", "L+,S+"),
    ("L+,S?", "L?,S+", "L+,S+"),
    ("fr-,L+", "de-,L+"),
    ("fr+,L+", "de+,L+"),
    (*["fr?,L+"] * 12, "fr-,L+"),
    ("fr?,L-",),
)
"""What an endpoint answers while it stays as it is."""
FLAGS = ("in_other_tier", "is_protected", "is_control")


@dataclass(frozen=True, kw_only=True)
class HistoryRound:
    """One round: its time in half-hours, a word and flags for each tag."""

    at: float
    words: Mapping[str, str]
    flags: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    is_manual: bool = False
    is_our_side: bool = False


History = Sequence[HistoryRound]
GAPS = (1, 1, 1, 1, 1, 1, 0.5, 0.8, 2, 3, 12, 12.5, 30)
"""Intervals between rounds."""


def histories(
    *, words: Sequence[str] = WORDS, gaps: Sequence[float] = GAPS, longest: int = 30
) -> st.SearchStrategy[list[HistoryRound]]:
    """Histories of up to `longest` rounds of five endpoints on four providers.

    Made from bytes, because hypothesis draws those at once: a byte a choice takes a tenth of the time of a draw each.
    """
    shortest = HEADER + longest // 2 * ROW
    choices = st.binary(min_size=shortest, max_size=HEADER + longest * ROW)
    return choices.map(lambda drawn: _decoded(drawn, words, gaps))


HEADER = len(TAGS) * 4
"""Bytes for each endpoint: three words it answers with, and a flag."""
ROW = len(TAGS) + 2
"""Bytes for each round: the gap before it, what kind of round it is, and an answer of each endpoint."""


def _decoded(choices: bytes, words: Sequence[str], gaps: Sequence[float]) -> list[HistoryRound]:
    favourites = {
        tag: [words[choice % len(words)] for choice in choices[3 * index : 3 * index + 3]]
        for index, tag in enumerate(TAGS)
    }
    flags = dict(zip(TAGS, choices[3 * len(TAGS) : HEADER], strict=True))
    at, made = 0.0, []
    for start in range(HEADER, len(choices) - ROW + 1, ROW):
        gap, kind, *answers = choices[start : start + ROW]
        at += PACE * gaps[gap % len(gaps)]
        made.append(
            HistoryRound(
                at=at,
                words={tag: favourites[tag][answer % 3] for tag, answer in zip(TAGS, answers, strict=True)},
                flags={
                    tag: {FLAGS[flag % 3]: True} for tag, flag in flags.items() if flag >= 160 and kind % 8
                },
                is_manual=kind % 16 == 15,
                is_our_side=kind % 32 == 14,
            )
        )
    return made


def random_history(seed: int, rounds: int) -> list[HistoryRound]:
    """A long history: endpoints stay healthy or faulty for a while, as real ones do."""
    rng = random.Random(seed)
    at, made = 0.0, []
    moods: dict[str, Sequence[str]] = dict.fromkeys(TAGS, PASSING)
    flags: dict[str, Mapping[str, bool]] = {}
    for _ in range(rounds):
        at += PACE * rng.choice(GAPS)
        for tag in TAGS:
            if rng.random() < 0.12:
                moods[tag] = rng.choice(MOODS)
            if rng.random() < 0.03:
                flags[tag] = {rng.choice(FLAGS): True} if tag not in flags else {}
        chosen = {tag: rng.choice(WORDS if rng.random() < 0.05 else moods[tag]) for tag in TAGS}
        made.append(
            HistoryRound(
                at=at,
                words=chosen,
                flags=dict(flags),
                is_manual=rng.random() < 0.04,
                is_our_side=rng.random() < 0.03,
            )
        )
    return made


def play(
    history: History, *, mode: Mode = Mode.ENFORCE, policy: Policy = POLICY, since: Run | None = None
) -> Run:
    """Replay a history, from the start or going on from an earlier run."""
    model = since or run(mode=mode, policy=policy)
    for one in history:
        take(model, one)
    return model


def take(model: Run, one: HistoryRound) -> list[Decision]:
    """Replay one round; what it decided, without what a file does not write."""
    model.flags = one.flags
    outcome = model.round(one.at, one.words, is_manual=one.is_manual, is_our_side=one.is_our_side)
    return [decision for decision in outcome.decisions if decision.action != "not_applicable"]


def wait(model: Run, until: float) -> None:
    """Let time pass up to so many half-hours."""
    model.take(suspension.advance(model.state, moment(until), model.policy))


def shuffled(history: History, seed: int) -> list[HistoryRound]:
    """The same rounds with their endpoints in another order."""
    rng = random.Random(seed)
    return [replace(one, words=dict(rng.sample(list(one.words.items()), len(one.words)))) for one in history]


def told(decisions: Iterable[Decision], *, without: Sequence[str] = ()) -> list[tuple[object, ...]]:
    """What decisions come to, apart from their flag and words."""
    return [
        (one.at, str(one.action), one.endpoint, one.rule, one.level, one.until)
        for one in decisions
        if one.action not in (*without, "not_applicable")
    ]
