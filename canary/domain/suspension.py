"""From scored rounds to decisions: suspend, refuse, recover, renew, end (rules C12-C20).

`apply_round`, `advance`, `switch_mode`, `lift` and `review` take a model's state and return the next one with
the decisions taken, in the order in which they were taken. They are pure: live enforcement, backtests
and simulations call the same functions.
"""

from dataclasses import replace
from datetime import datetime

from canary.domain.capacity import EndpointState, ModelState, Rung
from canary.domain.decision import Decision, Outcome, RoundFacts
from canary.domain.policy import Policy
from canary.domain.scoring import Result, clear_streak, effective_verdicts, restart_streak
from canary.domain.transition import Transition, silence_at
from canary.domain.verdicts import Contract
from incidents.domain.actions import Action
from routing.domain.modes import Mode


def apply_round(state: ModelState, facts: RoundFacts, policy: Policy) -> Outcome:
    """Take a closed round into account: discovery and reachability always, scoring when it counts (C12)."""
    before = advance(state, facts.at, policy)
    work = Transition(before.state, policy, facts.at)
    work.decisions.extend(before.decisions)
    work.note_discovery(facts)
    verdicts = None
    results: dict[str, Result] = {}
    is_scored = is_round_scored(work.state, facts, policy)
    if is_scored:
        verdicts = effective_verdicts(facts.endpoints, policy)
        results = work.score(facts, verdicts)
        work.recover()
        work.suspend(results)
    work.note_capacity()
    work.note_blindness(facts, results, is_scored=is_scored)
    return Outcome(
        state=work.state,
        decisions=tuple(work.decisions),
        is_scored=is_scored,
        results=results,
        verdicts=verdicts,
    )


def is_round_scored(state: ModelState, facts: RoundFacts, policy: Policy) -> bool:
    """C12, C3: not by hand, not on our side, not too soon after the last scored round; not in mode off."""
    if facts.is_manual or facts.is_our_side or state.mode is Mode.OFF:
        return False
    return state.last_scored_at is None or facts.at - state.last_scored_at >= policy.shortest_gap


def advance(state: ModelState, now: datetime, policy: Policy) -> Outcome:
    """Let time pass up to and including `now`: suspensions end or renew (C16), silence makes blind (C20)."""
    decisions: list[Decision] = []
    while (moment := _next_moment(state, now, policy)) is not None:
        work = Transition(state, policy, moment)
        work.end_suspensions()
        if moment < now:  # a round that starts at this very moment is in time
            work.note_silence()
        state = work.state
        decisions.extend(work.decisions)
    return Outcome(state=state, decisions=tuple(decisions))


def _next_moment(state: ModelState, now: datetime, policy: Policy) -> datetime | None:
    """The earliest moment not after `now` at which something happens by itself."""
    moments = [
        endpoint.suspension.until
        for endpoint in state.endpoints.values()
        if endpoint.suspension is not None and endpoint.suspension.until <= now
    ]
    silence = silence_at(state, policy)
    if silence is not None and silence < now:
        moments.append(silence)
    return min(moments, default=None)


def switch_mode(state: ModelState, mode: Mode, policy: Policy, *, at: datetime) -> Outcome:
    """Switch the mode (C17): every streak restarts at zero, what is active ends and is not revived."""
    before = advance(state, at, policy)
    if mode is state.mode:
        return before
    work = Transition(before.state, policy, at)
    for tag, endpoint in sorted(work.state.endpoints.items()):
        if endpoint.suspension is not None:
            reason = f"Ended by the switch from {state.mode} to {mode} (C17)."
            work.end(endpoint, Action.EXPIRE, "C16", reason)
        work.put(replace(work.state.endpoints[tag], standing=clear_streak(endpoint.standing)))
    work.state = _in_mode(work.state, mode, at)
    return Outcome(state=work.state, decisions=before.decisions + tuple(work.decisions))


