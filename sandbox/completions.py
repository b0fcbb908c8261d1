"""POST /chat/completions: check, route, play, and write down what was served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sandbox.answers import random_id
from sandbox.attempts import Outcome, Upstream, route
from sandbox.chat_request import ChatRequest, read
from sandbox.delivery import Delivery
from sandbox.envelope import Envelope, Metadata, router_metadata
from sandbox.exchange import ClientGone, Exchange
from sandbox.failures import all_ignored
from sandbox.gateway_faults import limit_rate, stand_in_the_way
from sandbox.generations import generation_body
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
    has_generation = turn.opening is Opening.ANSWER
    state.record(served, _generation(state, conversation, upstream, ending) if has_generation else None)


def _generation(
    state: SandboxState, conversation: Conversation, upstream: Upstream, ending: str
) -> dict[str, Any]:
    """What /generation will say of the answer."""
    return generation_body(
        conversation.envelope,
        upstream.turn,
        conversation.outcome.attempts,
        generation_time_ms=round((state.timing.clock() - conversation.started_s) * 1000),
        facts={
            "cancelled": ending == "cancelled",
            "request_id": conversation.request_id or None,
            "service_tier": conversation.request.service_tier,
            "streamed": conversation.request.stream,
        },
    )
