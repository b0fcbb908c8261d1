"""POST /chat/completions: check, route, play, and write down what was served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sandbox.answers import random_id
from sandbox.attempts import Outcome, Upstream, route
from sandbox.chat_request import ChatRequest, read
from sandbox.delivery import Delivery
from sandbox.envelope import Envelope, Metadata, router_metadata
from sandbox.exchange import ClientGone, Exchange
from sandbox.failures import all_ignored
from sandbox.gateway_faults import limit_rate, stand_in_the_way
from sandbox.keys import paying_key
from sandbox.preferences import Preferences
from sandbox.state import SandboxState, Served
from sandbox.turn import Ending, Opening, Turn


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """One inference request under way; `number` is the running number of the upstream request."""

    request: ChatRequest
    outcome: Outcome
    envelope: Envelope
    request_id: str
    started_s: float
    number: int


async def complete(state: SandboxState, exchange: Exchange) -> None:
    """Serve one completion. Raises GatewayRefusal for what fails before routing, ClientGone when the caller left."""
    await stand_in_the_way(state, exchange)
    paying_key(state, exchange)
    request = read(await exchange.body(), markers=state.scenario.gateway.role_play_markers)
    limit_rate(state)
    if state.gateway_fault("ignores_pins") is not None:
        request = replace(request, preferences=Preferences())
    if state.gateway_fault("all_ignored") is not None and request.preferences.ignore:
        raise all_ignored()
    conversation = _begin(state, exchange, request)
    keep_alive_s = state.scenario.gateway.keep_alive_s
    delivery = Delivery(
        exchange, conversation.envelope, started_s=conversation.started_s, keep_alive_s=keep_alive_s
    )
    outcome = conversation.outcome
    if outcome.last is not None:
        await _play(state, delivery, conversation, outcome.last)
    elif outcome.failure is not None:
        state.refusals[outcome.failure.status] += 1
        await delivery.fail(outcome.failure)


def _begin(state: SandboxState, exchange: Exchange, request: ChatRequest) -> Conversation:
    """Route, make the answer's ids, and count every upstream that was asked."""
    started_s = state.timing.clock()
    outcome = route(state, request)
    _count(state, outcome, request)
    shown = outcome.last.turn.shown_provider if outcome.last is not None else None
    wants_metadata = exchange.headers.get("x-openrouter-metadata", "").lower() == "enabled"
    is_attributed = outcome.last is None or shown is not None
    created = int(state.timing.wall())
    envelope = Envelope(
        id=f"gen-{created}-{random_id(state.rng, 20)}",
        created=created,
        model=outcome.permaslug,
        provider=shown,
        metadata=_metadata(state, outcome) if wants_metadata and is_attributed else None,
    )
    return Conversation(
        request=request,
        outcome=outcome,
        envelope=envelope,
        request_id=exchange.headers.get("x-request-id", exchange.headers.get("idempotency-key", "")),
        started_s=started_s,
        number=state.next_number() if outcome.last is not None else 0,
    )


def _metadata(state: SandboxState, outcome: Outcome) -> Metadata:
    return router_metadata(
        outcome.requested,
        [(endpoint.provider, outcome.permaslug) for endpoint in outcome.available],
        region=state.scenario.gateway.region,
        selected=_selected(outcome),
        attempts=outcome.attempts,
    )


def _selected(outcome: Outcome) -> int | None:
    """The place among the available endpoints of the one that is said to have answered."""
    if outcome.last is None or outcome.failure is not None:
        return None
    shown, upstream = outcome.last.turn.shown_provider, outcome.last.endpoint
    for place, endpoint in enumerate(outcome.available):
        if endpoint.tag == upstream.tag if shown == upstream.provider else endpoint.provider == shown:
            return place
    return None


def _count(state: SandboxState, outcome: Outcome, request: ChatRequest) -> None:
    """Count each upstream that was asked; all but the one still to answer have failed by then."""
    for upstream in outcome.asked:
        count = state.count(upstream.model.id, upstream.endpoint.tag)
        count.requests += 1
        count.streamed += request.stream
        count.kinds[request.kind.value] += 1
        count.languages[request.language] += 1
        count.faults.update(upstream.turn.applied)
    for upstream in outcome.asked[:-1] if outcome.last is not None else outcome.asked:
        state.count(upstream.model.id, upstream.endpoint.tag).failed += 1


