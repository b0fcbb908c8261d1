"""C16: how a suspension ends: recovery, renewal, expiry."""

import pytest

from canary.domain.policy import Policy
from canary.domain.scoring import Pair, Result
from canary.domain.verdicts import Contract
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, HEALTHY, Run, run

A_AND_B = dict.fromkeys(HEALTHY, "L+")
END = 1 + DAY
"""The end of a first suspension that began in round 1."""


def suspended(history: str = "L- L-", *, policy: Policy | None = None, mode: Mode = Mode.ENFORCE) -> Run:
    return run(policy=policy, mode=mode).rounds(f"x {history}")


def last_rounds(*words_at: tuple[float, str]) -> Run:
    """A suspension from round 1 that fails every 12 intervals up to END - 12, then these rounds."""
    model = suspended()
    for at in (13, 25, END - 12.5):
        model.round(at, A_AND_B | {"x": "L-"})
    for at, word in words_at:
        model.round(at, A_AND_B | {"x": word})
    return model


@pytest.mark.parametrize(
    ("history", "recovered"),
    [
        pytest.param("L- L- L+", [], id="one clean round"),
        pytest.param("L- L- L+ L+", ["3 recover x"], id="two clean rounds"),
        pytest.param("L- L- L+ L- L+", [], id="a failing round in between"),
        pytest.param("L- L- L+ L- L+ L+", ["5 recover x"], id="two after a failing one"),
        pytest.param("L- L- L+ L! L+", ["4 recover x"], id="a frozen round in between"),
        pytest.param("L- L- S+,L? S+,L?", [], id="a culprit that does not pass"),
        pytest.param("L-,S+ S-,L+ L+,S? L+,S+", [], id="the other culprit passed only once"),
        pytest.param("L-,S+ S-,L+ L+,S+ L+,S+", ["3 recover x"], id="all culprits passed twice"),
        pytest.param("fr- fr- de+ de+", [], id="the failing language was not asked"),
        pytest.param("fr- fr- fr+ fr+", ["3 recover x"], id="the failing language passed twice"),
        pytest.param("fr- de- fr+ de+ fr+", ["4 recover x"], id="two languages, alternating"),
    ],
)
def test_two_consecutive_clean_rounds_with_every_culprit_passed_lift_early(
    history: str, recovered: list[str]
) -> None:
    assert suspended(history).about("x")[1:] == recovered


@pytest.mark.parametrize(("rounds_to_recover", "at"), [(1, 2), (2, 3), (3, 4)])
def test_the_number_of_clean_rounds_is_a_policy_value(rounds_to_recover: int, at: int) -> None:
    model = suspended("L- L- L+ L+ L+", policy=Policy(rounds_to_recover=rounds_to_recover))
    assert model.about("x")[1:] == [f"{at} recover x"]


def test_clean_rounds_from_before_the_suspension_do_not_recover() -> None:
    assert suspended("L+ L+ L+ L- L- L+").about("x") == ["4 suspend x"]


def test_clean_rounds_from_before_a_renewal_do_not_recover() -> None:
    model = last_rounds((46, "L+"), (47, "L-"), (48, "L-"), (49, "L+"))
    assert model.about("x") == ["1 suspend x", "49 renew x"]
    model.round(50, A_AND_B | {"x": "L+"})
    assert model.about("x")[-1] == "50 recover x"


def test_an_endpoint_in_another_tier_recovers_too() -> None:
    model = suspended()
    model.flags = {"x": {"in_other_tier": True}}
    assert model.rounds("x L+ L+", since=2).about("x") == ["1 suspend x", "3 recover x"]


def test_a_recovered_endpoint_needs_two_failing_rounds_again() -> None:
    assert suspended("L- L- L+ L+ L- L! L-").about("x")[2:] == ["6 suspend x"]


@pytest.mark.parametrize(
    ("until", "ended"),
    [
        pytest.param(END - 1 / 1800, [], id="a second before its end"),
        pytest.param(END, [f"{END} expire x"], id="at its end"),
    ],
)
def test_a_suspension_holds_up_to_not_including_its_end_and_ends_by_itself(
    until: float, ended: list[str]
) -> None:
    model = suspended()
    assert [line for line in model.wait(until) if line.endswith(" x")] == ended
    assert (model.endpoint("x").suspension is None) is bool(ended)


def test_the_end_comes_at_its_own_time_even_when_it_is_noticed_later() -> None:
    model = suspended()
    assert f"{END} expire x" in model.wait(END + 500)


