"""What several runs of one endpoint in one round come to: beginnings pooled (C8) and confirmations (C9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from canary.domain.verdicts import Judgement, Reason, Verdict
from canary.probes.base import failed, inconclusive, passed
from routing.judges.beginnings import judge_beginning
from routing.judges.findings import Outcome

CORRUPT_TO_FAIL = 2
"""How many corrupt beginnings among a round's prose answers fail the endpoint; exactly one asks for C9's runs."""


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """The contract verdict after confirmation.

    `freezes_round` is True when both confirmations were unreachable: the verdict is inconclusive and the
    endpoint's round is frozen for it.
    """

    judgement: Judgement
    freezes_round: bool = False


def judge_beginnings(answers: Sequence[str]) -> Judgement:
    """The beginnings of all prose answers an endpoint gave in a round, blank ones left out.

    Two or more corrupt fail; exactly one is inconclusive (`corrupt_count` is 1: C9's confirmations are run and
    counted in); none passes. Evidence: `corrupt` (index, sign and beginning of each), `corrupt_count`, `answers`.
    """
    prose = [(index, text) for index, text in enumerate(answers) if text.strip()]
    findings = [(index, judge_beginning(text)) for index, text in prose]
    corrupt = [
        {"answer": index, **finding.evidence}
        for index, finding in findings
        if finding.outcome is Outcome.FAULTY
    ]
    evidence: dict[str, Any] = {"corrupt": corrupt, "corrupt_count": len(corrupt), "answers": len(prose)}
    if len(corrupt) >= CORRUPT_TO_FAIL:
        return failed(Reason.CORRUPTED_BEGINNING, **evidence)
    if corrupt:
        return inconclusive(Reason.CORRUPTED_BEGINNING, **evidence)
    return passed(**evidence) if prose else inconclusive(Reason.EMPTY, **evidence)


def confirm(judgements: Sequence[Judgement]) -> Confirmed:
    """The first run and its two confirmations of the same prompt: two of three decide, whatever the reasons.

    Raises `ValueError` unless there are three. The reason of a fail is the first failing run's. Evidence:
    `runs` (verdict and reason of each) beside the evidence of the run that gave the reason.
    """
    if len(judgements) != 3:
        raise ValueError(f"a verdict is confirmed by two more runs, not {len(judgements) - 1}")
    runs = [{"verdict": str(run.verdict), "reason": str(run.reason)} for run in judgements]
    for verdict in (Verdict.FAIL, Verdict.PASS):
        agreeing = [run for run in judgements if run.verdict is verdict]
        if len(agreeing) >= 2:
            evidence = {**agreeing[0].evidence, "runs": runs}
            return Confirmed(
                judgement=Judgement(verdict=verdict, reason=agreeing[0].reason, evidence=evidence)
            )
    are_unreachable = all(run.verdict is Verdict.UNREACHABLE for run in judgements[1:])
    return Confirmed(judgement=inconclusive(Reason.AMBIGUOUS, runs=runs), freezes_round=are_unreachable)
