"""From the probe runs of one endpoint in one round to its contract verdicts (rules C8 beginnings, C9).

`needs_confirmation` and `pool` read the same facts: the first while a round runs, the second when it closes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from canary.domain.verdicts import Contract, Reason, Verdict

# Rule C8: so many corrupt beginnings among a round's prose answers fail; exactly one is confirmed.
CORRUPT_BEGINNINGS_TO_FAIL = 2
# Rule C9: a failing language run is followed by two more; two of three decide.
CONFIRMATIONS = 2
MAJORITY = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """One probe run. `verdict` is None when its result is missing; `begins_corrupt` when it gave no prose."""

    contract: Contract
    ordinal: int = 0
    verdict: Verdict | None
    reason: Reason | None = None
    begins_corrupt: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pooled:
    """Contract verdicts and reasons of one endpoint. `is_incomplete` freezes its round (C9)."""

    verdicts: Mapping[Contract, Verdict]
    reasons: Mapping[Contract, Reason]
    is_incomplete: bool = False


def corrupt_beginnings(runs: Iterable[RunFacts]) -> int:
    """How many prose answers of the round began corrupted."""
    return sum(1 for run in runs if run.begins_corrupt)


def needs_confirmation(runs: Sequence[RunFacts]) -> bool:
    """Whether the endpoint's language run must be repeated: it failed, or exactly one beginning is corrupt."""
    first = _language_runs(runs)[:1]
    if not first or first[0].verdict is None:
        return False
    return first[0].verdict is Verdict.FAIL or corrupt_beginnings(runs) == 1


def pool(runs: Sequence[RunFacts]) -> Pooled:
    """Contract verdicts after C9 and pooling; a missing result is `unreachable`."""
    verdicts: dict[Contract, Verdict] = {}
    reasons: dict[Contract, Reason] = {}
    for run in runs:
        if run.ordinal == 0:
            verdicts[run.contract] = run.verdict or Verdict.UNREACHABLE
            if run.reason is not None:
                reasons[run.contract] = run.reason
    is_incomplete = False
    language = _language_runs(runs)
    if len(language) > 1:
        verdicts[Contract.LANGUAGE], reasons[Contract.LANGUAGE], is_incomplete = _decide(language)
    elif needs_confirmation(runs):  # it was owed and never ran: one run alone decides nothing
        verdicts[Contract.LANGUAGE], reasons[Contract.LANGUAGE] = Verdict.INCONCLUSIVE, Reason.AMBIGUOUS
        is_incomplete = True
    if language and corrupt_beginnings(runs) >= CORRUPT_BEGINNINGS_TO_FAIL:
        verdicts[Contract.LANGUAGE] = Verdict.FAIL
        reasons[Contract.LANGUAGE] = Reason.CORRUPTED_BEGINNING
        is_incomplete = False
    return Pooled(verdicts=verdicts, reasons=reasons, is_incomplete=is_incomplete)


def _language_runs(runs: Iterable[RunFacts]) -> list[RunFacts]:
    return sorted((run for run in runs if run.contract is Contract.LANGUAGE), key=lambda run: run.ordinal)


def _decide(language: Sequence[RunFacts]) -> tuple[Verdict, Reason, bool]:
    """Two of three decide, whatever the reasons; (verdict, reason, whether the round is frozen for it)."""
    for verdict in (Verdict.FAIL, Verdict.PASS):
        agreeing = [run for run in language if run.verdict is verdict]
        if len(agreeing) >= MAJORITY:
            return verdict, agreeing[0].reason or Reason.OK, False
    confirmations = language[1:]
    are_unreachable = all(run.verdict in (None, Verdict.UNREACHABLE) for run in confirmations)
    return Verdict.INCONCLUSIVE, Reason.AMBIGUOUS, are_unreachable
