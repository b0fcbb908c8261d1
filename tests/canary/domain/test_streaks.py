"""C12 and C1: two failing rounds in a row suspend; what counts as a round and what starts a streak anew."""

import pytest

from canary.domain.policy import Policy
from canary.domain.scoring import Pair, Result
from canary.domain.verdicts import Contract
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, HEALTHY, Run, run

A_AND_B = dict.fromkeys(HEALTHY, "L+")


def after(history: str) -> Run:
    return run().rounds(f"x {history}")


@pytest.mark.parametrize(
    ("history", "suspended"),
    [
        pytest.param("L-", [], id="one failing round"),
        pytest.param("L- L-", ["1 suspend x"], id="two in a row"),
        pytest.param("L- L+ L-", [], id="a clean round in between"),
        pytest.param("L- L+ L- L-", ["3 suspend x"], id="two after a clean round"),
        pytest.param("L- L! L-", ["2 suspend x"], id="a frozen round in between"),
        pytest.param("L- L! L!", [], id="only in a round in which it failed"),
        pytest.param("L-,S+ L+,S-", ["1 suspend x"], id="whichever contracts failed"),
        pytest.param("fr- de-", ["1 suspend x"], id="whichever languages failed"),
        pytest.param("L- L- L- L-", ["1 suspend x"], id="suspended once"),
        pytest.param("L+ L+ L+ L+", [], id="never failing"),
    ],
)
def test_two_consecutive_scored_failing_rounds_suspend(history: str, suspended: list[str]) -> None:
    assert after(history).about("x") == suspended


def test_all_pairs_that_failed_in_the_streak_are_named_in_the_decision() -> None:
    decision = after("L-,fr+,S+ S-,L+,fr- S-,L+,fr+").decisions[-1]
    assert set(decision.pairs) == {
        Pair(Contract.LATENCY, None),
        Pair(Contract.STRUCTURED_OUTPUT, None),
        Pair(Contract.LANGUAGE, "fr"),
    }
    assert all(name in decision.reason for name in ("latency", "structured_output", "language", "fr"))


@pytest.mark.parametrize(
    ("history", "suspended"),
    [
        pytest.param("L-,S+ L+,S-", [], id="different contracts"),
        pytest.param("L-,S+ L+,S- L+,S-", ["2 suspend x"], id="the same contract twice"),
        pytest.param("L-,S- L+,S-", ["1 suspend x"], id="one of two contracts twice"),
        pytest.param("L-,S+ L+,S- L-,S+", [], id="the same contract, not in a row"),
        pytest.param("fr- de-", ["1 suspend x"], id="one contract in two languages"),
    ],
)
def test_same_contract_asks_for_one_contract_in_all_of_the_rounds(history: str, suspended: list[str]) -> None:
    assert run(policy=Policy(same_contract=True)).rounds(f"x {history}").about("x") == suspended


@pytest.mark.parametrize(("rounds_to_suspend", "at"), [(1, 0), (2, 1), (3, 2)])
def test_the_number_of_rounds_is_a_policy_value(rounds_to_suspend: int, at: int) -> None:
    model = run(policy=Policy(rounds_to_suspend=rounds_to_suspend)).rounds("x L- L- L-")
    assert model.about("x") == [f"{at} suspend x"]


@pytest.mark.parametrize(
    ("second", "is_scored"),
    [
        pytest.param(0.79, False, id="less than 0.8 interval"),
        pytest.param(0.7999, False, id="a breath less"),
        pytest.param(0.8, True, id="exactly 0.8 interval"),
        pytest.param(1, True, id="one interval"),
    ],
)
def test_a_round_too_soon_after_the_last_scored_one_is_not_scored(second: float, is_scored: bool) -> None:
    model = run()
    model.round(0, A_AND_B | {"x": "L-"})
    outcome = model.round(second, A_AND_B | {"x": "L-"})
    assert (outcome.is_scored, bool(model.about("x"))) == (is_scored, is_scored)


def test_the_gap_is_measured_from_the_last_scored_round_not_from_the_last_round() -> None:
    model = run()
    for at in (0, 0.5, 0.8, 1.5, 1.6):
        model.round(at, A_AND_B)
    assert [bool(results) for results in model.results] == [True, False, True, False, True]


def test_a_round_in_which_everything_froze_still_sets_the_gap() -> None:
    model = run()
    model.round(0, {"x": "L!"})
    assert not model.round(0.5, {"x": "L-"}).is_scored


