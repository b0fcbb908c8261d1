"""Beginnings (rule C8): the prose answers an endpoint gave in one round, judged together."""

from collections.abc import Sequence
from typing import Any

from canary.domain.pooling import CORRUPT_BEGINNINGS_TO_FAIL
from canary.domain.verdicts import Judgement, Reason
from canary.probes.base import failed, inconclusive, passed
from routing.judges.beginnings import judge_beginning
from routing.judges.findings import Outcome


def judge_beginnings(answers: Sequence[str]) -> Judgement:
    """The beginnings of all prose answers of a round, blank ones left out.

    Two or more corrupt fail; exactly one is inconclusive, because C9's confirmations are then run and counted
    in; none passes. Evidence: `corrupt` (index, sign and beginning of each), `corrupt_count`, `answers`.
    """
    prose = [(index, text) for index, text in enumerate(answers) if text.strip()]
    findings = [(index, judge_beginning(text)) for index, text in prose]
    corrupt = [
        {"answer": index, **finding.evidence}
        for index, finding in findings
        if finding.outcome is Outcome.FAULTY
    ]
    evidence: dict[str, Any] = {"corrupt": corrupt, "corrupt_count": len(corrupt), "answers": len(prose)}
    if len(corrupt) >= CORRUPT_BEGINNINGS_TO_FAIL:
        return failed(Reason.CORRUPTED_BEGINNING, **evidence)
    if corrupt:
        return inconclusive(Reason.CORRUPTED_BEGINNING, **evidence)
    return passed(**evidence) if prose else inconclusive(Reason.EMPTY, **evidence)