@pytest.mark.parametrize(
    ("rounds", "decided"),
    [
        pytest.param([(END - 2, "L-"), (END - 1, "L-")], "renew", id="the last two failed"),
        pytest.param([(END - 2, "L-"), (END - 1, "L!")], "renew", id="frozen since"),
        pytest.param([(END - 2, "L-"), (END - 1, "L+")], "expire", id="the last one was clean"),
        pytest.param([(END - 2, "L+"), (END - 1, "L-")], "expire", id="the one before was clean"),
        pytest.param([(END - 2, "L+"), (END - 1, "L!")], "expire", id="clean, frozen since"),
    ],
)  # fmt: skip
def test_an_endpoint_whose_last_two_scored_rounds_failed_is_renewed(
    rounds: list[tuple[float, str]], decided: str
) -> None:
    model = last_rounds(*rounds)
    model.wait(END)
    assert model.about("x")[1:] == [f"{END} {decided} x"]


@pytest.mark.parametrize(
    ("latest", "decided"),
    [
        pytest.param(END - 12, "renew", id="12 intervals before the end"),
        pytest.param(END - 12.001, "expire", id="more than 12 intervals before the end"),
    ],
)
def test_a_renewal_needs_a_latest_failing_round_that_is_not_too_old(latest: float, decided: str) -> None:
    model = suspended()
    for at in (13, 25, latest):
        model.round(at, A_AND_B | {"x": "L-"})
    model.wait(END)
    assert model.about("x")[1:] == [f"{END} {decided} x"]


def test_the_last_two_scored_rounds_may_be_those_that_caused_the_suspension() -> None:
    model = suspended(policy=Policy(ladder_days=(0.25,)))
    model.wait(1 + DAY / 4)
    assert model.about("x")[1:] == ["13 renew x"]


def test_a_renewal_starts_at_the_end_of_the_one_before_and_climbs_the_ladder() -> None:
    model = last_rounds((END - 1, "L-"))
    model.wait(END + 0.3)
    renewed = model.decisions[-1]
    assert (str(renewed.action), renewed.level, renewed.rule) == ("renew", 2, "C16")
    assert renewed.until is not None
    assert (renewed.until - renewed.at).days == 3
    held = model.endpoint("x").suspension
    assert held is not None
    assert (held.started_at, held.until, held.level) == (renewed.at, renewed.until, 2)


def test_a_round_at_the_end_comes_after_it() -> None:
    model = last_rounds((END - 2, "L-"), (END - 1, "L-"))
    model.round(END, A_AND_B | {"x": "L+"})
    assert model.about("x")[1:] == [f"{END} renew x"]
    freed = last_rounds((END - 2, "L-"), (END - 1, "L+"))
    freed.round(END, A_AND_B | {"x": "L-"})
    assert freed.about("x")[1:] == [f"{END} expire x"]


@pytest.mark.parametrize(("latest", "decided"), [("L-", "renew"), ("L+", "expire")])
def test_an_end_that_comes_while_a_round_runs_is_decided_without_that_round(
    latest: str, decided: str
) -> None:
    model = last_rounds((END - 2, "L-"), (END - 1, latest))
    model.wait(END)
    model.round(END - 0.1, A_AND_B | {"x": "L-"})
    model.wait(END + 1)
    assert model.about("x")[1:] == [f"{END} {decided} x"]


def test_recovery_in_a_round_at_the_end_comes_too_late() -> None:
    model = last_rounds((END - 1, "L+"))
    model.round(END, A_AND_B | {"x": "L+"})
    assert model.about("x")[1:] == [f"{END} expire x"]


@pytest.mark.parametrize(
    ("flags", "name"),
    [({"in_other_tier": True}, "in another tier"), ({"is_serving": False}, "not serving")],
    ids=["in another tier", "not serving"],
)
def test_an_endpoint_out_for_another_reason_is_not_renewed(flags: dict[str, bool], name: str) -> None:
    model = last_rounds((END - 2, "L-"), (END - 1, "L-"))
    model.flags = {"x": flags}
    model.round(END - 0.1, A_AND_B | {"x": "L-"}, is_manual=True)
    model.wait(END)
    assert model.about("x")[1:] == [f"{END} expire x"], name


def test_an_endpoint_that_has_left_is_not_renewed() -> None:
    model = last_rounds((END - 2, "L-"), (END - 1, "L-"))
    model.round(END - 0.1, dict(A_AND_B))
    model.wait(END)
    assert model.about("x")[1:] == [f"{END} expire x"]


def test_after_an_end_the_endpoint_is_free_and_its_streak_is_zero() -> None:
    model = last_rounds((END - 2, "L+"), (END - 1, "L-"))
    model.wait(END)
    model.round(END + 1, A_AND_B | {"x": "L-"})
    assert model.about("x")[1:] == [f"{END} expire x"]
    model.round(END + 2, A_AND_B | {"x": "L-"})
    assert model.about("x")[2:] == [f"{END + 2} suspend x"]


