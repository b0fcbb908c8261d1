"""What holds in every history: of streaks, floor, ladder, modes, order and time (rules C11-C17)."""

import random
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from canary.domain.decision import Decision
from canary.domain.scoring import restart_if_old
from incidents.domain.actions import Action
from routing.domain.modes import Mode
from tests.canary.domain.builders import START, Run, moment
from tests.canary.domain.histories import (
    FAILING,
    PACE,
    PASSING,
    POLICY,
    TAGS,
    WORDS,
    History,
    HistoryRound,
    histories,
    play,
    shuffled,
    take,
    told,
    wait,
)

BEGINNINGS = (Action.SUSPEND, Action.RENEW)
ENDS = (Action.RECOVER, Action.EXPIRE, Action.LIFT)
MODES = st.sampled_from([Mode.OBSERVE, Mode.ENFORCE])
few = settings(max_examples=30)

# Rounds so far apart that another one fits between them, and none in which an endpoint falls silent by itself.
ROOMY = histories(words=[*PASSING, *FAILING, "L?", "L+,S!", "."], gaps=[2, 2, 2, 3, 12, 13])
FREEZING = st.sampled_from(["L?,F?,S?,fr?", "L!,F!,S!,fr!", "L+,F!,S?,fr!", "0"])


def with_frozen(history: History, words: list[str | None]) -> list[HistoryRound]:
    """A frozen round, one interval later, after each round for which there is a word (three at most)."""
    made: list[HistoryRound] = []
    for one, word in zip(history, words, strict=True):
        made.append(one)
        if word is not None and not one.is_our_side and not one.is_manual:
            frozen = {tag: word for tag, was in one.words.items() if was != "."}
            made.append(replace(one, at=one.at + PACE, words=frozen))
    return made


@few
@given(ROOMY, st.data())
def test_a_frozen_round_changes_no_streak_and_no_decision(history: History, data: st.DataObject) -> None:
    where = data.draw(st.sets(st.integers(0, len(history) - 1), max_size=3))
    words = [data.draw(FREEZING) if index in where else None for index in range(len(history))]
    longer = with_frozen(history, words)
    plain, frozen = play(history), play(longer)
    wait(plain, longer[-1].at)  # a round after the last one also lets time pass
    by_itself = ("blind", "below_floor")
    assert told(frozen.decisions, without=by_itself) == told(plain.decisions, without=by_itself)
    for tag, endpoint in plain.state.endpoints.items():
        # What is too old by the time of the last round starts anew, frozen round or not (C12).
        mine = restart_if_old(endpoint.standing, POLICY, at=moment(longer[-1].at))
        other = restart_if_old(frozen.endpoint(tag).standing, POLICY, at=moment(longer[-1].at))
        assert (other.failing, other.clean) == (mine.failing, mine.clean)
        assert other.streak_pairs == mine.streak_pairs


def providers_left(model: Run) -> int:
    """Providers with an endpoint in production, by the words of the Terms."""
    left = set()
    for endpoint in model.state.endpoints.values():
        is_out = endpoint.in_other_tier or endpoint.suspension is not None or not endpoint.is_serving
        if not is_out and endpoint.standing.silent_rounds < 3:
            left.add(endpoint.provider)
    return len(left)


@few
@given(histories(), MODES)
def test_no_suspension_or_renewal_ever_breaks_the_floor(history: History, mode: Mode) -> None:
    model = play([], mode=mode)
    for one in history:
        seen = len(model.decisions)
        wait(model, one.at)
        if any(decision.action in BEGINNINGS for decision in model.decisions[seen:]):
            assert providers_left(model) >= POLICY.floor
        if any(decision.action in BEGINNINGS for decision in take(model, one)):
            assert providers_left(model) >= POLICY.floor


@few
@given(histories(), st.data())
def test_an_endpoint_that_never_fails_is_never_suspended(history: History, data: st.DataObject) -> None:
    harmless = st.sampled_from([word for word in WORDS if "-" not in word])
    kind = [replace(one, words={**one.words, "b": data.draw(harmless)}) for one in history]
    assert [
        one.action for one in play(kind).decisions if one.endpoint == "b" and one.action != "not_applicable"
    ] == []


@few
@given(histories())
def test_observe_never_makes_an_enforced_decision(history: History) -> None:
    assert not any(decision.is_enforced for decision in play(history, mode=Mode.OBSERVE).decisions)


@few
@given(histories())
def test_observe_and_enforce_decide_the_same_but_for_the_flag(history: History) -> None:
    observed, enforced = play(history, mode=Mode.OBSERVE), play(history, mode=Mode.ENFORCE)
    assert told(observed.decisions) == told(enforced.decisions)
    assert all(decision.is_enforced for decision in enforced.decisions)


