"""What all contracts have in common: whose fault a failed exchange is (C3), who answered (C2), a stream cut short."""

import re
from typing import Any

from canary.domain.verdicts import Contract, Judgement, Reason, Verdict
from canary.probes.base import ProbeRequest, failed, inconclusive, unreachable
from routing.gateways.base import Attribution, Exchange, GatewayError, TransportFailure


def screen(exchange: Exchange, *, attribution: Attribution | None, request: ProbeRequest) -> Judgement | None:
    """What all contracts have in common: transport, whose fault, attribution, a stream without an end.

    None when the answer may be judged. Evidence of an error: `status`, `message`, `error_type`, `provider`.
    """
    return (
        screen_attribution(exchange, attribution)
        or screen_error(exchange, request=request)
        or _screen_end(exchange)
    )


def screen_error(exchange: Exchange, *, request: ProbeRequest) -> Judgement | None:
    """The judgement of an exchange that failed or came to an error; None when it has neither."""
    if exchange.failure in (TransportFailure.CONNECT_FAILED, TransportFailure.NO_STATUS):
        return unreachable(Reason.CONNECT_FAILED, failure=str(exchange.failure))
    if exchange.error is not None:
        return _judge_error(exchange.error, exchange, request.contract)
    if exchange.status is None:
        return unreachable(Reason.CONNECT_FAILED, failure=str(exchange.failure or "no_status"))
    if not 200 <= exchange.status < 300:
        error = GatewayError(status=exchange.status, message="", provider_name=exchange.served_by)
        return _judge_error(error, exchange, request.contract)
    return None


def screen_attribution(exchange: Exchange, attribution: Attribution | None) -> Judgement | None:
    """Rule C2: what came from another provider, or from nobody knows whom, says nothing of this endpoint.

    Silence names nobody and is not held to have come from elsewhere; nor is an error, whose fault is C3's
    question, unless its meaning would be held against the endpoint: that of a content policy (C5). An account
    error before any text that is ours comes first, whoever is named beside it. `attribution` is None for a
    recording.
    """
    error = exchange.error
    shown: dict[str, Any] = {"served_by": exchange.served_by, "served_model": exchange.served_model}
    if error is not None:
        if _is_account_error_of_ours(error) and not _has_text(exchange):
            return None
        shown |= _shown(error, exchange)
    if attribution is Attribution.OTHER:
        return inconclusive(Reason.SERVED_BY_OTHER, **shown)
    is_nobodys = attribution is Attribution.UNKNOWN
    if error is not None:
        is_nobodys = _is_about_policy(error) and (is_nobodys or error.reached_upstream is False)
    elif not _holds_anything(exchange):
        return None
    return inconclusive(Reason.NOT_ATTRIBUTED, **shown) if is_nobodys else None


def _holds_anything(exchange: Exchange) -> bool:
    return bool(
        exchange.text
        or exchange.reasoning
        or exchange.refusal
        or exchange.finish_reason
        or exchange.first_token_ms is not None
        or exchange.served_by
    )


def _screen_end(exchange: Exchange) -> Judgement | None:
    """A stream without a finish reason was cut, whatever it holds; one that finished with `error` broke."""
    if exchange.finish_reason == "error":
        return unreachable(Reason.EARLY_END if _has_text(exchange) else Reason.ERROR_BEFORE_TEXT)
    if exchange.finish_reason is not None:
        return None
    return unreachable(
        Reason.EARLY_END,
        failure=str(exchange.failure) if exchange.failure else None,
        characters=len(exchange.text),
        ended_ms=exchange.ended_ms,
    )


def unless_text_was_lost(judgement: Judgement, exchange: Exchange) -> Judgement:
    """A fault seen in a text is no fault when a malformed event may have taken a piece of it away."""
    if judgement.verdict is not Verdict.FAIL or not exchange.malformed_events:
        return judgement
    return inconclusive(
        Reason.AMBIGUOUS, malformed_events=exchange.malformed_events, seen=str(judgement.reason)
    )


# What an upstream calls its content policy when the gateway gives the error no type.
_POLICY_TYPES = frozenset(
    {"content_policy_violation", "refusal", "content_filter", "content_filtered", "moderation", "safety"}
)
_POLICY_WORDS = re.compile(
    r"content[ _-]?(?:management[ _-])?polic|content[ _-]filter|moderation|flagged|usage polic"
    r"|safety (?:system|filter|policy|setting)|prohibited[ _]content|inappropriate content|datainspectionfailed",
    re.IGNORECASE,
)
_SCHEMA_WORDS = re.compile(
    r"schema|response_format|structured[ _]output|response format|json mode|grammar", re.IGNORECASE
)
_POLICY_STATUSES = frozenset({400, 403, 422, 451, None})
_CALLER_STATUSES = frozenset({400, 405, 412, 413, 415, 422})
_ACCOUNT_STATUSES = frozenset({401, 402, 403, 429})
_READ_CHARS = 4000


def _judge_error(error: GatewayError, exchange: Exchange, contract: Contract) -> Judgement:
    """Rule C3: whose fault, then the meaning, then the status."""
    shown = _shown(error, exchange)
    if _is_account_error_of_ours(error):
        return inconclusive(Reason.OUR_SIDE, **shown)
    if _is_about_policy(error):
        judged = failed if contract is Contract.FILTERING else inconclusive
        return judged(Reason.POLICY_ERROR, **shown)
    if error.status in _CALLER_STATUSES and not _has_text(exchange):
        is_schema = contract is Contract.STRUCTURED_OUTPUT and _SCHEMA_WORDS.search(_words_of(error))
        return inconclusive(Reason.SCHEMA_REFUSED if is_schema else Reason.OUR_REQUEST, **shown)
    return unreachable(_reason_unreachable(error, exchange), **shown)


def _reason_unreachable(error: GatewayError, exchange: Exchange) -> Reason:
    if _has_text(exchange):
        return Reason.EARLY_END
    if error.status == 429:
        return Reason.RATE_LIMITED
    if error.status == 404 and _is_ours(error):
        return Reason.ROUTING_REFUSED
    is_server_error = error.status is not None and (error.status >= 500 or error.status == 408)
    return Reason.SERVER_ERROR if is_server_error and not error.in_stream else Reason.ERROR_BEFORE_TEXT


def _is_account_error_of_ours(error: GatewayError) -> bool:
    return error.status in _ACCOUNT_STATUSES and _is_ours(error)


def _is_ours(error: GatewayError) -> bool:
    return error.reached_upstream is False or error.provider_name is None or error.is_own_rate_limit


def _has_text(exchange: Exchange) -> bool:
    return exchange.first_text_ms is not None or bool(exchange.text.strip())


def _is_about_policy(error: GatewayError) -> bool:
    if error.error_type in _POLICY_TYPES:
        return True
    if error.error_type or error.status not in _POLICY_STATUSES:
        return False
    return _POLICY_WORDS.search(_words_of(error)) is not None


def _words_of(error: GatewayError) -> str:
    return f"{error.message} {error.raw or ''}"[:_READ_CHARS]


def _shown(error: GatewayError, exchange: Exchange) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "status": error.status,
        "message": error.message[:300],
        "error_type": error.error_type,
        "provider": error.provider_name,
        "retry_after": error.retry_after,
        "ended_ms": exchange.ended_ms,
    }
    return {key: value for key, value in shown.items() if value is not None}
