"""C15: one day, three days, seven days; who counts on the ladder and when it restarts."""

import pytest

from canary.domain.capacity import Rung, next_level
from canary.domain.policy import Policy
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, HEALTHY, Run, moment, run, rung

A_AND_B = dict.fromkeys(HEALTHY, "L+")
JUST_UNDER_14 = 14 - 1 / 86_400
"""Days: one second less than the reset."""


@pytest.mark.parametrize(
    ("rungs", "day", "level"),
    [
        pytest.param([], 0, 1, id="the first"),
        pytest.param([rung(0)], 1, 2, id="the second"),
        pytest.param([rung(0), rung(1)], 4, 3, id="the third"),
        pytest.param([rung(0), rung(1), rung(4)], 11, 3, id="the fourth is as the third"),
        pytest.param([rung(0), rung(1), rung(4), rung(11)], 18, 3, id="the fifth too"),
        pytest.param([rung(0)], JUST_UNDER_14, 2, id="just under 14 days after the latest"),
        pytest.param([rung(0)], 14, 1, id="14 days after the latest"),
        pytest.param([rung(0)], 15, 1, id="more than 14 days after the latest"),
        pytest.param(
            [rung(0), rung(13)], 26, 3, id="14 days are counted from the latest, not from the first"
        ),
        pytest.param([rung(0), rung(13)], 27, 1, id="14 days after the latest of two"),
        pytest.param([rung(0), rung(1), rung(20)], 21, 2, id="a ladder that restarted goes on from there"),
        pytest.param([rung(1), rung(0)], 2, 3, id="in whatever order they are given"),
    ],
)
def test_the_ladder_rises_to_the_third_rung_and_restarts_after_14_days(
    rungs: list[Rung], day: float, level: int
) -> None:
    assert next_level(rungs, Policy(), at=moment(day * DAY), is_shadow=False) == level


@pytest.mark.parametrize(
    ("rungs", "day", "level"),
    [
        pytest.param([rung(0, is_false_positive=True)], 1, 1, id="the only one"),
        pytest.param([rung(0, is_false_positive=True), rung(1)], 2, 2, id="the first of two"),
        pytest.param([rung(0), rung(1, is_false_positive=True)], 2, 2, id="the second of two"),
        pytest.param([rung(0), rung(10, is_false_positive=True)], 14, 1, id="it bridges no 14 days"),
        pytest.param([rung(0), rung(10)], 14, 3, id="where a counted one does"),
        pytest.param([rung(0, is_false_positive=True), rung(13)], 20, 2, id="it lifts no later rung"),
    ],
)
def test_false_positives_are_left_out_as_if_they_had_never_been(
    rungs: list[Rung], day: float, level: int
) -> None:
    assert next_level(rungs, Policy(), at=moment(day * DAY), is_shadow=False) == level


@pytest.mark.parametrize(("is_shadow", "level"), [(False, 2), (True, 3)])
def test_shadows_have_a_ladder_of_their_own(is_shadow: bool, level: int) -> None:
    rungs = [rung(0), rung(1, is_shadow=True), rung(2, is_shadow=True)]
    assert next_level(rungs, Policy(), at=moment(3 * DAY), is_shadow=is_shadow) == level


def suspended_again_and_again(times: int, *, apart_days: float, mode: Mode = Mode.ENFORCE) -> Run:
    """An endpoint suspended and recovered so many times, so many days between the starts."""
    model = run(mode=mode)
    for index in range(times):
        model.rounds("x L- L- L+ L+", since=index * apart_days * DAY)
    return model


def ladder(model: Run) -> list[tuple[int | None, float]]:
    """Level and length in days of every suspension and renewal."""
    return [
        (one.level, (one.until - one.at).total_seconds() / 86_400)
        for one in model.decisions
        if one.until is not None
    ]


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.OBSERVE])
def test_levels_last_one_three_and_seven_days(mode: Mode) -> None:
    assert ladder(suspended_again_and_again(4, apart_days=2, mode=mode)) == [(1, 1), (2, 3), (3, 7), (3, 7)]


def test_early_recovered_suspensions_count() -> None:
    model = suspended_again_and_again(2, apart_days=1)
    assert model.about("x") == ["1 suspend x", "3 recover x", "49 suspend x", "51 recover x"]
    assert ladder(model) == [(1, 1), (2, 3)]


def test_the_ladder_restarts_for_a_suspension_14_days_after_the_start_of_the_latest() -> None:
    assert ladder(suspended_again_and_again(2, apart_days=14)) == [(1, 1), (1, 1)]
    assert ladder(suspended_again_and_again(2, apart_days=14 - 1 / DAY)) == [(1, 1), (2, 3)]


def test_refused_ones_are_left_out() -> None:
    model = run().rounds("x L- L- L- L-", healthy=("a",))
    model.rounds("x L-", since=4)
    assert ladder(model) == [(1, 1)]


def test_protected_ones_are_left_out() -> None:
    model = run(flags={"x": {"is_protected": True}}).rounds("x L- L- L-")
    model.flags = {}
    assert ladder(model.rounds("x L-", since=3)) == [(1, 1)]


def test_lifted_ones_count_unless_they_were_false_positives() -> None:
    for is_false_positive, level in ((False, 2), (True, 1)):
        model = run().rounds("x L- L-")
        model.lift(1.5, "x", is_false_positive=is_false_positive)
        assert ladder(model.rounds("x L- L-", since=2))[-1][0] == level


def test_a_suspension_judged_a_false_positive_after_its_end_is_left_out() -> None:
    model = run().rounds("x L- L- L+ L+")
    model.review(5, "x", is_false_positive=True)
    assert ladder(model.rounds("x L- L-", since=6))[-1] == (1, 1)


def test_a_mark_does_not_shorten_a_later_suspension_that_is_already_running() -> None:
    model = run().rounds("x L- L- L+ L+ L- L-")
    running = model.endpoint("x").suspension
    model.review(5.5, "x", is_false_positive=False)
    assert model.endpoint("x").suspension == running
    assert running is not None
    assert running.level == 2


def test_a_renewal_is_the_next_rung() -> None:
    model = run().rounds("x L- L-").quietly(20 * DAY, A_AND_B | {"x": "L-"}, since=3, gap=2)
    assert ladder(model) == [(1, 1), (2, 3), (3, 7), (3, 7), (3, 7)]
    assert [(one.at - moment(1)).total_seconds() / 86_400 for one in model.decisions] == [0, 1, 4, 11, 18]


def test_the_ladder_is_a_policy_value() -> None:
    policy = Policy(ladder_days=(0.5, 2), ladder_reset_days=3)
    assert [next_level([rung(0)] * count, policy, at=moment(DAY), is_shadow=False) for count in range(4)] == [
        1,
        2,
        2,
        2,
    ]
    assert next_level([rung(0)], policy, at=moment(3 * DAY), is_shadow=False) == 1