def test_after_an_end_no_culprit_is_left() -> None:
    model = last_rounds((END - 2, "L+,S+"), (END - 1, "S-,L+"))
    model.wait(END)
    assert model.round(END + 1, A_AND_B | {"x": "fr+,L?,S?"}).results["x"] is Result.CLEAN


def test_a_renewal_refused_by_the_floor_ends_and_the_next_failing_round_asks_again() -> None:
    model = last_rounds()
    model.round(END - 1, {"a": "L+", "x": "L-"})
    model.wait(END)
    assert model.about("x")[1:] == [f"{END} refuse x", f"{END} expire x"]
    model.round(END + 1, A_AND_B | {"x": "L-"})
    assert model.about("x")[3:] == [f"{END + 1} suspend x"]


def test_a_protected_endpoint_is_not_renewed_and_the_next_failing_round_records_it() -> None:
    model = suspended()
    model.flags = {"x": {"is_protected": True}}
    model.rounds("x L- L- L-", since=END - 3)
    model.wait(END)
    assert model.about("x")[1:] == [f"{END} protect x", f"{END} expire x"]
    model.round(END + 1, A_AND_B | {"x": "L-"})
    assert model.about("x")[3:] == [f"{END + 1} protect x"]


def test_a_clean_round_after_a_refused_renewal_ends_the_streak() -> None:
    model = last_rounds()
    model.round(END - 1, {"a": "L+", "x": "L-"})
    model.round(END + 1, A_AND_B | {"x": "L+"})
    model.round(END + 2, A_AND_B | {"x": "L-"})
    assert model.about("x")[1:] == [f"{END} refuse x", f"{END} expire x"]


def test_a_failing_endpoint_that_asks_after_a_refused_renewal_gets_the_next_rung() -> None:
    model = last_rounds()
    model.round(END - 1, {"a": "L+", "x": "L-"})
    model.round(END + 1, A_AND_B | {"x": "L-"})
    assert model.decisions[-1].level == 2


def test_those_that_go_free_make_room_for_renewals_at_the_same_moment() -> None:
    model = run().rounds("""
        x  L-  L-
        y  L-  L-
    """)  # fmt: skip
    assert model.said == ["1 suspend x", "1 suspend y"]
    model.round(END - 2, {"x": "L-", "y": "L+", "a": "L+", "b": "L+"})
    model.round(END - 1, {"x": "L-", "y": "L?", "a": "L+"})
    model.wait(END)
    assert f"{END} renew x" in model.said
    assert f"{END} expire y" in model.said


def test_renewals_at_the_same_moment_ask_in_the_order_of_suspensions() -> None:
    model = run().rounds("""
        x  L-,S+  L-,S+
        y  L-,S+  L-,S+
    """)  # fmt: skip
    model.round(END - 2, {"x": "L-,S+", "y": "L-,S+", "a": "L+", "b": "L+"})
    model.round(END - 1, {"x": "L-,S+", "y": "L-,S-", "a": "L+"})
    model.wait(END)
    assert [line for line in model.said if line.startswith(f"{END} ") and line[-1] in "xy"] == [
        f"{END} renew y", f"{END} refuse x", f"{END} expire x",
    ]  # fmt: skip


def test_the_renewals_culprits_are_those_of_the_streak_that_caused_it() -> None:
    model = suspended("L-,S+ L-,S+ L+,S+").quietly(END, A_AND_B | {"x": "S-,L+"}, since=3)
    model.wait(END)
    renewed = model.decisions[-1]
    assert (str(renewed.action), renewed.pairs) == ("renew", (Pair(Contract.STRUCTURED_OUTPUT, None),))
    words = A_AND_B | {"x": "L?,S+"}
    assert [model.round(END + offset, words).results["x"] for offset in (1, 2)] == [Result.CLEAN] * 2
    assert model.about("x")[-1] == f"{END + 2} recover x"


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.OBSERVE])
def test_shadows_recover_renew_and_end_as_if_they_were_real(mode: Mode) -> None:
    model = suspended("L- L- L+ L+ L- L-", mode=mode)
    assert model.about("x") == ["1 suspend x", "3 recover x", "5 suspend x"]
    model.quietly(5 + 3 * DAY, A_AND_B | {"x": "L-"}, since=6)
    model.wait(5 + 10 * DAY)
    assert model.about("x")[3:] == [f"{5 + 3 * DAY} renew x", f"{5 + 10 * DAY} expire x"]
