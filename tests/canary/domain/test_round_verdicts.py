"""C6 and C13: what sets a contract's verdicts aside before a round is scored."""

import pytest

from canary.domain.policy import Policy
from canary.domain.scoring import EndpointFacts, Result, RoundVerdicts, effective_verdicts
from canary.domain.verdicts import Contract, Verdict
from tests.canary.domain.builders import facts, run

CONTROL = {"c": {"is_control": True}}


def judged(*endpoints: EndpointFacts, policy: Policy | None = None) -> RoundVerdicts:
    return effective_verdicts(endpoints, policy or Policy())


def lane_up(failing: int, passing: int, *, providers: int, mark: str = "L") -> list[EndpointFacts]:
    """Endpoints of one contract: the failing ones spread over so many providers, each passing one on its own."""
    bad = [facts(f"bad{index % providers}/{index}", f"{mark}-") for index in range(failing)]
    return bad + [facts(f"good{index}", f"{mark}+") for index in range(passing)]


@pytest.mark.parametrize(
    ("failing", "passing", "providers", "is_common"),
    [
        pytest.param(4, 1, 4, True, id="4 of 5 is 80 %"),
        pytest.param(8, 2, 8, True, id="8 of 10 is 80 %"),
        pytest.param(28, 7, 3, True, id="28 of 35 is 80 %"),
        pytest.param(7, 2, 7, False, id="7 of 9 is 78 %"),
        pytest.param(79, 20, 9, False, id="79 of 99 is just below 80 %"),
        pytest.param(3, 0, 3, True, id="all fail, 3 providers"),
        pytest.param(3, 0, 2, False, id="all fail, 3 endpoints on 2 providers"),
        pytest.param(2, 0, 2, False, id="all fail, 2 providers"),
        pytest.param(12, 3, 3, True, id="many endpoints on 3 providers"),
        pytest.param(12, 3, 2, False, id="many endpoints on 2 providers"),
        pytest.param(0, 5, 1, False, id="nobody fails"),
    ],
)
def test_80_percent_of_conclusive_verdicts_on_3_providers_are_a_common_cause(
    failing: int, passing: int, providers: int, is_common: bool
) -> None:
    assert (Contract.LATENCY in judged(*lane_up(failing, passing, providers=providers)).common) is is_common


@pytest.mark.parametrize("share", [0.1, 0.3, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("endpoints", [20, 40, 60, 100])
def test_exactly_the_share_is_enough_whatever_floats_make_of_it(share: float, endpoints: int) -> None:
    failing = round(share * endpoints)
    policy = Policy(common_share=share, common_min=1)
    enough = judged(*lane_up(failing, endpoints - failing, providers=failing), policy=policy)
    one_less = judged(*lane_up(failing - 1, endpoints - failing + 1, providers=failing), policy=policy)
    assert (Contract.LATENCY in enough.common, Contract.LATENCY in one_less.common) == (True, False)


def test_a_common_cause_makes_the_contract_inconclusive_for_those_that_passed_too() -> None:
    verdicts = judged(*lane_up(4, 1, providers=4)).effective
    assert {one[Contract.LATENCY] for one in verdicts.values()} == {Verdict.INCONCLUSIVE}


def test_a_common_cause_leaves_other_contracts_and_unreachable_verdicts_alone() -> None:
    verdicts = judged(*lane_up(4, 0, providers=4), facts("x", "L-,S-"), facts("y", "L!,S+")).effective
    assert verdicts["x"] == {Contract.LATENCY: Verdict.INCONCLUSIVE, Contract.STRUCTURED_OUTPUT: Verdict.FAIL}
    assert verdicts["y"][Contract.STRUCTURED_OUTPUT] is Verdict.PASS


@pytest.mark.parametrize("mark", ["L?", "L!", "S-", "0"])
def test_only_conclusive_verdicts_of_the_contract_are_counted_for_a_common_cause(mark: str) -> None:
    others = [facts(f"other{index}", mark) for index in range(9)]
    assert judged(*lane_up(4, 1, providers=4), *others).common[Contract.LATENCY] == (4, 5)


def test_excluded_endpoints_count_for_a_common_cause() -> None:
    excluded = [facts(f"x{index}", "L-", in_other_tier=True) for index in range(3)]
    assert Contract.LATENCY in judged(*excluded).common
    assert Contract.LATENCY not in judged(*excluded, facts("y", "L+", in_other_tier=True)).common


def test_suspended_endpoints_count_for_a_common_cause() -> None:
    model = run().rounds("x L- L-", healthy=("a", "b", "c")).rounds("""
        x  L-
        y  L-
        z  L-
    """, since=2, healthy=())  # fmt: skip
    assert "2 common_cause" in model.said


def test_controls_are_left_out_of_filtering_but_not_of_other_contracts() -> None:
    controls = [facts(f"c{index}", "F-,L-", is_control=True) for index in range(3)]
    assert set(judged(*controls, facts("x", "F+,L-")).common) == {Contract.LATENCY}


def test_an_endpoint_that_does_not_serve_is_not_counted() -> None:
    gone = facts("gone", "L-", is_serving=False)
    assert judged(facts("x", "L-"), facts("y", "L-"), gone).common == {}


def test_each_contract_has_its_own_common_cause() -> None:
    verdicts = judged(*(facts(f"x{index}", "S-,L+" if index else "S-,L-") for index in range(4)))
    assert set(verdicts.common) == {Contract.STRUCTURED_OUTPUT}
    assert verdicts.effective["x0"][Contract.LATENCY] is Verdict.FAIL


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        pytest.param("F+", Verdict.INCONCLUSIVE, id="a control passes"),
        pytest.param("F-", Verdict.PASS, id="the control still bites"),
        pytest.param("F!", Verdict.PASS, id="an unreachable control says nothing"),
        pytest.param("F?", Verdict.PASS, id="an inconclusive control says nothing"),
        pytest.param("L+", Verdict.PASS, id="a control without a filtering verdict says nothing"),
    ],
)
def test_a_passing_control_makes_every_filtering_pass_inconclusive(control: str, expected: Verdict) -> None:
    verdicts = judged(facts("c", control, is_control=True), facts("x", "F+"), facts("y", "F-")).effective
    assert (verdicts["x"][Contract.FILTERING], verdicts["y"][Contract.FILTERING]) == (expected, Verdict.FAIL)


