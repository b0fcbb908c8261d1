"""What a probe is: its request, and the judgements it makes.

A probe is one file: a request and a verdict. It sees an `Exchange` and knows nothing of networks or rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from canary.domain.verdicts import Contract, Judgement, Reason, Verdict
from routing.gateways.base import Attribution, Exchange, ModelFacts
from routing.judges.findings import Finding, Outcome
from routing.judges.integrity import printable

TOTAL_LIMIT_S = 90.0
"""How long a whole answer may take; a run that is not done by then has ended early."""

LOOP_LAG_LIMIT_MS = 500.0
"""A lag of our own event loop that makes a time to first token untrustworthy (rule C4)."""

ERROR_GRACE_S = 5.0
"""How long past the limit an error still counts as unreachable rather than as silence (rule C4)."""

# Hidden reasoning of a model that cannot turn it off comes out of the same allowance.
_REASONING_TOKENS = 2000


@dataclass(frozen=True, kw_only=True)
class ProbeRequest:
    """One probe's request, without model and pin: those are the gateway adapter's.

    `version` is the probe's; raising it starts the history anew. `prompt_id` names the prompt shown as
    evidence. `schema` is what a structured answer must fit. `counts_reasoning` says that the first token of
    any kind ends the wait (models whose reasoning is mandatory).
    """

    contract: Contract
    version: int
    prompt_id: str
    language: str | None
    body: Mapping[str, Any]
    first_text_limit_s: float | None
    total_limit_s: float
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    counts_reasoning: bool = False


class Probe(Protocol):
    """One contract's probe."""

    @property
    def contract(self) -> Contract:
        """The promise it checks."""

    @property
    def version(self) -> int:
        """Raised when prompt, sampling or verdict change."""

    def applies(self, supported_parameters: frozenset[str]) -> bool:
        """Whether an endpoint that advertises these parameters is asked at all."""

    def request(self, facts: ModelFacts, *, language: str, variant: int, limit_s: float) -> ProbeRequest:
        """The request. `language` and `variant` pick the prompt where there is a choice; `limit_s` is C4's."""

    def judge(
        self, exchange: Exchange, request: ProbeRequest, *, attribution: Attribution | None = None
    ) -> Judgement:
        """What the exchange says of the endpoint. `attribution` is None when nothing was pinned."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Part of a probe's version. Not temperature 0: confirmations must be independent (rule C2)."""

    max_tokens: int
    temperature: float = 0.7
    extra: Mapping[str, Any] = field(default_factory=dict)


def chat_body(facts: ModelFacts, messages: Sequence[Mapping[str, Any]], sampling: Sampling) -> dict[str, Any]:
    """A streamed chat request with the least reasoning the model allows."""
    body: dict[str, Any] = {
        "messages": [dict(message) for message in messages],
        "stream": True,
        "max_tokens": allowed_tokens(facts, sampling),
        "temperature": sampling.temperature,
        **sampling.extra,
    }
    reasoning = _least_reasoning(facts)
    return {**body, "reasoning": reasoning} if reasoning else body


def allowed_tokens(facts: ModelFacts, sampling: Sampling) -> int:
    """The answer's allowance, with room for reasoning that cannot be turned off."""
    return sampling.max_tokens + (_REASONING_TOKENS if facts.reasoning_mandatory else 0)


_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


def _least_reasoning(facts: ModelFacts) -> dict[str, Any] | None:
    if facts.reasoning_mandatory:
        known = [effort for effort in _EFFORTS if effort in facts.reasoning_efforts]
        return {"effort": known[0] if known else "low"}
    if "none" in facts.reasoning_efforts:
        return {"effort": "none"}
    return {"enabled": False} if facts.reasoning_efforts or facts.default_reasoning else None


def passed(**evidence: Any) -> Judgement:
    """The promise was kept."""
    return Judgement(verdict=Verdict.PASS, reason=Reason.OK, evidence=_readable(evidence))


def failed(reason: Reason, **evidence: Any) -> Judgement:
    """The promise was broken."""
    return Judgement(verdict=Verdict.FAIL, reason=reason, evidence=_readable(evidence))


def inconclusive(reason: Reason, **evidence: Any) -> Judgement:
    """Nothing can be concluded."""
    return Judgement(verdict=Verdict.INCONCLUSIVE, reason=reason, evidence=_readable(evidence))


def unreachable(reason: Reason, **evidence: Any) -> Judgement:
    """The transport failed: nothing can be concluded about quality."""
    return Judgement(verdict=Verdict.UNREACHABLE, reason=reason, evidence=_readable(evidence))


def _readable(value: Any) -> Any:
    """Evidence that every store and terminal takes: no lone surrogates, no control characters."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): _readable(inner) for key, inner in value.items()}
    return [_readable(inner) for inner in value] if isinstance(value, list | tuple) else value


def from_finding(finding: Finding) -> Judgement:
    """A judge's finding as a judgement: the values of `Fault` are those of `Reason`."""
    match finding.outcome:
        case Outcome.SOUND:
            return passed(**finding.evidence)
        case Outcome.FAULTY:
            return failed(Reason(str(finding.fault)), **finding.evidence)
        case Outcome.UNSURE:
            return inconclusive(Reason(str(finding.fault)), **finding.evidence)


def is_our_side(judgement: Judgement) -> bool:
    """Whether the run says that account, key or gateway are at fault: the round stops (rule C3)."""
    return judgement.reason is Reason.OUR_SIDE
