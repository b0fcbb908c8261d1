"""Latency (rule C4): from the request written to the first non-blank answer text, within a limit."""

from dataclasses import dataclass
from typing import Any

from canary.domain.verdicts import Contract, Judgement, Reason, Verdict
from canary.probes.base import (
    ERROR_GRACE_S,
    LOOP_LAG_LIMIT_MS,
    ProbeRequest,
    Sampling,
    allowed_tokens,
    chat_body,
    failed,
    inconclusive,
    passed,
    unreachable,
)
from canary.probes.screening import screen_attribution, screen_error
from routing.gateways.base import Attribution, Exchange, ModelFacts, TransportFailure

DEFAULT_LIMIT_S = 10.0

_SAMPLING = Sampling(max_tokens=64)
_PROMPT = "Describe in one or two plain sentences what an empty harbour looks like early in the morning."


@dataclass(frozen=True, kw_only=True)
class LatencyProbe:
    """Asks for a short answer and looks at the clock only."""

    contract: Contract = Contract.LATENCY
    version: int = 1

    def applies(self, supported_parameters: frozenset[str]) -> bool:
        """Every endpoint can be timed."""
        return True

    def request(self, facts: ModelFacts, *, language: str, variant: int, limit_s: float) -> ProbeRequest:
        """One fixed short request; `language` and `variant` do not matter."""
        return ProbeRequest(
            contract=self.contract,
            version=self.version,
            prompt_id="latency-harbour",
            language=None,
            body=chat_body(facts, [{"role": "user", "content": _PROMPT}], _SAMPLING),
            first_text_limit_s=limit_s,
            total_limit_s=limit_s + ERROR_GRACE_S,
            max_tokens=allowed_tokens(facts, _SAMPLING),
            counts_reasoning=facts.reasoning_mandatory,
        )

    def judge(
        self, exchange: Exchange, request: ProbeRequest, *, attribution: Attribution | None = None
    ) -> Judgement:
        """The verdict. Evidence: `ttft_ms` (first answer text), `first_token_ms` (of any kind), `limit_ms`."""
        limit_ms = (request.first_text_limit_s or DEFAULT_LIMIT_S) * 1000
        times = _times(exchange, limit_ms)
        if exchange.loop_lag_ms > LOOP_LAG_LIMIT_MS:
            return inconclusive(Reason.OVERLOADED_HERE, **times, loop_lag_ms=round(exchange.loop_lag_ms, 1))
        misplaced = screen_attribution(exchange, attribution)
        if misplaced is not None:
            return misplaced
        if exchange.status_ms is not None and exchange.status_ms > limit_ms:
            return unreachable(Reason.CONNECT_FAILED, **times, status_ms=round(exchange.status_ms, 1))
        first_ms = exchange.first_token_ms if request.counts_reasoning else exchange.first_text_ms
        if first_ms is not None and attribution is Attribution.UNKNOWN:
            return inconclusive(Reason.NOT_ATTRIBUTED, **times)  # text of nobody knows whom, then an error
        if first_ms is not None:
            return passed(**times) if first_ms <= limit_ms else failed(Reason.NO_TEXT_IN_LIMIT, **times)
        return _judge_silence(exchange, request, limit_ms)


def _times(exchange: Exchange, limit_ms: float) -> dict[str, Any]:
    marks = {
        "ttft_ms": exchange.first_text_ms,
        "first_token_ms": exchange.first_token_ms,
        "limit_ms": limit_ms,
    }
    return {name: round(value, 1) for name, value in marks.items() if value is not None}


def _judge_silence(exchange: Exchange, request: ProbeRequest, limit_ms: float) -> Judgement:
    """No text came: an error, an end, a cut, or silence until the limit."""
    times = _times(exchange, limit_ms)
    error = screen_error(exchange, request=request)
    if error is not None:
        return _silence_before(error, exchange, limit_ms) or error
    if exchange.failure is TransportFailure.TIMED_OUT or _is_past(exchange, limit_ms):
        return failed(Reason.NO_TEXT_IN_LIMIT, **times, ended_ms=exchange.ended_ms)
    if exchange.text.strip():
        return inconclusive(Reason.AMBIGUOUS, **times, detail="the answer carries no times")
    if exchange.failure is not None:
        return unreachable(Reason.EARLY_END, failure=str(exchange.failure), ended_ms=exchange.ended_ms)
    reason = Reason.REASONING_ONLY if exchange.reasoning.strip() else Reason.EMPTY
    return inconclusive(reason, **times, finish_reason=exchange.finish_reason)


def _silence_before(error: Judgement, exchange: Exchange, limit_ms: float) -> Judgement | None:
    """An error that came only after the limit and its grace does not undo the silence before it."""
    if error.verdict is not Verdict.UNREACHABLE or exchange.status != 200:
        return None
    if not _is_past(exchange, limit_ms + ERROR_GRACE_S * 1000):
        return None
    return failed(Reason.NO_TEXT_IN_LIMIT, **_times(exchange, limit_ms), ended_ms=exchange.ended_ms)


def _is_past(exchange: Exchange, moment_ms: float) -> bool:
    return exchange.ended_ms is not None and exchange.ended_ms > moment_ms
