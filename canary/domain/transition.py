"""One step of a model's state: the decisions of rules C12-C20, each taken on the state the last one left.

Used by `canary.domain.suspension` only. A step is mutable while it is taken and thrown away after; what goes in
and what comes out is frozen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from canary.domain.capacity import (
    EndpointState,
    Held,
    ModelState,
    Rung,
    is_floor_kept,
    is_share_kept,
    next_level,
    production_providers,
    taken_along,
)
from canary.domain.decision import Decision, RoundFacts
from canary.domain.policy import Policy
from canary.domain.scoring import (
    DRY_ROUNDS_TO_RELEASE,
    SILENT_ROUNDS_TO_UNREACHABLE,
    EndpointFacts,
    Pair,
    Result,
    RoundVerdicts,
    Scored,
    Standing,
    clear_streak,
    is_liable,
    note_reachability,
    restart_streak,
    score_endpoint,
)
from incidents.domain.actions import Action
from routing.domain.modes import Mode

# Decisions that ask what would be left in production without their endpoint.
ASKING = frozenset({Action.SUSPEND, Action.RENEW, Action.REFUSE, Action.PROTECT})
# Rule C20: rounds (or intervals) in a row without which a model is blind.
BLIND_ROUNDS = 3


def silence_at(state: ModelState, policy: Policy) -> datetime | None:
    """When the model turns blind if no round finishes before; None when it is blind, off or has no round."""
    if state.is_blind or state.mode is Mode.OFF or state.last_finished_at is None:
        return None
    return state.last_finished_at + timedelta(seconds=BLIND_ROUNDS * policy.interval_s)


def _suspension_reason(standing: Standing, action: Action, *, is_shadow: bool, level: int) -> str:
    names = ", ".join(str(pair) for pair in standing.streak_pairs) or "contracts that no longer apply"
    verb = "Would suspend" if is_shadow else ("Renewed" if action is Action.RENEW else "Suspended")
    return f"{verb}: failed {standing.failing} scored rounds in a row ({names}); level {level}."


def endpoints_by_urgency(endpoints: Iterable[EndpointState]) -> list[EndpointState]:
    """The order in which endpoints ask for a suspension: longest streak, most contracts failed, tag (C14)."""
    return sorted(
        endpoints,
        key=lambda endpoint: (
            -endpoint.standing.failing,
            -len(endpoint.standing.streak_contracts),
            endpoint.tag,
        ),
    )


class Transition:
    """One step being taken: the state so far and its decisions. Lives only inside one call."""

    def __init__(self, state: ModelState, policy: Policy, at: datetime) -> None:
        self.state = replace(state, endpoints=dict(state.endpoints))
        self.policy = policy
        self.at = at
        self.decisions: list[Decision] = []

    def put(self, endpoint: EndpointState) -> None:
        """Replace one endpoint (the mapping belongs to this step)."""
        self.state.endpoints[endpoint.tag] = endpoint  # type: ignore[index]

    def decide(
        self,
        action: Action,
        rule: str,
        reason: str,
        *,
        endpoint: str | None = None,
        pairs: tuple[Pair, ...] = (),
    ) -> None:
        """Record a decision about the model or an endpoint."""
        self._record(
            Decision(
                at=self.at,
                action=action,
                rule=rule,
                reason=reason,
                endpoint=endpoint,
                pairs=pairs,
                is_enforced=self.state.is_enforcing,
            )
        )

    def _record(self, decision: Decision) -> None:
        """Append a decision with what it rests on, before it changes anything."""
        counts_shadows = not self.state.is_enforcing
        asks = decision.endpoint if decision.action in ASKING else None
        left = frozenset(production_providers(self.state, counts_shadows=counts_shadows, without=asks))
        endpoint = self.state.endpoints.get(decision.endpoint or "")
        standing = endpoint.standing if endpoint else Standing()
        self.decisions.append(
            replace(
                decision,
                failing=standing.failing,
                clean=standing.clean,
                contracts=standing.streak_contracts,
                providers=left,
            )
        )

    def note_discovery(self, facts: RoundFacts) -> None:
        """Take over who serves; an endpoint that returns starts its streak anew (C1)."""
        seen = {item.tag: item for item in facts.endpoints if item.is_serving}
        for tag, endpoint in list(self.state.endpoints.items()):
            if tag not in seen and endpoint.is_serving:
                self.put(replace(endpoint, is_serving=False))
        for tag, item in seen.items():
            known = self.state.endpoints.get(tag)
            endpoint = known or self._new_endpoint(item)
            standing = endpoint.standing
            if known is not None and not known.is_serving:
                standing = restart_streak(standing)
            if not facts.is_our_side:
                standing = note_reachability(standing, item.verdicts)
            self.put(
                replace(
                    endpoint,
                    provider=item.provider,
                    is_serving=True,
                    in_other_tier=item.in_other_tier,
                    is_protected=item.is_protected,
                    is_admitted=item.is_admitted,
                    standing=standing,
                )
            )

    def _new_endpoint(self, item: EndpointFacts) -> EndpointState:
        return EndpointState(
            tag=item.tag, provider=item.provider, standing=Standing(has_answered=self.state.assumes_reachable)
        )

    def score(self, facts: RoundFacts, verdicts: RoundVerdicts) -> dict[str, Result]:
        """Score every serving endpoint; record what weakened or set aside a contract, and what is unsettled."""
        self.state = replace(self.state, last_scored_at=self.at)
        self._note_set_aside(verdicts)
        results = {}
        for item in sorted(facts.endpoints, key=lambda one: one.tag):
            if not item.is_serving:
                continue
            endpoint = self.state.endpoints[item.tag]
            scored = score_endpoint(
                endpoint.standing, item, verdicts.effective[item.tag], self.policy, at=self.at
            )
            results[item.tag] = scored.result
            self.put(replace(endpoint, standing=scored.standing))
            self._note_released(item.tag, scored)
        return results

    def _note_released(self, tag: str, scored: Scored) -> None:
        """Record the culprits that left without a pass: unsettled (C10), or of a contract that is gone (C11)."""
        for pair in scored.unsettled:
            reason = (
                f"{pair} gave no pass or fail in {DRY_ROUNDS_TO_RELEASE} scored rounds; it freezes no longer."
            )
            self.decide(Action.UNSETTLED, "C10", reason, endpoint=tag, pairs=(pair,))
        for pair in scored.not_applicable:
            reason = f"{pair} no longer applies to the endpoint."
            self.decide(Action.NOT_APPLICABLE, "C11", reason, endpoint=tag, pairs=(pair,))

    def _note_set_aside(self, verdicts: RoundVerdicts) -> None:
        if verdicts.controls_passed:
            names = ", ".join(sorted(verdicts.controls_passed))
            self.decide(
                Action.WEAKENED,
                "C6",
                f"The filtering probe no longer bites: control {names} passed; a pass proves nothing.",
            )
        for contract, (failed, conclusive) in verdicts.common.items():
            self.decide(
                Action.COMMON_CAUSE,
                "C13",
                f"{failed} of {conclusive} endpoints fail {contract} in one round: one cause is likelier; set aside.",
                pairs=(Pair(contract, None),),
            )

    def recover(self) -> None:
        """End suspensions whose endpoint was clean often enough in a row (C16)."""
        for tag in sorted(self.state.endpoints):
            endpoint = self.state.endpoints[tag]
            if endpoint.suspension is None or endpoint.standing.clean < self.policy.rounds_to_recover:
                continue
            reason = f"{endpoint.standing.clean} clean rounds in a row, every culprit passed."
            self.end(endpoint, Action.RECOVER, "C16", reason)
            self.put(replace(self.state.endpoints[tag], standing=clear_streak(endpoint.standing)))

    def suspend(self, results: Mapping[str, Result]) -> None:
        """Ask for a suspension for every liable endpoint that failed in this round (C12, C14)."""
        for endpoint in endpoints_by_urgency(self.state.endpoints.values()):
            if results.get(endpoint.tag) is not Result.FAILING or not is_liable(
                endpoint.standing, self.policy
            ):
                continue
            if endpoint.in_other_tier or self._is_out_already(endpoint):
                continue
            if self._is_refused(endpoint, Action.SUSPEND):
                continue
            if endpoint.suspension is not None:
                self.end(endpoint, Action.EXPIRE, "C16", "The shadow gives way to an enforced suspension.")
            self._start(self.state.endpoints[endpoint.tag], Action.SUSPEND, "C12")

    def _is_out_already(self, endpoint: EndpointState) -> bool:
        """Suspended as far as it can be: a shadow does not stand in the way of an enforced suspension."""
        held = endpoint.suspension
        return held is not None and (not held.is_shadow or self._is_shadow(endpoint))

    def _is_shadow(self, endpoint: EndpointState) -> bool:
        """Whether a suspension made now would be a shadow: by mode, switch, or contracts in a lower mode."""
        if not self.state.is_enforcing:
            return True
        lower = self.state.observed_contracts
        return bool(lower) and any(failed <= lower for failed in endpoint.standing.recent_failed)

    def end_suspensions(self) -> None:
        """At their end: those that go free first, then those that ask for the next rung (C16)."""
        ending = [
            endpoint
            for endpoint in self.state.endpoints.values()
            if endpoint.suspension is not None and endpoint.suspension.until == self.at
        ]
        renewing = [endpoint for endpoint in ending if self._may_renew(endpoint)]
        for endpoint in sorted(ending, key=lambda one: one.tag):
            if endpoint not in renewing:
                self.end(endpoint, Action.EXPIRE, "C16", "The suspension reached its end.")
                self.put(
                    replace(self.state.endpoints[endpoint.tag], standing=clear_streak(endpoint.standing))
                )
        for endpoint in renewing:
            self.put(replace(endpoint, suspension=None))
        for endpoint in endpoints_by_urgency(renewing):
            self._renew(endpoint)

    def _may_renew(self, endpoint: EndpointState) -> bool:
        """Serving, in no other tier, its last scored rounds failed, the latest not too old (C16)."""
        standing = endpoint.standing
        is_fresh = (
            standing.last_result_at is not None
            and self.at - standing.last_result_at <= self.policy.longest_gap
        )
        return (
            endpoint.is_serving
            and not endpoint.in_other_tier
            and is_fresh
            and is_liable(standing, self.policy)
        )

    def _renew(self, endpoint: EndpointState) -> None:
        free = self.state.endpoints[endpoint.tag]
        if not self._is_refused(free, Action.RENEW):
            self._start(free, Action.RENEW, "C16")
            return
        self.end(endpoint, Action.EXPIRE, "C16", "The suspension reached its end; the next rung was refused.")

    def _is_refused(self, endpoint: EndpointState, wanted: Action) -> bool:
        """Whether something stands in the way of a suspension; recorded when so (C14, C18)."""
        obstacle = self._obstacle(endpoint, wanted)
        if obstacle is None:
            return False
        action, rule, why = obstacle
        reason = f"Failed {endpoint.standing.failing} scored rounds in a row: {why}"
        is_enforced = not self._is_shadow(endpoint)
        self._record(
            Decision(
                at=self.at,
                action=action,
                rule=rule,
                is_enforced=is_enforced,
                reason=reason,
                endpoint=endpoint.tag,
                pairs=endpoint.standing.streak_pairs,
            )
        )
        return True

    def _obstacle(self, endpoint: EndpointState, wanted: Action) -> tuple[Action, str, str] | None:
        """What forbids it: protection, a lift's time, the capacity floor or the share, in this order."""
        if endpoint.is_protected:
            return Action.PROTECT, "C14", "it is protected and stays in service."
        for other in sorted(taken_along(self.state, endpoint.tag)):
            if self.state.endpoints[other].is_protected and self.state.endpoints[other].is_serving:
                return Action.PROTECT, "C14", f"{other}, which would leave with it, is protected."
        if endpoint.not_before is not None and self.at < endpoint.not_before:
            return (
                Action.REFUSE,
                "C18",
                f"it was lifted, not again before {endpoint.not_before:%Y-%m-%d %H:%M} UTC.",
            )
        is_shadow = self._is_shadow(endpoint)
        if not is_floor_kept(self.state, endpoint.tag, self.policy, counts_shadows=is_shadow):
            left = len(production_providers(self.state, counts_shadows=is_shadow, without=endpoint.tag))
            rest = f"{left} distinct providers in production; the floor is {self.policy.floor}."
            return Action.REFUSE, "C14", f"to {wanted} it would leave {rest}"
        if not is_share_kept(self.state, endpoint.tag, self.policy, counts_shadows=is_shadow):
            share = f"more than {self.policy.max_share:.0%} of the serving providers."
            return Action.REFUSE, "C14", f"to {wanted} it would take out {share}"
        return None

    def _start(self, endpoint: EndpointState, action: Action, rule: str) -> None:
        """Begin a suspension or the next rung, at this step's time."""
        is_shadow = self._is_shadow(endpoint)
        level = next_level(endpoint.rungs, self.policy, at=self.at, is_shadow=is_shadow)
        until = self.at + timedelta(days=self.policy.ladder_days[level - 1])
        self._record(
            Decision(
                at=self.at,
                action=action,
                rule=rule,
                is_enforced=not is_shadow,
                reason=_suspension_reason(endpoint.standing, action, is_shadow=is_shadow, level=level),
                endpoint=endpoint.tag,
                level=level,
                until=until,
                pairs=endpoint.standing.streak_pairs,
            )
        )
        culprits = tuple(replace(one, is_held=True) for one in endpoint.standing.culprits if one.in_streak)
        self.put(
            replace(
                endpoint,
                suspension=Held(started_at=self.at, until=until, level=level, is_shadow=is_shadow),
                rungs=(*endpoint.rungs, Rung(started_at=self.at, level=level, is_shadow=is_shadow)),
                standing=replace(endpoint.standing, culprits=culprits),
            )
        )

    def end(
        self,
        endpoint: EndpointState,
        action: Action,
        rule: str,
        reason: str,
        *,
        is_false_positive: bool = False,
    ) -> None:
        """End the endpoint's suspension; its culprits are held no longer."""
        held = endpoint.suspension
        assert held is not None, "only a suspended endpoint can be freed"
        culprits = endpoint.standing.culprits
        self._record(
            Decision(
                at=self.at,
                action=action,
                rule=rule,
                is_enforced=not held.is_shadow,
                reason=reason,
                endpoint=endpoint.tag,
                pairs=tuple(one.pair for one in culprits if one.is_held),
                is_false_positive=is_false_positive,
            )
        )
        kept = tuple(replace(one, is_held=False) for one in culprits if one.in_streak)
        self.put(replace(endpoint, suspension=None, standing=replace(endpoint.standing, culprits=kept)))

    def note_capacity(self) -> None:
        """Tell, once an episode, that capacity fell below the floor by itself (C14)."""
        if self.state.mode is Mode.OFF:
            return
        count = len(production_providers(self.state, counts_shadows=not self.state.is_enforcing))
        is_below = count < self.policy.floor
        if is_below and not self.state.is_below_floor:
            self.decide(
                Action.BELOW_FLOOR,
                "C14",
                f"{count} distinct providers in production; the floor is {self.policy.floor}.",
            )
        self.state = replace(self.state, is_below_floor=is_below)

    def note_blindness(self, facts: RoundFacts, results: Mapping[str, Result], *, is_scored: bool) -> None:
        """Count rounds in which no endpoint was scored, and tell once an episode when the model is blind (C20)."""
        self.state = replace(self.state, last_finished_at=facts.finished_at or facts.at)
        if self.state.mode is Mode.OFF:
            return
        if is_scored or facts.is_our_side:
            was_any = any(result is not Result.FROZEN for result in results.values())
            self.state = replace(self.state, unscored_rounds=0 if was_any else self.state.unscored_rounds + 1)
        reason = (
            "The day's budget is used up: nothing is asked." if facts.is_exhausted else self._blind_reason()
        )
        if reason and not self.state.is_blind:
            self.decide(Action.BLIND, "C20", reason)
        self.state = replace(self.state, is_blind=bool(reason))

    def _blind_reason(self) -> str:
        if self.state.unscored_rounds >= BLIND_ROUNDS:
            return f"No endpoint was scored in {self.state.unscored_rounds} rounds in a row."
        for tag, endpoint in sorted(self.state.endpoints.items()):
            is_silent = endpoint.standing.silent_rounds >= SILENT_ROUNDS_TO_UNREACHABLE
            if endpoint.suspension is not None and endpoint.is_serving and is_silent:
                return f"Suspended endpoint {tag} could not be probed for {endpoint.standing.silent_rounds} rounds."
        return ""

    def note_silence(self) -> None:
        """Tell that no round finished in 3 intervals (C20)."""
        if silence_at(self.state, self.policy) == self.at:
            self.decide(Action.BLIND, "C20", f"No round finished in {BLIND_ROUNDS} intervals.")
            self.state = replace(self.state, is_blind=True)
