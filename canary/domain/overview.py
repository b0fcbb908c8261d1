"""What the first page says: one card a model, one line an endpoint, and what is wrong now, in words.

Plain values made from rows by `canary.selectors`; the pages only lay them out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from canary.domain.service_state import ServiceState
from routing.domain.modes import Mode

# How many of a model's last rounds its trackers show.
TRACKER_ROUNDS = 24
# Rule C1: a list of endpoints older than this is not relied on any more.
LIST_GOOD_FOR = timedelta(hours=24)


class Mark(StrEnum):
    """One round in an endpoint's tracker."""

    CLEAN = "clean"
    FAILING = "failing"
    FROZEN = "frozen"
    NOT_SCORED = "not scored"
    ABSENT = "absent"


class Weight(StrEnum):
    """How much a concern weighs."""

    SEVERE = "severe"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True)
class Concern:
    """One thing that is wrong now, in words a person can act on."""

    weight: Weight
    words: str
    since: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundLine:
    """A model's latest round. `done` of `total` runs have a result; both 0 unless it is running."""

    pk: str
    started_at: datetime
    status: str
    language: str
    is_scored: bool
    is_manual: bool
    note: str = ""
    done: int = 0
    total: int = 0

    @property
    def is_running(self) -> bool:
        """Whether it has not closed yet."""
        return self.status == "running"


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointLine:
    """One endpoint: state and why, until when, its last rounds oldest first, and the median latency run."""

    pk: int
    tag: str
    state: ServiceState
    why: str = ""
    until: datetime | None = None
    is_protected: bool = False
    is_control: bool = False
    quantization: str = ""
    ttft_ms: float | None = None
    marks: tuple[Mark, ...] = ()

    @property
    def marks_in_words(self) -> str:
        """The tracker for those who do not see it."""
        counts = [
            f"{self.marks.count(mark)} {mark}"
            for mark in Mark
            if mark is not Mark.ABSENT and mark in self.marks
        ]
        return f"last {len(self.marks)} rounds: {', '.join(counts)}" if counts else "no rounds yet"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """What is known of a model as a whole. `episodes` are its open ones with their beginning.

    `policy_error` says what is wrong with its stored policy; `floor` is then the default.
    """

    slug: str
    mode: Mode
    floor: int
    providers: int
    is_gone: bool = False
    discovered_at: datetime | None = None
    episodes: Mapping[str, datetime]
    last_round: RoundLine | None = None
    spent_usd: Decimal = Decimal(0)
    budget_usd: Decimal = Decimal(0)
    policy_error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """One model on the first page; endpoints that serve or lately served, in trouble first."""

    pk: int
    facts: ModelFacts
    endpoints: tuple[EndpointLine, ...]
    concerns: tuple[Concern, ...]
    next_round_at: datetime | None

    @property
    def in_production(self) -> int:
        """How many endpoints count as capacity."""
        return sum(line.state.is_production for line in self.endpoints)

    @property
    def weight(self) -> Weight:
        """The heaviest concern; a note when there is none."""
        return self.concerns[0].weight if self.concerns else Weight.NOTE

    @property
    def edge(self) -> str:
        """The kind (pass, warn, fail, idle) the card as a whole is drawn in."""
        if self.facts.mode is Mode.OFF:
            return "idle"
        return {Weight.SEVERE: "fail", Weight.WARNING: "warn", Weight.NOTE: "pass"}[self.weight]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many serving endpoints are in each group, over all models."""

    serving: int
    production: int
    failing: int
    suspended: int
    would_suspend: int
    excluded: int


def tally(cards: Sequence[ModelCard]) -> Tally:
    """Count the endpoints of all cards."""
    states = [line.state for card in cards for line in card.endpoints if line.state is not ServiceState.LEFT]
    return Tally(
        serving=len(states),
        production=sum(state.is_production for state in states),
        failing=states.count(ServiceState.FAILING),
        suspended=states.count(ServiceState.SUSPENDED),
        would_suspend=states.count(ServiceState.WOULD_SUSPEND),
        excluded=states.count(ServiceState.EXCLUDED),
    )


# Open episodes of `ModelStanding` → how heavy, and the words.
_EPISODES: Mapping[str, tuple[Weight, str]] = {
    "blind": (Weight.SEVERE, "Blind: nothing can be concluded about its endpoints (C20)."),
    "below_floor": (Weight.SEVERE, "Capacity is below the floor: nothing more is suspended (C14)."),
    "our_side": (Weight.SEVERE, "Rounds stop on our own side: key, credit or limits (C3)."),
    "weakened": (Weight.WARNING, "The filtering probe is weakened: a control passed it (C6)."),
    "unproved": (
        Weight.NOTE,
        "Filtering is unproved: no conclusive control in 24 hours, or none configured (C6).",
    ),
}
_ORDER = list(Weight)


def concerns(facts: ModelFacts, *, now: datetime) -> tuple[Concern, ...]:
    """What is wrong with a model now, heaviest first. A model that is off has nothing but that to say."""
    if facts.mode is Mode.OFF:
        return (Concern(weight=Weight.NOTE, words="Off: it is neither probed nor protected."),)
    found = [*_catalogue_concerns(facts, now), *_episode_concerns(facts), *_present_concerns(facts)]
    return tuple(sorted(found, key=lambda one: _ORDER.index(one.weight)))


def _catalogue_concerns(facts: ModelFacts, now: datetime) -> list[Concern]:
    if facts.is_gone:
        return [Concern(weight=Weight.SEVERE, words="The gateway says that it has no such model (C1).")]
    if facts.discovered_at is None:
        return [Concern(weight=Weight.NOTE, words="Its endpoints were not read yet.")]
    if now - facts.discovered_at >= LIST_GOOD_FOR:
        words = "Its list of endpoints is more than a day old (C1)."
        return [Concern(weight=Weight.SEVERE, words=words, since=facts.discovered_at)]
    return []


def _episode_concerns(facts: ModelFacts) -> list[Concern]:
    known = [(name, since) for name, since in facts.episodes.items() if name in _EPISODES]
    return [
        Concern(weight=_EPISODES[name][0], words=_EPISODES[name][1], since=since) for name, since in known
    ]


def _present_concerns(facts: ModelFacts) -> list[Concern]:
    found = []
    if facts.policy_error:
        words = f"Its policy cannot be read, so its rounds cannot be scored: {facts.policy_error}"
        found.append(Concern(weight=Weight.SEVERE, words=words))
    is_read = facts.discovered_at is not None
    if is_read and facts.providers < facts.floor and "below_floor" not in facts.episodes:
        words = f"Distinct providers in production: {facts.providers}; the floor is {facts.floor} (C14)."
        found.append(Concern(weight=Weight.WARNING, words=words))
    latest = facts.last_round
    if latest and latest.status in ("stopped", "skipped") and "our_side" not in facts.episodes:
        words = f"The last round scored nobody: {latest.note or latest.status}"
        found.append(Concern(weight=Weight.WARNING, words=words, since=latest.started_at))
    if facts.spent_usd and facts.spent_usd >= facts.budget_usd:
        found.append(Concern(weight=Weight.WARNING, words="The day's budget is used up (C21)."))
    return found