@pytest.mark.parametrize("unscored", ["is_manual", "is_our_side"])
def test_a_round_by_hand_or_on_our_side_does_not_set_the_gap(unscored: str) -> None:
    model = run()
    model.round(0, A_AND_B, is_manual=unscored == "is_manual", is_our_side=unscored == "is_our_side")
    assert model.round(0.1, A_AND_B).is_scored


def not_scored(model: Run, at: float, words: dict[str, str], kind: str) -> None:
    """A round at `at` that may not score, for the reason named by `kind`."""
    outcome = model.round(at, words, is_manual=kind == "manual", is_our_side=kind == "our side")
    assert not outcome.is_scored


UNSCORED = pytest.mark.parametrize(
    ("kind", "offset"), [("manual", 0.9), ("too soon", 0.1), ("our side", 0.9)]
)


@UNSCORED
def test_a_round_that_is_not_scored_does_not_count_towards_a_suspension(kind: str, offset: float) -> None:
    model = after("L-")
    not_scored(model, offset, A_AND_B | {"x": "L-"}, kind)
    assert model.about("x") == []


@UNSCORED
def test_a_round_that_is_not_scored_does_not_break_a_streak(kind: str, offset: float) -> None:
    model = after("L-")
    not_scored(model, offset, A_AND_B | {"x": "L+"}, kind)
    model.round(2, A_AND_B | {"x": "L-"})
    assert model.about("x") == ["2 suspend x"]


@UNSCORED
def test_a_round_that_is_not_scored_is_no_recovery(kind: str, offset: float) -> None:
    model = after("L- L- L+")
    not_scored(model, 2 + offset, A_AND_B | {"x": "L+"}, kind)
    assert model.about("x") == ["1 suspend x"]
    model.round(4, A_AND_B | {"x": "L+"})
    assert model.about("x") == ["1 suspend x", "4 recover x"]


@UNSCORED
def test_a_round_that_is_not_scored_sets_no_verdicts_aside(kind: str, offset: float) -> None:
    model = run(flags={"c": {"is_control": True}}).rounds("x L+")
    not_scored(model, offset, {"x": "L-", "y": "L-", "z": "L-", "c": "F+"}, kind)
    assert not {"common_cause", "weakened"} & {str(one.action) for one in model.decisions}


@pytest.mark.parametrize(("kind", "offset"), [("manual", 0.9), ("too soon", 0.1)])
def test_a_round_that_is_not_scored_still_counts_for_discovery(kind: str, offset: float) -> None:
    model = after("L-")
    not_scored(model, offset, dict(A_AND_B), kind)
    model.round(2, A_AND_B | {"x": "L-"})
    assert model.about("x") == []


@pytest.mark.parametrize("kind", ["manual", "too soon"])
def test_a_round_that_is_not_scored_still_counts_for_reachability(kind: str) -> None:
    model = after("L+ L! L!")
    assert model.endpoint("x").standing.is_reachable
    not_scored(model, 2.5, A_AND_B | {"x": "L!"}, kind)
    assert not model.endpoint("x").standing.is_reachable


@pytest.mark.parametrize(
    ("gap", "suspended"),
    [
        pytest.param(12, ["12 suspend x"], id="12 intervals"),
        pytest.param(12.001, [], id="more than 12 intervals"),
    ],
)
def test_a_failing_streak_whose_latest_result_is_too_old_starts_anew(
    gap: float, suspended: list[str]
) -> None:
    model = after("L-")
    model.round(gap, A_AND_B | {"x": "L-"})
    assert model.about("x") == suspended


@pytest.mark.parametrize(
    ("gap", "recovered"),
    [
        pytest.param(12, ["14 recover x"], id="12 intervals"),
        pytest.param(12.001, [], id="more than 12 intervals"),
    ],
)
def test_a_clean_streak_whose_latest_result_is_too_old_starts_anew(gap: float, recovered: list[str]) -> None:
    model = after("L- L- L+")
    model.round(2 + gap, A_AND_B | {"x": "L+"})
    assert model.about("x")[1:] == recovered


def test_a_streak_that_started_anew_counts_its_first_round() -> None:
    model = after("L-").rounds("x L- L-", since=12.5)
    assert model.about("x") == ["13.5 suspend x"]


def test_frozen_rounds_do_not_keep_a_streak_young() -> None:
    model = after("L- " + "L! " * 12)
    model.round(12.001, A_AND_B | {"x": "L-"})
    assert model.about("x") == []


