"""Language and integrity (rule C8): a short role-play continuation in one of the judged languages."""

from dataclasses import dataclass
from typing import Any

from canary.domain.verdicts import Contract, Judgement, Reason
from canary.probes.base import (
    TOTAL_LIMIT_S,
    ProbeRequest,
    Sampling,
    allowed_tokens,
    chat_body,
    from_finding,
    inconclusive,
)
from canary.probes.filtering import is_reasoning_only, withheld_reason
from canary.probes.screening import screen, unless_text_was_lost
from canary.prompts import prompts_for
from routing.gateways.base import Attribution, Exchange, ModelFacts
from routing.judges.findings import Outcome
from routing.judges.integrity import judge_integrity
from routing.judges.language import judge_language
from routing.judges.refusal import find_refusal

# 140 words take up to 500 tokens in Thai.
_SAMPLING = Sampling(max_tokens=600)


@dataclass(frozen=True, kw_only=True)
class LanguageProbe:
    """Asks for a continuation in one language and looks whether that is what came, undamaged."""

    contract: Contract = Contract.LANGUAGE
    version: int = 1

    def applies(self, supported_parameters: frozenset[str]) -> bool:
        """Every endpoint is asked."""
        return True

    def request(self, facts: ModelFacts, *, language: str, variant: int, limit_s: float) -> ProbeRequest:
        """The prompt number `variant` (round and round) of `language`. Raises `ValueError` for an unknown one."""
        prompts = prompts_for(language)
        prompt = prompts[variant % len(prompts)]
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.text}]
        return ProbeRequest(
            contract=self.contract,
            version=self.version,
            prompt_id=prompt.id,
            language=language,
            body=chat_body(facts, messages, _SAMPLING),
            first_text_limit_s=None,
            total_limit_s=TOTAL_LIMIT_S,
            max_tokens=allowed_tokens(facts, _SAMPLING),
        )

    def judge(
        self, exchange: Exchange, request: ProbeRequest, *, attribution: Attribution | None = None
    ) -> Judgement:
        """The verdict; `request.language` is the expected one. Evidence: see the two judges."""
        screened = screen(exchange, attribution=attribution, request=request)
        if screened is not None:
            return screened
        nothing = _nothing_to_judge(exchange)
        if nothing is not None:
            return nothing
        return unless_text_was_lost(judge_prose(exchange.text, request.language or "en"), exchange)


def judge_prose(text: str, expected: str) -> Judgement:
    """Damage first, then a refusal (another contract's business), then the language."""
    integrity = judge_integrity(text)
    if integrity.outcome is Outcome.FAULTY:
        return from_finding(integrity)
    refusal = find_refusal(text)
    if refusal.outcome is Outcome.FAULTY:
        return inconclusive(Reason.REFUSAL, **refusal.evidence)
    language = judge_language(text, expected)
    if language.outcome is Outcome.SOUND and integrity.outcome is Outcome.UNSURE:
        return from_finding(integrity)
    return from_finding(language)


def _nothing_to_judge(exchange: Exchange) -> Judgement | None:
    withheld = withheld_reason(exchange)
    if withheld is not None:
        return inconclusive(withheld[0], **withheld[1])
    if exchange.text.strip():
        return None
    shown: dict[str, Any] = {"finish_reason": exchange.finish_reason}
    reason = (
        Reason.REASONING_ONLY if is_reasoning_only(exchange) or exchange.reasoning.strip() else Reason.EMPTY
    )
    return inconclusive(reason, **shown)