def test_any_one_passing_control_is_enough_and_each_is_named() -> None:
    verdicts = judged(
        facts("c1", "F-", is_control=True), facts("c2", "F+", is_control=True), facts("x", "F+,L+")
    )
    assert verdicts.controls_passed == ("c2",)
    assert verdicts.effective["x"] == {
        Contract.FILTERING: Verdict.INCONCLUSIVE,
        Contract.LATENCY: Verdict.PASS,
    }


def test_a_control_that_has_left_says_nothing() -> None:
    gone = facts("c", "F+", is_control=True, is_serving=False)
    assert judged(gone, facts("x", "F+")).effective["x"][Contract.FILTERING] is Verdict.PASS


@pytest.mark.parametrize(
    ("word", "result"),
    [
        pytest.param("F-,L+", Result.CLEAN, id="its filtering fail never scores"),
        pytest.param("F!,L+", Result.CLEAN, id="its filtering probe freezes nothing"),
        pytest.param("F+,L+", Result.CLEAN, id="its filtering pass never scores"),
        pytest.param("F+", Result.FROZEN, id="a filtering pass alone is no clean round"),
        pytest.param("F-,L-", Result.FAILING, id="its other contracts score"),
        pytest.param("F-,L!", Result.FROZEN, id="its other contracts freeze"),
    ],
)
def test_a_controls_filtering_verdict_is_never_scored_and_freezes_nothing(word: str, result: Result) -> None:
    model = run(flags=CONTROL).rounds(f"c {word}")
    assert model.results[-1]["c"] is result


def test_controls_are_judged_before_the_rounds_scoring() -> None:
    model = run(flags=CONTROL)
    model.round(0, {"x": "F-,L+", "a": "L+", "b": "L+", "c": "F-,L+"})
    weakened = model.round(1, {"x": "F+,L+", "a": "L+", "b": "L+", "c": "F+,L+"})
    assert weakened.results["x"] is Result.FROZEN
    assert "1 weakened" in model.said


def test_a_weakened_probe_changes_nothing_about_a_filtering_fail() -> None:
    model = run(flags=CONTROL).rounds("""
        x  F-    F-
        c  F+    F+
    """)  # fmt: skip
    assert model.about("x") == ["1 suspend x"]


def test_a_common_cause_neither_extends_nor_breaks_a_streak() -> None:
    model = run().rounds("""
        x  L-  L-  L-
        y  L+  L-  L+
        z  L+  L-  L+
        a  L+  L-  L+
        b  L+  L+  L+
    """)  # fmt: skip
    assert [round_["x"] for round_ in model.results] == [Result.FAILING, Result.FROZEN, Result.FAILING]
    assert model.said == ["1 common_cause", "2 suspend x"]


@pytest.mark.parametrize("unscored", ["is_manual", "is_our_side"])
def test_a_round_that_is_not_scored_sets_nothing_aside(unscored: str) -> None:
    model = run(flags=CONTROL)
    words = {"x": "L-,F+", "y": "L-", "z": "L-", "c": "F+"}
    model.round(0, words, is_manual=unscored == "is_manual", is_our_side=unscored == "is_our_side")
    assert model.said == []
