"""From contract verdicts to a round result and an endpoint's streaks (rules C6, C10-C13).

Everything here is a pure function of its arguments; the same functions score live rounds, backtests and
simulations.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from canary.domain.policy import Policy
from canary.domain.verdicts import Contract, Verdict

# Rule C10: scored rounds in a row without a conclusive verdict before another prompt is used, and before
# the language is released as unsettled.
DRY_ROUNDS_TO_NEW_PROMPT = 4
DRY_ROUNDS_TO_RELEASE = 8
# Terms: a production endpoint answered in at least one of its last 3 rounds.
SILENT_ROUNDS_TO_UNREACHABLE = 3


class Result(StrEnum):
    """What a scored round came to for one endpoint."""

    CLEAN = "clean"
    FAILING = "failing"
    FROZEN = "frozen"


class Pair(NamedTuple):
    """A contract and, for the language contract, the language it failed in."""

    contract: Contract
    language: str | None

    def __str__(self) -> str:
        return f"{self.contract} ({self.language})" if self.language else str(self.contract)


@dataclass(frozen=True, kw_only=True, slots=True)
class Culprit:
    """A pair that failed. `in_streak`: in the present failing streak; `is_held`: kept for a suspension.

    `version` is the probe's it failed, `latest` its latest conclusive verdict, `dry_rounds` the scored rounds in
    a row in which it was asked and came to no pass or fail, `asked_at` the round it was last asked in.
    """

    pair: Pair
    since: datetime
    asked_at: datetime
    version: int = 0
    latest: Verdict = Verdict.FAIL
    dry_rounds: int = 0
    in_streak: bool = True
    is_held: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """An endpoint's streaks between rounds. At most one of `failing` and `clean` is not zero.

    `streak_contracts` are all contracts failed in the failing streak, `recent_failed` those of each of its
    last rounds, oldest first. `has_answered` is true from the first answer on (a new endpoint counts as
    capacity only then).
    """

    failing: int = 0
    clean: int = 0
    last_result_at: datetime | None = None
    culprits: tuple[Culprit, ...] = ()
    streak_contracts: frozenset[Contract] = frozenset()
    recent_failed: tuple[frozenset[Contract], ...] = ()
    silent_rounds: int = 0
    has_answered: bool = False

    @property
    def is_reachable(self) -> bool:
        """Whether it answered in one of its last 3 rounds (Terms, production endpoint)."""
        return self.has_answered and self.silent_rounds < SILENT_ROUNDS_TO_UNREACHABLE

    @property
    def streak_pairs(self) -> tuple[Pair, ...]:
        """The culprits of the present failing streak, oldest first."""
        return tuple(culprit.pair for culprit in self.culprits if culprit.in_streak)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointFacts:
    """What one round learned of one endpoint.

    `verdicts` are contract verdicts after C9, before C6 and C13; a due probe that is missing is
    `unreachable` there; a contract that is not in a non-empty mapping does not apply to the endpoint.
    `is_incomplete` freezes the round for the endpoint (C9: both confirmations unreachable). `versions` are
    those of the probes asked; a culprit of another version has left (C11).
    """

    tag: str
    provider: str
    is_serving: bool = True
    in_other_tier: bool = False
    is_control: bool = False
    is_protected: bool = False
    is_admitted: bool = True
    language: str | None = None
    verdicts: Mapping[Contract, Verdict]
    versions: Mapping[Contract, int] = field(default_factory=dict)
    is_incomplete: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundVerdicts:
    """Effective verdicts by tag, and what set some of them aside.

    `controls_passed` are the tags of controls that passed filtering (C6); `common` maps a contract set
    aside by C13 to how many failed of how many conclusive.
    """

    effective: Mapping[str, Mapping[Contract, Verdict]]
    controls_passed: tuple[str, ...] = ()
    common: Mapping[Contract, tuple[int, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """One endpoint's round: the new standing, the result, and culprits that left on the way."""

    standing: Standing
    result: Result
    unsettled: tuple[Pair, ...] = ()
    not_applicable: tuple[Pair, ...] = ()