def _in_mode(state: ModelState, mode: Mode, at: datetime) -> ModelState:
    """`state` in another mode. Off ends the model's episodes; from off, silence is counted from the switch on."""
    if mode is Mode.OFF:
        return replace(state, mode=mode, is_blind=False, is_below_floor=False, unscored_rounds=0)
    if state.mode is Mode.OFF and state.last_finished_at is not None:
        return replace(state, mode=mode, last_finished_at=at)
    return replace(state, mode=mode)


def observe_contracts(
    state: ModelState, contracts: frozenset[Contract], policy: Policy, *, at: datetime
) -> Outcome:
    """Set which contracts are in a lower mode than the model: a switch of mode like any other (C17).

    Every streak restarts; an enforced suspension whose culprits are all of such contracts ends.
    """
    before = advance(state, at, policy)
    if contracts == state.observed_contracts:
        return before
    work = Transition(before.state, policy, at)
    for tag, endpoint in sorted(work.state.endpoints.items()):
        culprits = [one for one in endpoint.standing.culprits if one.is_held]
        rests_on_them = culprits and all(one.pair.contract in contracts for one in culprits)
        if endpoint.suspension is not None and not endpoint.suspension.is_shadow and rests_on_them:
            work.end(
                endpoint,
                Action.EXPIRE,
                "C16",
                "Ended: the contracts it rests on are not enforced any more (C17).",
            )
        free = work.state.endpoints[tag]
        restart = restart_streak if free.suspension is not None else clear_streak
        work.put(replace(free, standing=restart(free.standing)))
    state = replace(work.state, observed_contracts=contracts)
    return Outcome(state=state, decisions=before.decisions + tuple(work.decisions))


def lift(  # noqa: PLR0913  what a person says when lifting
    state: ModelState,
    tag: str,
    policy: Policy,
    *,
    at: datetime,
    is_false_positive: bool,
    reason: str,
    not_before: datetime | None = None,
) -> Outcome:
    """Lift an active suspension or shadow by hand (C18); without one nothing changes."""
    before = advance(state, at, policy)
    endpoint = before.state.endpoints.get(tag)
    if endpoint is None or endpoint.suspension is None:
        return before
    work = Transition(before.state, policy, at)
    word = "a false positive" if is_false_positive else "not a false positive"
    work.end(
        endpoint,
        Action.LIFT,
        "C18",
        f"Lifted by hand as {word}: {reason}",
        is_false_positive=is_false_positive,
    )
    lifted = work.state.endpoints[tag]
    rungs = _judged(lifted.rungs, is_false_positive=True) if is_false_positive else lifted.rungs
    work.put(replace(lifted, standing=clear_streak(lifted.standing), rungs=rungs, not_before=not_before))
    return Outcome(state=work.state, decisions=before.decisions + tuple(work.decisions))


def review(
    state: ModelState, tag: str, policy: Policy, *, at: datetime, is_false_positive: bool, reason: str
) -> Outcome:
    """Take a person's judgement of the endpoint's latest suspension or shadow (C15, C17).

    An open one judged a false positive is lifted; a closed one only leaves (or re-enters) the ladder.
    """
    before = advance(state, at, policy)
    endpoint = before.state.endpoints.get(tag)
    if endpoint is None or not endpoint.rungs:
        return before
    if is_false_positive and endpoint.suspension is not None:
        lifted = lift(before.state, tag, policy, at=at, is_false_positive=True, reason=reason)
        return replace(lifted, decisions=before.decisions + lifted.decisions)
    judged = replace(endpoint, rungs=_judged(endpoint.rungs, is_false_positive=is_false_positive))
    return Outcome(state=with_endpoint(before.state, judged), decisions=before.decisions)


def _judged(rungs: tuple[Rung, ...], *, is_false_positive: bool) -> tuple[Rung, ...]:
    """`rungs` with the latest one marked."""
    return (*rungs[:-1], replace(rungs[-1], is_false_positive=is_false_positive))


def with_endpoint(state: ModelState, endpoint: EndpointState) -> ModelState:
    """`state` with one endpoint replaced."""
    return replace(state, endpoints={**state.endpoints, endpoint.tag: endpoint})
