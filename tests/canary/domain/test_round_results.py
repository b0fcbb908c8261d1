"""C11 and C10: what an endpoint's round comes to, and what its culprits do to the next ones."""

import pytest

from canary.domain.scoring import Pair, Result
from canary.domain.verdicts import Contract
from tests.canary.domain.builders import HEALTHY, Run, run

CLEAN, FAILING, FROZEN = Result.CLEAN, Result.FAILING, Result.FROZEN
LATENCY = Pair(Contract.LATENCY, None)
FRENCH = Pair(Contract.LANGUAGE, "fr")


def after(history: str, **flags: bool) -> Run:
    return run(flags={"x": flags}).rounds(f"x {history}")


@pytest.mark.parametrize(
    ("word", "result"),
    [
        pytest.param("L+", CLEAN, id="all pass"),
        pytest.param("L-", FAILING, id="one fails"),
        pytest.param("L+,S-", FAILING, id="one of two fails"),
        pytest.param("L!,S-", FAILING, id="a fail wins over an unreachable probe"),
        pytest.param("L?,S-", FAILING, id="a fail wins over an inconclusive one"),
        pytest.param("L!,S+", FROZEN, id="any probe was unreachable"),
        pytest.param("L?,S+", CLEAN, id="inconclusive beside a pass"),
        pytest.param("L?", FROZEN, id="nothing passed"),
        pytest.param("L?,S?,fr?", FROZEN, id="nothing passed of three"),
        pytest.param("L!", FROZEN, id="unreachable"),
        pytest.param("0", FROZEN, id="no verdict at all"),
    ],
)
def test_a_fail_wins_then_unreachable_freezes_then_one_pass_makes_clean(word: str, result: Result) -> None:
    assert after(word).results[-1]["x"] is result


@pytest.mark.parametrize(
    ("history", "result"),
    [
        pytest.param("L-      L?,S+", FROZEN, id="a culprit is inconclusive"),
        pytest.param("L-      L!,S+", FROZEN, id="a culprit is unreachable"),
        pytest.param("L-      L+,S?", CLEAN, id="the culprit passes"),
        pytest.param("L-,S+   L+,S-   L+,S?", FROZEN, id="the second culprit of the streak"),
        pytest.param("L-      S-,L+   L?,S+", FROZEN, id="the first culprit of the streak, though it passed since"),
        pytest.param("L-      S-,L+   L+,S+", CLEAN, id="all culprits pass"),
        pytest.param("L-      L+      L?,S+", CLEAN, id="a clean round clears the culprits"),
        pytest.param("L-      0", FROZEN, id="no verdicts say nothing about a culprit"),
        pytest.param("L-,S+   S+", CLEAN, id="a contract that no longer applies leaves the culprits"),
        pytest.param("L-,S-   S+", CLEAN, id="one culprit left, the other passed"),
        pytest.param("L-,S-   S?", FROZEN, id="one culprit left, the other froze"),
        pytest.param("L-,S+   S+,L? ", FROZEN, id="an inconclusive contract still applies"),
    ],
)  # fmt: skip
def test_a_culprit_that_did_not_conclusively_pass_freezes_the_round(history: str, result: Result) -> None:
    assert after(history).results[-1]["x"] is result


@pytest.mark.parametrize(
    ("history", "result"),
    [
        pytest.param("fr-     fr+", CLEAN, id="it passes"),
        pytest.param("fr-     fr?,L+", FROZEN, id="asked and inconclusive"),
        pytest.param("fr-     fr!,L+", FROZEN, id="asked and unreachable"),
        pytest.param("fr-     de+", FROZEN, id="not asked: its latest verdict is the fail"),
        pytest.param("fr- de- fr+", FROZEN, id="two languages, the other one still failing"),
        pytest.param("fr- de- fr+ de+", CLEAN, id="two languages, not asked now but passed before"),
        pytest.param("fr- de- fr+ de+ fr+", CLEAN, id="the streak is over"),
        pytest.param("fr- de- fr+,L- de+,L+", CLEAN, id="its latest verdict may come from a failing round"),
        pytest.param("fr- de- fr+,L! de+", CLEAN, id="its latest verdict may come from a frozen round"),
        pytest.param(
            "fr- de- fr+ fr?,L+ de+", CLEAN, id="an inconclusive one is no latest conclusive verdict"
        ),
        pytest.param("fr- de- fr+ fr- de+", FROZEN, id="it failed again since"),
        pytest.param("fr-     L+", CLEAN, id="the language contract no longer applies"),
    ],
)
def test_a_language_culprit_not_asked_counts_with_its_latest_conclusive_verdict(
    history: str, result: Result
) -> None:
    assert after(history).results[-1]["x"] is result


def test_the_latest_verdict_of_a_language_is_the_effective_one() -> None:
    model = run().rounds("""
        x  fr-  de-  fr+  de+
        p  fr+  de+  fr-  de+
        q  fr+  de+  fr-  de+
        r  fr+  de+  fr-  de+
        s  fr+  de+  fr-  de+
    """)  # fmt: skip
    assert [round_["x"] for round_ in model.results] == [FAILING, FAILING, FROZEN, FROZEN]


