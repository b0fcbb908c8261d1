"""C14: a suspension leaves at least two distinct providers in production, or it is refused."""

from dataclasses import replace

import pytest

from canary.domain.capacity import (
    EndpointState,
    ModelState,
    is_floor_kept,
    is_share_kept,
    production_providers,
)
from canary.domain.policy import Policy
from canary.domain.scoring import Standing
from canary.domain.transition import endpoints_by_urgency
from canary.domain.verdicts import Contract
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, endpoint_state, held, run

NEW = Standing()
SILENT_2 = Standing(has_answered=True, silent_rounds=2)
SILENT_3 = Standing(has_answered=True, silent_rounds=3)


def model_of(*endpoints: EndpointState) -> ModelState:
    return ModelState(model="m", mode=Mode.ENFORCE, endpoints={one.tag: one for one in endpoints})


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        pytest.param({}, True, id="serving, admitted, answering"),
        pytest.param({"is_serving": False}, False, id="not serving"),
        pytest.param({"in_other_tier": True}, False, id="in another tier"),
        pytest.param({"is_admitted": False}, False, id="not admitted by the production preferences"),
        pytest.param({"suspension": held(0, 1)}, False, id="suspended"),
        pytest.param({"is_protected": True}, True, id="protected"),
        pytest.param({"standing": SILENT_2}, True, id="silent for 2 rounds"),
        pytest.param({"standing": SILENT_3}, False, id="silent for 3 rounds"),
        pytest.param({"standing": NEW}, False, id="has never answered"),
        pytest.param({"standing": Standing(failing=5, has_answered=True)}, True, id="failing, not suspended"),
    ],
)
def test_a_production_endpoint_serves_unexcluded_admitted_and_reachable(
    values: dict[str, object], counts: bool
) -> None:
    providers = production_providers(model_of(endpoint_state("x/1", **values)), counts_shadows=False)
    assert providers == ({"x"} if counts else set())


@pytest.mark.parametrize(("counts_shadows", "providers"), [(False, {"x"}), (True, set())])
def test_a_shadow_counts_as_an_exclusion_only_where_shadows_are_taken_as_real(
    counts_shadows: bool, providers: set[str]
) -> None:
    state = model_of(endpoint_state("x", suspension=held(0, 1, is_shadow=True)))
    assert production_providers(state, counts_shadows=counts_shadows) == providers


@pytest.mark.parametrize(
    ("others", "is_kept"),
    [
        pytest.param(["a", "b"], True, id="2 providers remain"),
        pytest.param(["a"], False, id="1 provider remains"),
        pytest.param(["a/1", "a/2", "a/3"], False, id="3 endpoints of 1 provider remain"),
        pytest.param(["a/1", "x/2"], True, id="a sibling of the suspended endpoint counts"),
        pytest.param(["x/2", "x/3"], False, id="siblings are one provider"),
        pytest.param([], False, id="nobody remains"),
        pytest.param(["a", "b", "c"], True, id="3 providers remain"),
    ],
)
def test_at_least_2_distinct_providers_remain(others: list[str], is_kept: bool) -> None:
    state = model_of(*(endpoint_state(tag) for tag in ["x/1", *others]))
    assert is_floor_kept(state, "x/1", Policy(), counts_shadows=False) is is_kept
    history = run().rounds("x/1 L- L-", healthy=others)
    assert history.about("x/1") == ["1 suspend x/1" if is_kept else "1 refuse x/1"]


def test_a_suspension_is_refused_also_when_fewer_were_left_before() -> None:
    model = run(flags={"x": {"is_admitted": False}}).rounds("x L- L-", healthy=("a",))
    assert model.about("x") == ["1 refuse x"]


def test_every_further_failing_round_asks_again_and_is_recorded() -> None:
    model = run().rounds("x L- L- L! L- L+ L- L-", healthy=("a",))
    assert model.about("x") == ["1 refuse x", "3 refuse x", "6 refuse x"]


def test_a_refused_endpoint_is_suspended_by_its_next_failing_round_once_there_is_capacity() -> None:
    model = run().rounds("""
        x  L-  L-  L!  L-
        b  .   .   L+  L+
    """, healthy=("a",))  # fmt: skip
    assert model.about("x") == ["1 refuse x", "3 suspend x"]


def test_a_new_endpoint_counts_as_capacity_once_it_has_answered() -> None:
    model = run()
    model.state = replace(model.state, assumes_reachable=False)
    model.rounds("""
        x  L+  L-  L-  L-
        b  .   .   L!  L?
    """, healthy=("a",))  # fmt: skip
    assert model.about("x") == ["2 refuse x", "3 suspend x"]


