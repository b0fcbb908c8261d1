"""Lanes of one provider, versions of one probe: what a name and a culprit stand for (Terms, C11, C14, C17, C19)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from canary.domain import suspension
from canary.domain.capacity import EndpointState, ModelState, is_floor_kept, taken_along
from canary.domain.decision import Outcome, RoundFacts
from canary.domain.policy import Policy
from canary.domain.scoring import EndpointFacts, Result, Standing
from canary.domain.verdicts import Contract, Verdict
from routing.domain.modes import Mode

START = datetime(2026, 5, 4, tzinfo=UTC)
POLICY = Policy()
LATENCY = Contract.LATENCY


def model(*tags: str) -> ModelState:
    lanes = {
        tag: EndpointState(tag=tag, provider=tag.partition("/")[0], standing=Standing(has_answered=True))
        for tag in tags
    }
    return ModelState(model="m", mode=Mode.ENFORCE, endpoints=lanes)


def play(
    state: ModelState, number: int, *, version: int = 1, exhausted: bool = False, **verdicts: Verdict
) -> Outcome:
    """Round `number`: endpoints named (`_` for `/`) get that latency verdict, the others pass."""
    given = {name.replace("_", "/"): verdict for name, verdict in verdicts.items()}
    facts = tuple(
        EndpointFacts(
            tag=tag, provider=one.provider, is_protected=one.is_protected, versions={LATENCY: version},
            verdicts={LATENCY: given.get(tag, Verdict.PASS)},
        )
        for tag, one in state.endpoints.items()
    )  # fmt: skip
    at = START + number * timedelta(minutes=30)
    return suspension.apply_round(state, RoundFacts(at=at, endpoints=facts, is_exhausted=exhausted), POLICY)


def test_a_tag_that_is_a_base_slug_takes_the_providers_other_lanes_along() -> None:
    state = model("fireworks", "fireworks/fast", "fireworks/flex", "other/fp8")
    assert taken_along(state, "fireworks") == {"fireworks/fast"}, "service tiers are not matched"
    assert taken_along(state, "fireworks/fast") == set()


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        pytest.param("fireworks", False, id="the base slug takes the fast lane along: one provider is left"),
        pytest.param("fireworks/fast", True, id="a full tag takes only itself"),
    ],
)
def test_the_floor_reads_names_as_the_gateway_does(tag: str, kept: bool) -> None:
    state = model("fireworks", "fireworks/fast", "other/fp8")
    assert is_floor_kept(state, tag, POLICY, counts_shadows=False) is kept


def test_a_protected_lane_protects_the_one_that_would_take_it_along() -> None:
    state = model("fireworks", "fireworks/fast", "a", "b", "c")
    state = suspension.with_endpoint(state, replace(state.endpoints["fireworks/fast"], is_protected=True))
    for number in (0, 1):
        outcome = play(state, number, fireworks=Verdict.FAIL)
        state = outcome.state
    assert [(str(one.action), one.endpoint) for one in outcome.decisions] == [("protect", "fireworks")]


@pytest.mark.parametrize(
    ("version", "result"),
    [
        pytest.param(1, Result.FROZEN, id="the same version: the culprit did not pass"),
        pytest.param(2, Result.FROZEN, id="a new version: the culprit has left, nothing passed"),
    ],
)
def test_an_inconclusive_round_is_frozen_in_either_version(version: int, result: Result) -> None:
    state = play(model("x", "a", "b"), 0, x=Verdict.FAIL).state
    assert play(state, 1, version=version, x=Verdict.INCONCLUSIVE).results["x"] is result


@pytest.mark.parametrize(("version", "left"), [pytest.param(1, 0, id="same"), pytest.param(2, 1, id="new")])
def test_a_new_probe_version_leaves_the_culprits_and_is_logged(version: int, left: int) -> None:
    state = play(model("x", "a", "b"), 0, x=Verdict.FAIL).state
    outcome = play(state, 1, version=version, x=Verdict.INCONCLUSIVE)
    gone = [one for one in outcome.decisions if one.action == "not_applicable"]
    assert len(gone) == left
    assert len(outcome.state.endpoints["x"].standing.culprits) == 1 - left


def test_a_decision_keeps_the_streak_and_the_capacity_it_was_taken_on() -> None:
    state = model("x", "a", "b")
    for number in (0, 1):
        outcome = play(state, number, x=Verdict.FAIL)
        state = outcome.state
    (suspended,) = outcome.decisions
    assert (suspended.failing, suspended.contracts, suspended.providers) == (
        2,
        frozenset({LATENCY}),
        frozenset({"a", "b"}),
    )
    for number in (2, 3):
        outcome = play(state, number)
        state = outcome.state
    (recovered,) = outcome.decisions
    assert (recovered.clean, [pair.contract for pair in recovered.pairs]) == (2, [LATENCY])


def test_an_exhausted_budget_is_blind_at_once_and_told_once() -> None:
    state = model("x", "a", "b")
    told = []
    for number in (0, 1):
        outcome = play(state, number, exhausted=True)
        state = outcome.state
        told += [str(one.action) for one in outcome.decisions]
    assert told == ["blind"]
    assert play(state, 2).state.is_blind is False


@pytest.mark.parametrize(
    ("contracts", "ended"),
    [
        pytest.param({Contract.LATENCY}, True, id="the contract it rests on"),
        pytest.param({Contract.LANGUAGE}, False, id="another contract"),
    ],
)
def test_a_contract_in_a_lower_mode_ends_what_rests_on_it_alone(
    contracts: set[Contract], ended: bool
) -> None:
    state = model("x", "a", "b")
    for number in (0, 1):
        state = play(state, number, x=Verdict.FAIL).state
    at = START + timedelta(hours=2)
    outcome = suspension.observe_contracts(state, frozenset(contracts), POLICY, at=at)
    assert (outcome.state.endpoints["x"].suspension is None) is ended
    assert [str(one.action) for one in outcome.decisions if one.at == at] == (["expire"] if ended else [])
    assert outcome.state.endpoints["x"].standing.failing == 0
    assert suspension.observe_contracts(outcome.state, frozenset(contracts), POLICY, at=at).decisions == ()