def test_a_contract_that_no_longer_applies_is_logged_and_does_not_come_back() -> None:
    model = after("L-,S+ S+,L?")
    model.round(2, {"x": "S+"} | dict.fromkeys(HEALTHY, "L+"))
    assert [(one.endpoint, one.pairs) for one in model.decisions if one.action == "not_applicable"] == [
        ("x", (LATENCY,))
    ]
    assert model.round(3, {"x": "S+,L?"} | dict.fromkeys(HEALTHY, "L+")).results["x"] is CLEAN


def test_culprits_of_a_suspension_are_kept_until_it_has_ended() -> None:
    model = after("L- L- L+,S+ L?,S+")
    assert [one["x"] for one in model.results] == [FAILING, FAILING, CLEAN, FROZEN]
    model.round(4, {"x": "L+,S+"} | dict.fromkeys(HEALTHY, "L+"))
    assert model.round(5, {"x": "L?,S+"} | dict.fromkeys(HEALTHY, "L+")).results["x"] is CLEAN


def test_a_failing_round_during_a_suspension_adds_its_pairs_to_the_streak_not_to_the_suspension() -> None:
    model = after("""L-,S+ L-,S+ L+,S- L+,S? L+,S+ L+,S?""")
    assert [one["x"] for one in model.results] == [FAILING, FAILING, FAILING, FROZEN, CLEAN, CLEAN]
    assert model.about("x") == ["1 suspend x", "5 recover x"]


@pytest.mark.parametrize("gap", ["L!,fr!", "L?,fr?", "L!", "0"])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_frozen_rounds_neither_extend_nor_break_a_failing_streak(gap: str, count: int) -> None:
    model = after(
        " ".join(["fr-", *[gap] * count, "fr-"]) if "fr" in gap else " ".join(["L-", *[gap] * count, "L-"])
    )
    assert model.about("x")[-1] == f"{count + 1} suspend x"


@pytest.mark.parametrize("gap", ["L!", "L?,S+", "L!,S+", "0"])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_frozen_rounds_neither_extend_nor_break_a_clean_streak(gap: str, count: int) -> None:
    model = after(" ".join(["L-,S+ L-,S+ L+,S+", *[gap] * count, "L+,S+"]))
    assert model.about("x") == ["1 suspend x", f"{3 + count} recover x"]


def dry(rounds: int, word: str = "fr?,L+") -> str:
    return " ".join(["fr-", *[word] * rounds])


@pytest.mark.parametrize(
    ("history", "unsettled"),
    [
        pytest.param(dry(7), [], id="seven rounds without a pass or fail"),
        pytest.param(dry(8), ["8 unsettled x"], id="eight"),
        pytest.param(dry(9), ["8 unsettled x"], id="told once"),
        pytest.param(dry(7) + " fr- " + "fr?,L+ " * 7, ["8 suspend x"], id="a fail in between"),
        pytest.param(dry(7) + " fr+,L! " + "fr?,L+ " * 7, [], id="a pass in between"),
    ],
)
def test_a_language_without_pass_or_fail_in_8_scored_rounds_is_released(
    history: str, unsettled: list[str]
) -> None:
    assert after(history).about("x") == unsettled


def test_the_eighth_dry_round_is_still_frozen_and_the_ninth_is_not() -> None:
    assert [one["x"] for one in after(dry(9)).results] == [FAILING, *[FROZEN] * 8, CLEAN]


def test_rounds_that_are_not_scored_are_not_dry_rounds() -> None:
    model = after(dry(7))
    for index in range(5):
        model.round(7 + index / 10 + 0.05, {"x": "fr?,L+"}, is_manual=index % 2 == 0)
    assert model.about("x") == []
    model.round(8, {"x": "fr?,L+"} | dict.fromkeys(HEALTHY, "L+"))
    assert model.about("x") == ["8 unsettled x"]


def test_an_unsettled_language_leaves_a_suspensions_culprits_too_so_that_it_can_recover() -> None:
    model = after("fr-,L+ fr-,L+ " + "fr?,L+ " * 10)
    assert model.about("x") == ["1 suspend x", "9 unsettled x", "11 recover x"]


def test_only_the_dry_language_is_released() -> None:
    model = after("fr-,L+ de-,L+ " + "fr?,L+ " * 8 + "fr?,L+ de+,L+")
    assert model.about("x") == ["1 suspend x", "9 unsettled x"]
    assert [one["x"] for one in model.results][-2:] == [FROZEN, CLEAN]


def test_no_other_contract_is_released_as_unsettled() -> None:
    model = after("L-,S+ " + "L?,S+ " * 12)
    assert (model.about("x"), model.results[-1]["x"]) == ([], FROZEN)


def test_both_confirmations_unreachable_freeze_the_round_for_the_endpoint() -> None:
    from dataclasses import replace

    from canary.domain.policy import Policy
    from canary.domain.scoring import Standing, score_endpoint
    from tests.canary.domain.builders import facts, moment

    for is_incomplete, result in ((True, FROZEN), (False, CLEAN)):
        item = replace(facts("x", "fr?,L+"), is_incomplete=is_incomplete)
        assert score_endpoint(Standing(), item, item.verdicts, Policy(), at=moment(0)).result is result