@pytest.mark.parametrize(("silent", "asked"), [(2, "suspend"), (3, "refuse")])
def test_an_endpoint_silent_for_3_rounds_is_no_capacity(silent: int, asked: str) -> None:
    model = run().rounds(f"""
        x  {"L+ " * (silent - 1)}  L-  L-
        b  L+ {"L! " * silent}
    """, healthy=("a",))  # fmt: skip
    assert model.about("x") == [f"{silent} {asked} x"]


def test_one_answer_of_any_kind_makes_an_endpoint_capacity_again() -> None:
    for answer in ("L+", "L-", "L?", "L!,S?"):
        model = run().rounds(f"""
            x  L+  L+  L-  L-
            b  L!  L!  L!  {answer}
        """, healthy=("a",))  # fmt: skip
        assert model.about("x") == ["3 suspend x"], answer


@pytest.mark.parametrize(("word", "is_reachable"), [("L!,S!", False), ("0", True)])
def test_a_round_without_any_verdict_says_nothing_about_reachability(word: str, is_reachable: bool) -> None:
    model = run().rounds(f"x L+ {word} {word} {word} {word}")
    assert model.endpoint("x").standing.is_reachable is is_reachable


def test_expiries_come_before_the_suspensions_of_the_round() -> None:
    model = run().rounds("y L- L-", healthy=("a", "b"))
    model.quietly(DAY, {"y": "L!", "a": "L+", "b": "L+"}, since=2)
    model.round(DAY, {"y": "L!", "a": "L+", "b": "L-"})
    model.round(DAY + 1, {"y": "L?", "a": "L+", "b": "L-"})
    assert model.said[-2:] == [f"{DAY + 1} expire y", f"{DAY + 1} suspend b"]


def test_a_round_before_the_end_does_not_have_the_capacity_that_the_end_gives() -> None:
    model = run().rounds("y L- L-", healthy=("a", "b"))
    model.quietly(DAY - 1, {"y": "L?", "a": "L+", "b": "L+"}, since=2)
    model.round(DAY - 1, {"y": "L?", "a": "L+", "b": "L-"})
    model.round(DAY, {"y": "L?", "a": "L+", "b": "L-"})
    assert model.about("b") == [f"{DAY} refuse b"]


def test_recoveries_come_before_the_suspensions_of_the_round() -> None:
    model = run().rounds("""
        y  L-  L-  L+  L+
        b  L+  L+  L-  L-
    """, healthy=("a",))  # fmt: skip
    assert model.said == ["1 suspend y", "3 recover y", "3 suspend b"]


ORDERS = [
    pytest.param("L- L-", "L- L-", ["1 suspend x", "1 refuse y"], id="equal in all: by tag"),
    pytest.param(
        "L- L-", "L-,S- L-,S+", ["1 suspend y", "1 refuse x"], id="more contracts failed in the streak"
    ),
    pytest.param("L-,S- L-,S-", "L-,S+ L+,S-", ["1 suspend x", "1 refuse y"], id="as many contracts: by tag"),
    pytest.param(
        "fr-,L+ de-,L+", "fr-,L- fr-,L+", ["1 suspend y", "1 refuse x"], id="contracts, not languages"
    ),
]


@pytest.mark.parametrize(("x", "y", "decided"), ORDERS)
def test_most_contracts_failed_first_then_tag(x: str, y: str, decided: list[str]) -> None:
    model = run().rounds(f"""
        x  {x}
        y  {y}
    """, healthy=("a",))  # fmt: skip
    assert model.said == decided


def test_the_longest_streak_comes_first_before_more_contracts() -> None:
    model = run(flags={"y": {"in_other_tier": True}}).rounds("""
        x  L+       L-
        y  L-,S+    L-,S+
    """, healthy=("a",))  # fmt: skip
    model.flags = {}
    model.round(2, {"x": "L-,S-", "y": "L-,S+", "a": "L+"})
    assert model.said[-2:] == ["2 suspend y", "2 refuse x"]


def test_urgency_is_streak_then_contracts_then_tag() -> None:
    two = frozenset({Contract.LATENCY, Contract.LANGUAGE})
    one = frozenset({Contract.LATENCY})
    standings = {
        "d": Standing(failing=2, streak_contracts=one),
        "c": Standing(failing=2, streak_contracts=one),
        "b": Standing(failing=2, streak_contracts=two),
        "e": Standing(failing=3, streak_contracts=one),
    }
    endpoints = [endpoint_state(tag, standing=standing) for tag, standing in standings.items()]
    assert [item.tag for item in endpoints_by_urgency(endpoints)] == ["e", "b", "c", "d"]


def test_a_protected_endpoint_is_never_suspended_and_each_failing_round_records_it() -> None:
    model = run(flags={"x": {"is_protected": True}}).rounds("x L- L- L! L- L+ L- L-")
    assert model.about("x") == ["1 protect x", "3 protect x", "6 protect x"]


