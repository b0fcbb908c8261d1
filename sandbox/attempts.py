"""From a request to a turn: the model fallbacks, the routing, and one upstream after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandbox.answers import Scene, healthy
from sandbox.chat_request import ChatRequest
from sandbox.envelope import Attempted
from sandbox.failures import Failure, GatewayRefusal, refusal
from sandbox.faults import KINDS
from sandbox.scenario import Endpoint, Fault, Model
from sandbox.selection import select
from sandbox.state import SandboxState
from sandbox.turn import Opening, Turn


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """One endpoint that was asked, and what it does."""

    model: Model
    endpoint: Endpoint
    turn: Turn


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the router came to: the turn of the last upstream asked, or a refusal without any.

    `permaslug` is the model's dated name (the requested one where there is no such model), `available` are the
    endpoints that serve it for this account, `asked` everyone asked for any model. `failure` is what is answered
    in place of a turn; `last` is there even then, if an upstream caused it.
    """

    requested: str
    permaslug: str
    failure: Failure | None = None
    last: Upstream | None = None
    attempts: tuple[Attempted, ...] = ()
    asked: tuple[Upstream, ...] = ()
    available: tuple[Endpoint, ...] = ()


def route(state: SandboxState, request: ChatRequest) -> Outcome:
    """The outcome for the first model that answers; any error moves on to the next model."""
    outcome = _try_model(state, request, request.models[0])
    for name in request.models[1:]:
        if outcome.failure is None:
            break
        following = _try_model(state, request, name)
        outcome = replace(following, asked=(*outcome.asked, *following.asked))
    return outcome


def _try_model(state: SandboxState, request: ChatRequest, name: str) -> Outcome:
    found = state.find_model(name)
    if found is None:
        failure = refusal(400, f"{name} is not a valid model ID", with_user=True).failure
        return Outcome(requested=name, permaslug=name, failure=replace(failure, with_metadata=False))
    model, sort = found
    outcome = Outcome(requested=name, permaslug=model.permaslug, available=tuple(state.reachable(model)))
    try:
        candidates = select(model, outcome.available, request, sort=sort, rng=state.rng)
    except GatewayRefusal as refused:
        return replace(outcome, failure=refused.failure)
    return _try_endpoints(state, request, outcome, [(model, endpoint) for endpoint in candidates])


def _try_endpoints(
    state: SandboxState, request: ChatRequest, outcome: Outcome, candidates: Sequence[tuple[Model, Endpoint]]
) -> Outcome:
    """The outcome with the first candidate that does not fail before its answer; else with the last error."""
    asked: list[Upstream] = []
    attempts: list[Attempted] = []
    failed: list[Failure] = []
    waited_s = 0.0
    for model, endpoint in candidates:
        turn = perform(state, request, model, endpoint)
        turn = replace(turn, ttft_s=turn.ttft_s + waited_s)
        waited_s = turn.ttft_s
        failure = turn.failure if turn.opening is Opening.FAILURE and not turn.in_200 else None
        asked.append(Upstream(model=model, endpoint=endpoint, turn=turn))
        attempts.append(_attempted(turn, endpoint, model, failure))
        if failure is None:
            failed = []
            break
        failed.append(failure)
    last, failure = asked[-1], None
    if failed:
        failure = _summary(failed) if len(failed) > 1 else failed[0]
        last = replace(last, turn=replace(last.turn, failure=failure))
    return replace(outcome, failure=failure, last=last, attempts=tuple(attempts), asked=tuple(asked))


def _attempted(turn: Turn, endpoint: Endpoint, model: Model, failure: Failure | None) -> Attempted:
    shown = turn.shown_provider or endpoint.provider
    return Attempted(provider=shown, model=model.permaslug, status=failure.status if failure else 200)


def _summary(failed: Sequence[Failure]) -> Failure:
    """The last of several errors, with the earlier ones beside it and the shortest retry hint of all."""
    last = failed[-1]
    if isinstance(last.error, str) or last.page is not None:
        return last
    earlier = [failure.error for failure in failed[:-1]]
    metadata = {**last.error.get("metadata", {}), "previous_errors": earlier}
    hints = [failure.retry_after_s for failure in failed if failure.retry_after_s is not None]
    headers = tuple(pair for pair in last.headers if pair[0] != "Retry-After")
    if hints:
        headers = (*headers, ("Retry-After", f"{min(hints):g}"))
    return replace(last, error={**last.error, "metadata": metadata}, headers=headers)


def perform(state: SandboxState, request: ChatRequest, model: Model, endpoint: Endpoint) -> Turn:
    """What the endpoint does with the request now: a healthy turn, changed by each fault that strikes."""
    rng = state.upstream_rng(model, endpoint)
    scene = Scene(request=request, model=model, endpoint=endpoint, rng=rng, wall_s=state.timing.wall())
    turn = healthy(scene)
    for index, fault in enumerate(endpoint.faults):
        # Drawn whether or not the request is concerned, so that faults do not shift each other's draws.
        is_drawn = fault.probability >= 1 or rng.random() < fault.probability
        if is_drawn and _concerns(fault, scene, state.now_s) and state.may_strike(model, endpoint, index):
            kind = KINDS[fault.kind]
            turn = kind.apply(turn, scene, kind.filled(fault.params))
            turn = replace(turn, applied=(*turn.applied, fault.kind))
    return turn


def _concerns(fault: Fault, scene: Scene, now_s: float) -> bool:
    is_asked = scene.request.is_asked(fault.when) and fault.window.contains(now_s)
    return is_asked and (not fault.languages or scene.language in fault.languages)