def effective_verdicts(endpoints: Iterable[EndpointFacts], policy: Policy) -> RoundVerdicts:
    """Apply C6, then C13, to a round's raw verdicts. Endpoints that do not serve are left out."""
    serving = [facts for facts in endpoints if facts.is_serving]
    effective = {facts.tag: _scored_verdicts(facts) for facts in serving}
    passed = tuple(
        facts.tag
        for facts in serving
        if facts.is_control and facts.verdicts.get(Contract.FILTERING) is Verdict.PASS
    )
    if passed:
        _set_aside(effective, Contract.FILTERING, (Verdict.PASS,))
    common = {}
    for contract in Contract:
        share = _common_cause(contract, serving, effective, policy)
        if share is not None:
            common[contract] = share
    for contract in common:
        _set_aside(effective, contract, (Verdict.PASS, Verdict.FAIL))
    return RoundVerdicts(effective=effective, controls_passed=passed, common=common)


def _scored_verdicts(facts: EndpointFacts) -> dict[Contract, Verdict]:
    """The verdicts that may score: a control's filtering verdict never does (C6)."""
    return {
        contract: verdict
        for contract, verdict in facts.verdicts.items()
        if not (facts.is_control and contract is Contract.FILTERING)
    }


def _set_aside(
    effective: Mapping[str, dict[Contract, Verdict]], contract: Contract, verdicts: tuple[Verdict, ...]
) -> None:
    for mine in effective.values():
        if mine.get(contract) in verdicts:
            mine[contract] = Verdict.INCONCLUSIVE


def _common_cause(
    contract: Contract,
    serving: Iterable[EndpointFacts],
    effective: Mapping[str, Mapping[Contract, Verdict]],
    policy: Policy,
) -> tuple[int, int] | None:
    """(failed, conclusive) when so many fail that one cause is likelier than many bad providers (C13)."""
    conclusive = failed = 0
    providers = set()
    for facts in serving:
        verdict = effective[facts.tag].get(contract)
        if verdict is Verdict.FAIL:
            failed += 1
            providers.add(facts.provider)
        if verdict is Verdict.FAIL or verdict is Verdict.PASS:
            conclusive += 1
    if failed and failed / conclusive >= policy.common_share and len(providers) >= policy.common_min:
        return failed, conclusive
    return None


def score_endpoint(
    standing: Standing,
    facts: EndpointFacts,
    verdicts: Mapping[Contract, Verdict],
    policy: Policy,
    *,
    at: datetime,
) -> Scored:
    """One endpoint's result of a scored round, and its standing after it (C10, C11, C12)."""
    standing = restart_if_old(standing, policy, at=at)
    kept, not_applicable = _applicable(standing.culprits, facts, verdicts)
    asked = tuple(_asked(culprit, facts.language, verdicts, at) for culprit in kept)
    result = _result(facts, verdicts, asked, at)
    released = tuple(culprit.pair for culprit in asked if _is_unsettled(culprit))
    standing = replace(standing, culprits=asked)
    if result is Result.FAILING:
        standing = _after_failing(standing, facts, verdicts, policy, at)
    elif result is Result.CLEAN:
        standing = _after_clean(standing, at)
    if released:
        left = tuple(culprit for culprit in standing.culprits if culprit.pair not in released)
        standing = replace(standing, culprits=left)
    return Scored(standing=standing, result=result, unsettled=released, not_applicable=not_applicable)


def restart_if_old(standing: Standing, policy: Policy, *, at: datetime) -> Standing:
    """`standing` with its streak anew when its latest result is more than `max_gap` intervals old (C12)."""
    if standing.last_result_at is None or at - standing.last_result_at <= policy.longest_gap:
        return standing
    return restart_streak(standing)


def restart_streak(standing: Standing) -> Standing:
    """`standing` with streaks at zero; culprits held for a suspension stay."""
    held = tuple(replace(culprit, in_streak=False) for culprit in standing.culprits if culprit.is_held)
    return replace(
        standing,
        failing=0,
        clean=0,
        last_result_at=None,
        culprits=held,
        streak_contracts=frozenset(),
        recent_failed=(),
    )


def clear_streak(standing: Standing) -> Standing:
    """`standing` with streaks at zero and no culprits: after a recovery, a lift, a switch of mode."""
    return restart_streak(replace(standing, culprits=()))


def note_reachability(standing: Standing, verdicts: Mapping[Contract, Verdict]) -> Standing:
    """Count a round with nothing but `unreachable`, or end the count; no verdicts at all say nothing."""
    if not verdicts:
        return standing
    if all(verdict is Verdict.UNREACHABLE for verdict in verdicts.values()):
        return replace(standing, silent_rounds=standing.silent_rounds + 1)
    if standing.has_answered and not standing.silent_rounds:
        return standing
    return replace(standing, silent_rounds=0, has_answered=True)