def test_a_protected_endpoint_is_scored_and_counts_as_capacity() -> None:
    model = run(flags={"b": {"is_protected": True}}).rounds("""
        x  L-  L-
        b  L-  L-
    """, healthy=("a",))  # fmt: skip
    assert model.said == ["1 protect b", "1 suspend x"]


def test_protection_that_ends_lets_the_next_failing_round_suspend() -> None:
    model = run(flags={"x": {"is_protected": True}}).rounds("x L- L-")
    model.flags = {}
    model.rounds("x L-", since=2)
    assert model.about("x") == ["1 protect x", "2 suspend x"]


def test_capacity_below_the_floor_by_itself_is_recorded_once_an_episode_and_releases_nothing() -> None:
    model = run().rounds("x L- L-", healthy=("a", "b"))
    model.rounds("x L? L? L?", since=2, healthy=("a",))
    assert model.said == ["1 suspend x", "2 below_floor"]
    model.rounds("x L? L?", since=5, healthy=("a", "b"))
    model.rounds("x L? L?", since=7, healthy=("a",))
    assert model.said == ["1 suspend x", "2 below_floor", "7 below_floor"]
    assert model.endpoint("x").suspension is not None


@pytest.mark.parametrize(
    ("b", "told"),
    [
        pytest.param("L+ L! L! L+", [], id="silent for 2 rounds"),
        pytest.param("L+ L! L! L!", ["3 below_floor"], id="silent for 3 rounds"),
        pytest.param("L+ L+ . .", ["2 below_floor"], id="left"),
        pytest.param("L+ L- L- L-", ["2 refuse b", "3 refuse b"], id="failing is not below the floor"),
    ],
)
def test_capacity_falls_by_itself_when_endpoints_fall_silent_or_leave(b: str, told: list[str]) -> None:
    assert run().rounds(f"b {b}", healthy=("a",)).said == told


def test_another_tiers_exclusion_can_take_the_capacity_below_the_floor() -> None:
    model = run().rounds("b L+", healthy=("a",))
    model.flags = {"b": {"in_other_tier": True}}
    assert model.rounds("b L+ L+", since=1, healthy=("a",)).said == ["1 below_floor"]


def test_capacity_below_the_floor_is_not_told_in_mode_off() -> None:
    assert run(mode=Mode.OFF).rounds("x L+ . .", healthy=("a",)).said == []


def test_rounds_stopped_on_our_own_side_make_nobody_unreachable() -> None:
    model = run().rounds("x L+")
    for at in range(1, 5):
        model.round(at, {"x": "L!", "a": "L!", "b": "L!"}, is_our_side=True)
    assert model.endpoint("x").standing.is_reachable
    assert "below_floor" not in {str(one.action) for one in model.decisions}


@pytest.mark.parametrize(
    ("share", "is_kept"),
    [
        pytest.param(None, True, id="off"),
        pytest.param(0.2, True, id="1 of 5 is 20 %"),
        pytest.param(0.19, False, id="1 of 5 is more than 19 %"),
        pytest.param(1.0, True, id="all"),
    ],
)
def test_max_share_limits_the_serving_providers_suspended_at_once(share: float | None, is_kept: bool) -> None:
    policy = Policy(max_share=share)
    state = model_of(*(endpoint_state(tag) for tag in ("x", "a", "b", "c", "d")))
    assert is_share_kept(state, "x", policy, counts_shadows=False) is is_kept
    model = run(policy=policy).rounds("x L- L-", healthy=("a", "b", "c", "d"))
    assert model.about("x") == ["1 suspend x" if is_kept else "1 refuse x"]


def test_max_share_counts_suspended_providers_not_endpoints() -> None:
    state = model_of(
        endpoint_state("x/1"),
        endpoint_state("x/2", suspension=held(0, 1)),
        *(endpoint_state(tag) for tag in "abcd"),
    )
    assert is_share_kept(state, "x/1", Policy(max_share=0.2), counts_shadows=False)
    assert not is_share_kept(state, "a", Policy(max_share=0.2), counts_shadows=False)


@pytest.mark.parametrize(
    ("floor", "decided"), [(0, "suspend"), (1, "suspend"), (2, "suspend"), (3, "refuse")]
)
def test_the_floor_is_a_policy_value(floor: int, decided: str) -> None:
    assert run(policy=Policy(floor=floor)).rounds("x L- L-").about("x") == [f"1 {decided} x"]


def test_max_share_is_of_serving_providers() -> None:
    gone = endpoint_state("gone", suspension=held(0, 1), is_serving=False)
    state = model_of(endpoint_state("x"), gone, *(endpoint_state(tag) for tag in "abcd"))
    assert is_share_kept(state, "x", Policy(max_share=0.2), counts_shadows=False)
    assert not is_share_kept(state, "x", Policy(max_share=0.19), counts_shadows=False)