def test_a_streak_that_started_anew_leaves_no_culprits_behind() -> None:
    model = after("L-,S+")
    assert model.round(13, A_AND_B | {"x": "L?,S+"}).results["x"] is Result.CLEAN


def test_a_streak_that_started_anew_keeps_the_culprits_of_a_suspension() -> None:
    model = after("L-,S+ L-,S+")
    assert model.round(14, A_AND_B | {"x": "L?,S+"}).results["x"] is Result.FROZEN


def test_an_endpoint_that_has_left_starts_its_streak_anew_when_it_returns() -> None:
    assert after("L- . L-").about("x") == []
    assert after("L- . L- L-").about("x") == ["3 suspend x"]


def test_an_endpoint_that_has_left_starts_its_clean_streak_anew_too() -> None:
    model = after("L- L- L+ . L+")
    assert model.about("x") == ["1 suspend x"]
    model.round(5, A_AND_B | {"x": "L+"})
    assert model.about("x") == ["1 suspend x", "5 recover x"]


def test_an_endpoint_listed_as_not_serving_has_left_too() -> None:
    model = after("L-")
    model.flags = {"x": {"is_serving": False}}
    model.round(1, A_AND_B | {"x": "L-"})
    assert "x" not in model.results[-1]
    model.flags = {}
    model.round(2, A_AND_B | {"x": "L-"})
    assert model.about("x") == []


def test_an_endpoint_that_has_left_keeps_its_history() -> None:
    model = run().rounds("x L- L- L+ L+")
    model.round(4, A_AND_B)
    model.rounds("x L- L-", since=5)
    levels = [one.level for one in model.decisions if one.action == "suspend"]
    assert levels == [1, 2]


def test_an_endpoint_that_has_left_keeps_a_running_suspension() -> None:
    model = after("L- L- . L+")
    assert model.endpoint("x").suspension is not None


def test_an_endpoint_that_has_left_is_not_counted_as_capacity() -> None:
    model = run().rounds("""
        x  L+  L-  L-
        b  L+  L+  .
    """, healthy=("a",))  # fmt: skip
    assert model.about("x") == ["2 refuse x"]


def test_an_endpoint_excluded_by_another_tier_is_scored_but_not_suspended() -> None:
    model = run(flags={"x": {"in_other_tier": True}}).rounds("x L- L- L-")
    assert [one["x"] for one in model.results] == [Result.FAILING] * 3
    assert model.about("x") == []


def test_when_another_tiers_exclusion_ends_the_next_failing_round_can_suspend() -> None:
    model = run(flags={"x": {"in_other_tier": True}}).rounds("x L- L-")
    model.flags = {}
    model.rounds("x L! L-", since=2)
    assert model.about("x") == ["3 suspend x"]


def test_when_another_tiers_exclusion_ends_a_clean_round_ends_the_streak() -> None:
    model = run(flags={"x": {"in_other_tier": True}}).rounds("x L- L-")
    model.flags = {}
    model.rounds("x L+ L-", since=2)
    assert model.about("x") == []


def test_a_suspension_starts_at_the_start_of_the_round_that_caused_it() -> None:
    decision = after("L- L-").decisions[-1]
    model = after("L- L-")
    held = model.endpoint("x").suspension
    assert held is not None
    assert held.started_at == decision.at
    assert (held.until - held.started_at).total_seconds() == 86_400
    assert decision.until == held.until


def test_nothing_is_scored_or_decided_in_mode_off() -> None:
    model = run(mode=Mode.OFF).rounds("x L- L- L- L-")
    assert (model.said, model.results) == ([], [{}] * 4)


@pytest.mark.parametrize(
    ("history", "failing", "clean"),
    [
        ("L+", 0, 1),
        ("L-", 1, 0),
        ("L!", 0, 0),
        ("L+ L+", 0, 2),
        ("L+ L-", 1, 0),
        ("L- L+", 0, 1),
        ("L- L! L-", 2, 0),
    ],
)
def test_a_streak_is_counted_from_the_first_round_on(history: str, failing: int, clean: int) -> None:
    standing = after(history).endpoint("x").standing
    assert (standing.failing, standing.clean) == (failing, clean)


def test_two_days_of_passes_decide_nothing() -> None:
    assert run().quietly(2 * DAY, A_AND_B | {"x": "L+,S+,F+"}, since=0).said == []
