"""Structured output (rule C7): a small object under a fixed strict schema, nothing around it, nothing repaired."""

from collections.abc import Mapping
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
from routing.gateways.base import Attribution, Exchange, ModelFacts
from routing.judges.findings import Finding, Outcome
from routing.judges.refusal import find_refusal
from routing.judges.structured import judge_structured

# No pattern, no format, no nesting beyond one list: what every strict mode supports. Enumerations and required
# fields are what a model without the mode gets wrong.
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "quantity": {"type": "integer"},
        "urgent": {"type": "boolean"},
        "unit": {"type": "string", "enum": ["piece", "box", "pallet"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["item", "quantity", "urgent", "unit", "tags"],
    "additionalProperties": False,
}

_SAMPLING = Sampling(
    max_tokens=300,
    extra={
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "stock_order", "strict": True, "schema": dict(SCHEMA)},
        }
    },
)
_PROMPT = (
    "Extract the order from this note as JSON with the fields item, quantity, urgent, unit and tags. "
    "Note: we are down to the last lamps in the workshop, please send twelve boxes of lamps by tonight, "
    "tag it lighting and workshop."
)


@dataclass(frozen=True, kw_only=True)
class StructuredOutputProbe:
    """Asks for one small object under a strict schema."""

    contract: Contract = Contract.STRUCTURED_OUTPUT
    version: int = 1

    def applies(self, supported_parameters: frozenset[str]) -> bool:
        """Only an endpoint that advertises `structured_outputs` promises this."""
        return "structured_outputs" in supported_parameters

    def request(self, facts: ModelFacts, *, language: str, variant: int, limit_s: float) -> ProbeRequest:
        """One fixed note and schema; `language`, `variant` and `limit_s` do not matter."""
        return ProbeRequest(
            contract=self.contract,
            version=self.version,
            prompt_id="structured-order",
            language=None,
            body=chat_body(facts, [{"role": "user", "content": _PROMPT}], _SAMPLING),
            first_text_limit_s=None,
            total_limit_s=TOTAL_LIMIT_S,
            max_tokens=allowed_tokens(facts, _SAMPLING),
            schema=SCHEMA,
        )

    def judge(
        self, exchange: Exchange, request: ProbeRequest, *, attribution: Attribution | None = None
    ) -> Judgement:
        """The verdict. Raises `SchemaUnusable` for a request whose schema does not compile.

        Evidence: `detail` and `excerpt` or `path` of the first thing wrong.
        """
        screened = screen(exchange, attribution=attribution, request=request)
        if screened is not None:
            return screened
        unfinished = _unfinished(exchange)
        if unfinished is not None:
            return unfinished
        finding = judge_structured(exchange.text, request.schema or SCHEMA)
        if finding.outcome is Outcome.FAULTY and _is_refusal(exchange.text, finding):
            return inconclusive(Reason.REFUSAL, **find_refusal(exchange.text).evidence)
        return unless_text_was_lost(from_finding(finding), exchange)


def _unfinished(exchange: Exchange) -> Judgement | None:
    """An answer that did not finish says nothing of the mode."""
    withheld = withheld_reason(exchange)
    if withheld is not None:
        return inconclusive(withheld[0], **withheld[1])
    if is_reasoning_only(exchange) or (exchange.reasoning.strip() and not exchange.text.strip()):
        return inconclusive(Reason.REASONING_ONLY, finish_reason=exchange.finish_reason)
    if exchange.finish_reason == "length":
        return inconclusive(
            Reason.TRUNCATED, finish_reason="length", completion_tokens=exchange.usage.completion_tokens
        )
    return None


def _is_refusal(text: str, finding: Finding) -> bool:
    """Only prose without an object can be a refusal; a schema mismatch is one, whatever its strings say."""
    return str(finding.fault) == Reason.NOT_JSON and find_refusal(text).outcome is Outcome.FAULTY