@few
@given(histories())
def test_nothing_is_decided_in_mode_off(history: History) -> None:
    assert play(history, mode=Mode.OFF).decisions == []


@few
@given(histories())
def test_decisions_are_in_time_order_and_none_is_later_than_its_round(history: History) -> None:
    model = play([])
    for one in history:
        assert all(decision.at <= moment(one.at) for decision in take(model, one))
    times = [decision.at for decision in model.decisions]
    assert times == sorted(times)


@few
@given(histories(), st.integers(0, 1000))
def test_the_order_of_endpoints_within_a_round_changes_nothing(history: History, seed: int) -> None:
    plain, other = play(history), play(shuffled(history, seed))
    assert told(plain.decisions) == told(other.decisions)
    assert plain.state == other.state


def test_two_languages_unsettled_in_one_round_are_told_in_the_order_of_tags() -> None:
    rounds = ["fr-,L+", *["fr?,L+"] * 8]
    for tags in (TAGS, TAGS[::-1]):
        history = [
            HistoryRound(
                at=PACE * (1 + index), words={tag: word if tag in ("b", "c") else "L+,fr+" for tag in tags}
            )
            for index, word in enumerate(rounds)
        ]
        assert [decision.endpoint for decision in play(history).decisions] == ["b", "c"]


@few
@given(histories())
def test_the_same_history_decides_the_same_twice(history: History) -> None:
    assert play(history).decisions == play(history).decisions


def checked_ladder(decisions: list[Decision]) -> None:
    """Level and end of one endpoint's suspensions follow C15, counted from the decisions alone."""
    level, before = 0, START - timedelta(days=99)
    for decision in decisions:
        level = 1 if decision.at - before >= timedelta(days=14) else min(3, level + 1)
        before = decision.at
        assert decision.level == level
        assert decision.until == decision.at + timedelta(days={1: 1, 2: 3, 3: 7}[level])


@few
@given(histories(longest=40), MODES)
def test_levels_and_ends_follow_the_ladder(history: History, mode: Mode) -> None:
    decisions = play(history, mode=mode).decisions
    for tag in TAGS:
        checked_ladder([one for one in decisions if one.endpoint == tag and one.action in BEGINNINGS])


@few
@given(histories(longest=40), MODES)
def test_suspensions_of_an_endpoint_never_overlap_and_renewals_join_without_a_gap(
    history: History, mode: Mode
) -> None:
    model = play(history, mode=mode)
    for tag in TAGS:
        until: datetime | None = None
        for one in model.decisions:
            if one.endpoint != tag:
                continue
            if one.action is Action.SUSPEND:
                assert until is None
            if one.action is Action.RENEW:
                assert one.at == until
            if one.action in ENDS:
                assert until is not None
                assert one.at < until if one.action is Action.RECOVER else one.at == until
            if one.action in (*BEGINNINGS, *ENDS):
                until = one.until
        held = model.state.endpoints[tag].suspension if tag in model.state.endpoints else None
        assert until == (held.until if held else None)


@few
@given(histories(longest=25), histories(longest=25), st.data())
def test_a_mark_makes_later_decisions_those_of_a_history_in_which_it_never_counted(
    before: History, after: History, data: st.DataObject
) -> None:
    model = play(before)
    closed = [tag for tag, one in model.state.endpoints.items() if one.rungs and one.suspension is None]
    assume(closed)
    tag = data.draw(st.sampled_from(closed))
    end = before[-1].at
    later = [replace(one, at=end + one.at) for one in after]

    without = play([])
    endpoint = model.endpoint(tag)
    never = replace(endpoint, rungs=endpoint.rungs[:-1])
    without.state = replace(model.state, endpoints={**model.state.endpoints, tag: never})
    model.decisions = []
    assert model.review(end, tag, is_false_positive=True) == []
    assert told(play(later, since=model).decisions) == told(play(later, since=without).decisions)


@few
@given(histories(longest=25), st.integers(0, 10_000))
def test_time_may_pass_in_one_go_or_in_any_number_of_steps(history: History, seed: int) -> None:
    rng = random.Random(seed)
    stepwise = play([])
    now = 0.0
    for one in history:
        for pause in sorted(rng.uniform(now, one.at) for _ in range(rng.randrange(4))):
            wait(stepwise, pause)
        wait(stepwise, one.at if rng.random() < 0.5 else now)
        take(stepwise, one)
        now = one.at
    assert stepwise.decisions == play(history).decisions


@few
@given(histories(longest=15))
def test_time_that_passes_alone_comes_to_an_end(history: History) -> None:
    model = play(history)
    wait(model, history[-1].at + 48 * 365)
    assert all(endpoint.suspension is None for endpoint in model.state.endpoints.values())
    seen = len(model.decisions)
    wait(model, history[-1].at + 48 * 3650)
    assert len(model.decisions) == seen
