"""C20: when nothing can be told about a model, it is said, once an episode."""

from dataclasses import replace

import pytest

from canary.domain import suspension
from canary.domain.decision import RoundFacts
from routing.domain.modes import Mode
from tests.canary.domain.builders import HEALTHY, Run, facts, moment, run

A_AND_B = dict.fromkeys(HEALTHY, "L+")


def alone(history: str, mode: Mode = Mode.ENFORCE) -> Run:
    """A model of three endpoints of which only the first ever says anything."""
    return run(mode=mode).rounds(f"""
        x  {history}
        y  {"L? " * len(history.split())}
        z  {"L? " * len(history.split())}
    """, healthy=())  # fmt: skip


@pytest.mark.parametrize(
    ("history", "told"),
    [
        pytest.param("L? L?", [], id="2 rounds"),
        pytest.param("L? L? L?", ["2 blind"], id="3 rounds"),
        pytest.param("L? L? L? L? L?", ["2 blind"], id="told once"),
        pytest.param("L? L? L+ L? L?", [], id="a clean one in between"),
        pytest.param("L? L? L- L? L?", [], id="a failing one in between"),
        pytest.param("L? L? L? L+ L? L? L?", ["2 blind", "6 blind"], id="a second episode"),
    ],
)
def test_3_rounds_in_a_row_in_which_no_endpoint_was_scored_are_blind(history: str, told: list[str]) -> None:
    assert alone(history).said == told


def test_rounds_stopped_on_our_own_side_score_nobody() -> None:
    model = run()
    for at in range(3):
        model.round(at, A_AND_B, is_our_side=True)
    assert model.said == ["2 blind"]


@pytest.mark.parametrize("kind", ["manual", "too soon"])
def test_rounds_that_count_for_nothing_do_not_make_a_model_blind(kind: str) -> None:
    model = run()
    model.round(0, A_AND_B)
    for index in range(1, 5):
        model.round(index / 10, A_AND_B, is_manual=kind == "manual")
    assert model.said == []


@pytest.mark.parametrize(
    ("pause", "told"),
    [
        pytest.param(2.999, [], id="less than 3 intervals"),
        pytest.param(3.001, ["3 blind"], id="more than 3 intervals"),
        pytest.param(500, ["3 blind"], id="told once however long"),
    ],
)
def test_no_round_in_3_intervals_is_blind_from_that_moment(pause: float, told: list[str]) -> None:
    model = run()
    model.round(0, A_AND_B)
    assert model.wait(pause) == told


def test_silence_is_counted_from_the_finish_of_the_last_round() -> None:
    model = run()
    closed = RoundFacts(at=moment(0), endpoints=(facts("a", "L+"), facts("b", "L+")), finished_at=moment(0.5))
    model.take(suspension.apply_round(model.state, closed, model.policy))
    assert model.wait(3.4) == []
    assert model.wait(3.6) == ["3.5 blind"]


def test_a_round_that_finishes_just_in_time_keeps_the_model_from_being_blind() -> None:
    model = run()
    model.round(0, A_AND_B)
    model.round(3, A_AND_B)
    assert model.said == []


def test_a_suspension_that_ends_just_then_does_not_make_the_model_blind() -> None:
    model = run().rounds("x L- L-").quietly(47, A_AND_B | {"x": "L?"}, since=2)
    assert model.decisions[-1].until is not None
    model.round(49, A_AND_B | {"x": "L?"})
    assert model.said == ["1 suspend x", "49 expire x"]


def test_the_silence_is_over_with_the_next_round_and_told_again_in_the_next_episode() -> None:
    model = run()
    for at in (0, 10, 20):
        model.round(at, A_AND_B)
    assert model.said == ["3 blind", "13 blind"]


def test_nothing_is_told_in_mode_off() -> None:
    model = alone("L? L? L? L?", Mode.OFF)
    for at in range(4, 8):
        model.round(at, A_AND_B, is_our_side=True)
    model.wait(100)
    assert model.said == []


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.OBSERVE])
@pytest.mark.parametrize(
    ("history", "told"),
    [
        pytest.param("L- L- L! L!", ["1 suspend x"], id="2 rounds"),
        pytest.param("L- L- L! L! L!", ["1 suspend x", "4 blind"], id="3 rounds"),
        pytest.param("L- L- L! L! L! L!", ["1 suspend x", "4 blind"], id="told once"),
        pytest.param("L- L- L! L! L? L! L!", ["1 suspend x"], id="an answer in between"),
        pytest.param(
            "L- L- L! L! L! L- L! L! L!", ["1 suspend x", "4 blind", "8 blind"], id="a second episode"
        ),
    ],
)
def test_a_suspended_endpoint_that_could_not_be_probed_for_3_rounds_makes_blind(
    history: str, told: list[str], mode: Mode
) -> None:
    assert run(mode=mode).rounds(f"x {history}").said == told


def test_an_endpoint_in_service_that_cannot_be_probed_does_not_make_blind() -> None:
    assert run().rounds("x L+ L! L! L! L!").said == []


def test_the_end_of_the_suspension_ends_the_blindness() -> None:
    model = run().rounds("x L- L- L! L! L!")
    model.lift(4.5, "x")
    model.round(5, A_AND_B | {"x": "L!"})
    assert not model.state.is_blind


def test_a_model_that_is_switched_off_and_on_is_told_blind_again() -> None:
    model = alone("L? L? L?")
    model.switch(2.5, Mode.OFF)
    model.switch(100, Mode.ENFORCE)
    for at in (101, 102, 103):
        model.round(at, dict.fromkeys(("x", "y", "z"), "L?"))
    assert len([line for line in model.said if "blind" in line]) == 2


def test_a_model_switched_on_again_has_3_intervals_for_its_first_round() -> None:
    model = run().rounds("x L+")
    model.switch(1, Mode.OFF)
    model.switch(100, Mode.ENFORCE)
    assert model.wait(102.9) == []
    assert model.wait(103.1) == ["103 blind"]


def test_blindness_changes_no_streak() -> None:
    model = run().rounds("x L-")
    model.wait(5)
    assert model.state.is_blind
    model.round(6, A_AND_B | {"x": "L-"})
    assert model.about("x") == ["6 suspend x"]
    assert replace(model.state, endpoints={}).is_blind is False


def test_a_switch_between_observe_and_enforce_is_no_round() -> None:
    model = run(mode=Mode.OBSERVE).rounds("x L+")
    model.switch(2, Mode.ENFORCE)
    assert model.wait(3.1) == ["3 blind"]