def is_liable(standing: Standing, policy: Policy) -> bool:
    """Whether the failing streak is long enough to suspend (C12)."""
    if standing.failing < policy.rounds_to_suspend:
        return False
    if not policy.same_contract:
        return True
    return bool(frozenset.intersection(*standing.recent_failed[-policy.rounds_to_suspend :]))


def _applicable(
    culprits: tuple[Culprit, ...], facts: EndpointFacts, verdicts: Mapping[Contract, Verdict]
) -> tuple[tuple[Culprit, ...], tuple[Pair, ...]]:
    """Culprits whose contract still applies, and the pairs of those whose contract does not (C11).

    No verdicts at all say nothing: nothing was due.
    """
    if not culprits or not verdicts:
        return culprits, ()
    kept = tuple(
        one for one in culprits if one.pair.contract in verdicts and _is_of_version(one, facts.versions)
    )
    gone = tuple(one.pair for one in culprits if one not in kept)
    return kept, gone


def _is_of_version(culprit: Culprit, versions: Mapping[Contract, int]) -> bool:
    return versions.get(culprit.pair.contract, culprit.version) == culprit.version


def _was_asked(pair: Pair, language: str | None) -> bool:
    return pair.contract is not Contract.LANGUAGE or pair.language == language


def _asked(
    culprit: Culprit, language: str | None, verdicts: Mapping[Contract, Verdict], at: datetime
) -> Culprit:
    """`culprit` after this round's verdict for its pair, if it was asked."""
    verdict = verdicts.get(culprit.pair.contract)
    if verdict is None or not _was_asked(culprit.pair, language):
        return culprit
    if verdict.is_conclusive:
        return replace(culprit, latest=verdict, dry_rounds=0, asked_at=at)
    return replace(culprit, dry_rounds=culprit.dry_rounds + 1, asked_at=at)


def _is_unsettled(culprit: Culprit) -> bool:
    return culprit.pair.contract is Contract.LANGUAGE and culprit.dry_rounds >= DRY_ROUNDS_TO_RELEASE


def _result(
    facts: EndpointFacts, verdicts: Mapping[Contract, Verdict], culprits: tuple[Culprit, ...], at: datetime
) -> Result:
    """C11: failing wins; then what freezes; clean needs a pass."""
    seen = verdicts.values()
    if Verdict.FAIL in seen:
        return Result.FAILING
    if facts.is_incomplete or Verdict.UNREACHABLE in seen:
        return Result.FROZEN
    if not all(_has_passed(culprit, at) for culprit in culprits):
        return Result.FROZEN
    return Result.CLEAN if Verdict.PASS in seen else Result.FROZEN


def _has_passed(culprit: Culprit, at: datetime) -> bool:
    """A culprit asked in the round at `at` must have passed in it; one not asked counts with its latest verdict."""
    was_dry_now = culprit.asked_at == at and culprit.dry_rounds > 0
    return culprit.latest is Verdict.PASS and not was_dry_now


def _after_failing(
    standing: Standing,
    facts: EndpointFacts,
    verdicts: Mapping[Contract, Verdict],
    policy: Policy,
    at: datetime,
) -> Standing:
    """The failing streak one longer, its new pairs among the culprits."""
    failed = frozenset(contract for contract, verdict in verdicts.items() if verdict is Verdict.FAIL)
    pairs = {Pair(contract, facts.language if contract is Contract.LANGUAGE else None) for contract in failed}
    known = {culprit.pair for culprit in standing.culprits}
    culprits = tuple(replace(one, in_streak=True) if one.pair in pairs else one for one in standing.culprits)
    new = tuple(
        Culprit(pair=pair, since=at, asked_at=at, version=facts.versions.get(pair.contract, 0))
        for pair in sorted(pairs - known, key=str)
    )
    recent = (*standing.recent_failed, failed) if standing.failing else (failed,)
    return replace(
        standing,
        failing=standing.failing + 1,
        clean=0,
        last_result_at=at,
        culprits=culprits + new,
        streak_contracts=standing.streak_contracts | failed,
        recent_failed=recent[-policy.rounds_to_suspend :],
    )


def _after_clean(standing: Standing, at: datetime) -> Standing:
    """The clean streak one longer, the failing one over."""
    clean = standing.clean + 1
    return replace(restart_streak(standing), clean=clean, last_result_at=at)
