"""C17 and C18: switches of mode, reviews and lifts by hand."""

from dataclasses import replace

import pytest

from canary.domain.scoring import Result
from canary.domain.verdicts import Contract
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, HEALTHY, Run, run

A_AND_B = dict.fromkeys(HEALTHY, "L+")
OFF, OBSERVE, ENFORCE = Mode.OFF, Mode.OBSERVE, Mode.ENFORCE
SWITCHES = pytest.mark.parametrize(
    ("before", "after"),
    [(OBSERVE, ENFORCE), (ENFORCE, OBSERVE), (ENFORCE, OFF), (OBSERVE, OFF)],
    ids=str,
)


def suspended(mode: Mode = ENFORCE) -> Run:
    return run(mode=mode).rounds("x L- L-")


@SWITCHES
def test_a_switch_of_mode_ends_suspensions_and_shadows_as_expire(before: Mode, after: Mode) -> None:
    model = suspended(before)
    assert model.switch(1.5, after) == ["1.5 expire x"]
    assert model.decisions[-1].rule == "C16"
    assert model.endpoint("x").suspension is None


@SWITCHES
def test_a_switch_of_mode_restarts_every_streak_at_zero(before: Mode, after: Mode) -> None:
    model = run(mode=before).rounds("x L-")
    model.switch(0.5, after)
    if after is OFF:
        model.switch(0.6, ENFORCE)
    model.round(1, A_AND_B | {"x": "L-"})
    assert model.about("x") == []
    model.round(2, A_AND_B | {"x": "L-"})
    assert model.about("x") == ["2 suspend x"]


def test_a_switch_of_mode_clears_the_culprits() -> None:
    model = run().rounds("x L-,S+")
    model.switch(0.5, OBSERVE)
    assert model.round(1, A_AND_B | {"x": "L?,S+"}).results["x"] is Result.CLEAN


def test_a_switch_to_the_present_mode_is_no_switch() -> None:
    model = suspended()
    assert model.switch(1.5, ENFORCE) == []
    assert model.endpoint("x").suspension is not None


def test_suspensions_are_not_revived_by_switching_back() -> None:
    model = suspended()
    model.switch(1.2, OBSERVE)
    assert model.switch(1.4, ENFORCE) == []
    assert model.endpoint("x").suspension is None


def test_suspensions_that_a_switch_ended_stay_on_the_ladder() -> None:
    model = suspended()
    model.switch(1.2, OFF)
    model.switch(1.4, ENFORCE)
    assert model.rounds("x L- L-", since=2).decisions[-1].level == 2


def test_shadows_are_not_on_the_ladder_of_enforced_suspensions() -> None:
    model = suspended(OBSERVE)
    model.switch(1.5, ENFORCE)
    first = model.rounds("x L- L-", since=2).decisions[-1]
    assert (first.level, first.is_enforced) == (1, True)
    model.switch(3.5, OBSERVE)
    second = model.rounds("x L- L-", since=4).decisions[-1]
    assert (second.level, second.is_enforced) == (2, False)


def test_a_switch_at_the_end_of_a_suspension_comes_after_the_end() -> None:
    model = suspended()
    assert model.switch(1 + DAY, OBSERVE) == ["4 blind", f"{1 + DAY} expire x"]
    assert "switch" not in model.decisions[-1].reason


def test_observe_runs_with_floor_and_order_as_if_shadows_were_real() -> None:
    history = """
        x  L-        L-        L-
        y  L-,S-     L-,S-     L-,S-
    """
    said = {mode: run(mode=mode).rounds(history, healthy=("a",)).said for mode in (OBSERVE, ENFORCE)}
    assert said[OBSERVE] == said[ENFORCE] == ["1 suspend y", "1 refuse x", "2 refuse x"]


def test_observe_never_enforces_and_enforce_does() -> None:
    for mode in (OBSERVE, ENFORCE):
        decided = run(mode=mode).rounds("x L- L- L+ L+").decisions
        assert [one.is_enforced for one in decided] == [mode is ENFORCE] * 2


def test_while_enforcement_is_stopped_decisions_go_on_as_shadows() -> None:
    model = run()
    model.state = replace(model.state, is_stopped=True)
    model.rounds("x L- L-")
    assert model.about("x") == ["1 suspend x"]
    assert [one.is_enforced for one in model.decisions] == [False]
    held = model.endpoint("x").suspension
    assert held is not None
    assert held.is_shadow


@pytest.mark.parametrize(
    ("history", "is_enforced"),
    [
        pytest.param("S-,L+ S-,L+", False, id="the observed contract alone"),
        pytest.param("L-,S+ L-,S+", True, id="the enforced contract"),
    ],
)
def test_a_contract_in_a_lower_mode_than_its_model_makes_shadows(history: str, is_enforced: bool) -> None:
    model = run()
    model.state = replace(model.state, observed_contracts=frozenset({Contract.STRUCTURED_OUTPUT}))
    model.rounds(f"x {history}")
    assert [(str(one.action), one.is_enforced) for one in model.decisions] == [("suspend", is_enforced)]


def test_the_shadow_of_an_observed_contract_leaves_the_endpoint_in_production() -> None:
    model = run()
    model.state = replace(model.state, observed_contracts=frozenset({Contract.STRUCTURED_OUTPUT}))
    model.rounds("""
        x  S-,L+  S-,L+  S-,L+  S-,L+
        y  L+     L+     L-     L-
    """, healthy=("a",))  # fmt: skip
    assert model.said == ["1 suspend x", "3 suspend y"]


