"""Exchanges and requests for the probes' tests; what a test does not name is a healthy finished answer."""

from typing import Any

from canary.domain.verdicts import Contract
from canary.probes.base import ProbeRequest
from canary.probes.registry import probe_of
from routing.gateways.base import Exchange, GatewayError, ModelFacts, TransportFailure, Usage

FACTS = ModelFacts(slug="a/b")
STORY = (
    "The lamp burns low while I set another bowl on the table, and the rain drums on the shutters as if it wanted "
    "to come in too. You hold your hands over the stove and say nothing for a long while."
)


def request_for(contract: Contract, *, facts: ModelFacts = FACTS, language: str = "en") -> ProbeRequest:
    """The probe's own request."""
    return probe_of(contract).request(facts, language=language, variant=0, limit_s=10.0)


def finished(text: str = STORY, **fields: Any) -> Exchange:
    """A streamed answer that ended well."""
    given: dict[str, Any] = {
        "status": 200,
        "text": text,
        "finish_reason": "stop",
        "has_done": True,
        "first_text_ms": 800.0 if text.strip() else None,
        "first_token_ms": 800.0 if text.strip() else None,
        "ended_ms": 2000.0,
        "status_ms": 100.0,
    }
    return Exchange(**{**given, **fields})


def used(completion_tokens: int, reasoning_tokens: int | None = None) -> Usage:
    """What the gateway counted."""
    return Usage(completion_tokens=completion_tokens, reasoning_tokens=reasoning_tokens)


def refused(
    status: int | None,
    message: str = "No.",
    *,
    provider: str | None = "Host",
    ended_ms: float | None = 500.0,
    **fields: Any,
) -> Exchange:
    """An error answer, from a named provider unless told otherwise."""
    error = GatewayError(status=status, message=message, provider_name=provider, **fields)
    return Exchange(
        status=200 if error.in_stream else status,
        error=error,
        has_done=True,
        ended_ms=ended_ms,
        status_ms=100.0,
    )


def failed_transport(failure: TransportFailure, **fields: Any) -> Exchange:
    """An exchange the transport ended."""
    return Exchange(failure=failure, **fields)