async def _play(
    state: SandboxState, delivery: Delivery, conversation: Conversation, upstream: Upstream
) -> None:
    """Play the last upstream's turn and record how it ended, whatever happens."""
    turn = upstream.turn
    count = state.count(upstream.model.id, upstream.endpoint.tag)
    count.in_flight += 1
    ending = "cancelled"
    try:
        await delivery.play(turn, stream=conversation.request.stream)
        ending = "failed" if turn.failure is not None else "completed"
    except ConnectionResetError:
        ending = "failed"
        raise
    except ClientGone:
        ending = "failed" if _hangs_up(turn) else "cancelled"
        raise
    finally:
        count.in_flight -= 1
        setattr(count, ending, getattr(count, ending) + 1)
        _record(state, conversation, upstream, ending)


def _hangs_up(turn: Turn) -> bool:
    """Whether it is the script that drops the connection, not the caller."""
    return turn.opening in (Opening.RESET, Opening.CLOSED) or turn.ending in (Ending.HANG_UP, Ending.RESET)


def _record(state: SandboxState, conversation: Conversation, upstream: Upstream, ending: str) -> None:
    """Write the log line and the generation. What failed before its answer costs nothing."""
    request, failure, turn = conversation.request, conversation.outcome.failure, upstream.turn
    cost_usd = 0.0 if turn.opening is not Opening.ANSWER else turn.usage.cost
    state.count(upstream.model.id, upstream.endpoint.tag).cost_usd += cost_usd
    served = Served(
        number=conversation.number,
        at_s=round(conversation.started_s - state.started_s, 3),
        model=upstream.model.id,
        tag=upstream.endpoint.tag,
        kind=request.kind.value,
        language=request.language,
        stream=request.stream,
        faults=turn.applied,
        outcome=ending,
        status=failure.status if failure is not None else 200,
        generation_id=conversation.envelope.id,
        request_id=conversation.request_id,
        cost_usd=cost_usd,
    )
    generation = _generation(state, conversation, turn, ending) if turn.opening is Opening.ANSWER else None
    state.record(served, generation)


def _generation(state: SandboxState, conversation: Conversation, turn: Turn, ending: str) -> dict[str, Any]:
    """What /generation says of the answer afterwards; times in milliseconds."""
    request, envelope, usage = conversation.request, conversation.envelope, turn.usage
    took_ms = round((state.timing.clock() - conversation.started_s) * 1000)
    latency_ms = round(turn.ttft_s * 1000)
    return {
        "id": envelope.id,
        "api_type": "completions",
        "app_id": None,
        "cache_discount": None,
        "cancelled": ending == "cancelled",
        "created_at": datetime.fromtimestamp(envelope.created, UTC).isoformat(),
        "data_region": "global",
        "external_user": None,
        "finish_reason": turn.finish,
        "generation_time": took_ms,
        "http_referer": None,
        "is_byok": False,
        "latency": latency_ms,
        "model": envelope.model,
        "moderation_latency": None,
        "native_finish_reason": turn.native_finish,
        "native_tokens_cached": 0,
        "native_tokens_completion": usage.completion_tokens,
        "native_tokens_completion_images": 0,
        "native_tokens_prompt": usage.prompt_tokens,
        "native_tokens_reasoning": usage.reasoning_tokens,
        "num_fetches": 0,
        "num_input_audio_prompt": 0,
        "num_media_completion": 0,
        "num_media_prompt": 0,
        "num_search_results": 0,
        "origin": "",
        "preset_id": None,
        "provider_name": envelope.provider,
        "provider_responses": [
            {
                "provider_name": attempt.provider,
                "status": attempt.status,
                "latency": latency_ms,
                "endpoint_id": None,
                "id": None,
                "is_byok": False,
                "model_permaslug": attempt.model,
            }
            for attempt in conversation.outcome.attempts
        ],
        "request_id": conversation.request_id or None,
        "router": None,
        "service_tier": request.service_tier,
        "session_id": None,
        "streamed": request.stream,
        "tokens_completion": usage.completion_tokens,
        "tokens_prompt": usage.prompt_tokens,
        "total_cost": round(usage.cost, 9),
        "upstream_id": None,
        "upstream_inference_cost": round(usage.cost, 9),
        "usage": round(usage.cost, 9),
        "user_agent": None,
        "web_search_engine": None,
    }