@pytest.mark.parametrize("mode", [ENFORCE, OBSERVE])
def test_a_lift_ends_a_suspension_or_shadow_and_says_why(mode: Mode) -> None:
    model = suspended(mode)
    assert model.lift(1.5, "x") == ["1.5 lift x"]
    lifted = model.decisions[-1]
    assert (lifted.rule, lifted.is_enforced) == ("C18", mode is ENFORCE)
    assert "looked fine" in lifted.reason
    assert model.endpoint("x").suspension is None


def test_a_lift_clears_streak_and_culprits() -> None:
    model = run().rounds("x L-,S+ L-,S+")
    model.lift(1.5, "x")
    assert model.round(2, A_AND_B | {"x": "L?,S+"}).results["x"] is Result.CLEAN
    model.rounds("x L- L! L-", since=3)
    assert model.about("x")[2:] == ["5 suspend x"]


def test_a_lift_of_what_is_not_suspended_changes_nothing() -> None:
    model = run().rounds("x L-")
    assert (model.lift(0.5, "x"), model.lift(0.5, "nobody")) == ([], [])
    model.round(1, A_AND_B | {"x": "L-"})
    assert model.about("x") == ["1 suspend x"]


def test_a_lift_at_the_end_of_a_suspension_comes_too_late() -> None:
    model = suspended()
    model.quietly(1 + DAY, A_AND_B | {"x": "L?"}, since=2)
    assert model.lift(1 + DAY, "x") == [f"{1 + DAY} expire x"]


@pytest.mark.parametrize(
    ("not_before", "decided"),
    [
        pytest.param(5.001, ["1.5 lift x", "6 suspend x"], id="until after the round"),
        pytest.param(5, ["1.5 lift x", "5 suspend x"], id="until the round"),
    ],
)
def test_a_lift_can_say_not_again_before_a_time(not_before: float, decided: list[str]) -> None:
    model = suspended()
    model.lift(1.5, "x", not_before=not_before)
    model.rounds("x L! L! L- L- L-", since=2)
    suspensions = [line for line in model.about("x")[1:] if "refuse" not in line]
    assert suspensions == decided


@pytest.mark.parametrize("mode", [ENFORCE, OBSERVE])
def test_judging_an_open_one_a_false_positive_lifts_it(mode: Mode) -> None:
    model = suspended(mode)
    assert model.review(1.5, "x", is_false_positive=True) == ["1.5 lift x"]
    lifted = model.decisions[-1]
    assert (lifted.rule, lifted.is_false_positive, lifted.is_enforced) == ("C18", True, mode is ENFORCE)
    model.round(2, A_AND_B | {"x": "L-"})
    assert model.about("x") == ["1 suspend x", "1.5 lift x"]
    model.round(3, A_AND_B | {"x": "L-"})
    assert model.decisions[-1].level == 1


def test_judging_an_open_one_correct_or_unclear_changes_nothing() -> None:
    model = suspended()
    before = model.endpoint("x")
    assert model.review(1.5, "x", is_false_positive=False) == []
    assert model.endpoint("x") == before


def test_a_judgement_is_about_the_latest_suspension() -> None:
    model = run().rounds("x L- L- L+ L+ L- L- L+ L+")
    model.review(8, "x", is_false_positive=True)
    assert model.rounds("x L- L-", since=9).decisions[-1].level == 2


def test_a_judgement_can_be_corrected() -> None:
    model = run().rounds("x L- L- L+ L+")
    model.review(4, "x", is_false_positive=True)
    model.review(4, "x", is_false_positive=False)
    assert model.rounds("x L- L-", since=5).decisions[-1].level == 2


def test_a_judgement_about_an_endpoint_without_suspensions_changes_nothing() -> None:
    model = run().rounds("x L-")
    assert (
        model.review(0.5, "x", is_false_positive=True),
        model.review(0.5, "no", is_false_positive=True),
    ) == ([], [])
    assert model.rounds("x L-", since=1).about("x") == ["1 suspend x"]


def test_judging_a_shadow_does_not_touch_the_ladder_of_enforced_ones() -> None:
    model = run().rounds("x L- L- L+ L+")
    model.switch(4, OBSERVE)
    model.rounds("x L- L-", since=5)
    model.review(6.5, "x", is_false_positive=True)
    model.switch(7, ENFORCE)
    assert model.rounds("x L- L-", since=8).decisions[-1].level == 2


def observed() -> Run:
    """An enforcing model whose structured output is only observed."""
    model = run()
    model.state = replace(model.state, observed_contracts=frozenset({Contract.STRUCTURED_OUTPUT}))
    return model


def test_the_refusal_of_a_shadow_is_not_enforced() -> None:
    model = observed().rounds("x S-,L+ S-,L+", healthy=("a",))
    assert [one.is_enforced for one in model.decisions if one.action == "refuse"] == [False]


def test_an_enforced_suspension_takes_the_place_of_a_shadow() -> None:
    model = observed().rounds("x S-,L+ S-,L+ S+,L- S+,L-")
    assert [(str(one.action), one.is_enforced) for one in model.decisions] == [
        ("suspend", False),
        ("expire", False),
        ("suspend", True),
    ]


def test_a_shadow_stays_when_the_enforced_suspension_is_refused() -> None:
    model = observed().rounds("x S-,L+ S-,L+")
    model.rounds("x S+,L- S+,L-", since=2, healthy=("a",))
    assert model.about("x") == ["1 suspend x", "3 refuse x"]
    assert model.endpoint("x").suspension is not None
