"""What goes into a step of a model's state and what comes out: a closed round, decisions, the next state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from canary.domain.capacity import ModelState
from canary.domain.scoring import EndpointFacts, Pair, Result, RoundVerdicts
from canary.domain.verdicts import Contract
from incidents.domain.actions import Action


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One decision: what, by which rule, from when. `level` and `until` only on suspensions and renewals.

    `pairs` are the culprits it is about; `is_enforced` is false for what would have happened (C17, C19).
    `failing`, `clean` and `contracts` are the endpoint's streak, `providers` those in production, as they were
    when it was taken: the inputs of the log.
    """

    at: datetime
    action: Action
    rule: str
    is_enforced: bool
    reason: str
    endpoint: str | None = None
    level: int | None = None
    until: datetime | None = None
    pairs: tuple[Pair, ...] = ()
    is_false_positive: bool = False
    failing: int = 0
    clean: int = 0
    contracts: frozenset[Contract] = frozenset()
    providers: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundFacts:
    """One closed round of a model. `at` is its start; `finished_at` when it closed, `at` unless given.

    A round asked for by hand, or stopped on our own side (C3), is not scored. `is_exhausted`: the day's
    budget left nothing to ask (C21), which counts as blind.
    """

    at: datetime
    endpoints: tuple[EndpointFacts, ...]
    is_manual: bool = False
    is_our_side: bool = False
    is_exhausted: bool = False
    finished_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The state after a step, and the decisions taken in it. `results` is empty for a round not scored."""

    state: ModelState
    decisions: tuple[Decision, ...] = ()
    is_scored: bool = False
    results: Mapping[str, Result] = field(default_factory=dict)
    verdicts: RoundVerdicts | None = None
