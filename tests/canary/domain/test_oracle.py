"""The rules' code and a slow second reading of the same text decide the same in long random histories."""

from datetime import timedelta

import pytest
from hypothesis import given, settings

from tests.canary.domain.histories import POLICY, History, histories, play, random_history
from tests.canary.domain.oracle import Oracle, Told

NOT_READ = ("blind", "below_floor", "not_applicable")
"""What the second reading says nothing about."""


def by_the_code(history: History) -> list[Told]:
    return [
        (one.at, str(one.action), one.endpoint, one.level)
        for one in play(history).decisions
        if one.action not in NOT_READ
    ]


def by_the_text(history: History) -> list[Told]:
    oracle = Oracle(timedelta(seconds=POLICY.interval_s))
    for one in history:
        oracle.take(one)
    return oracle.told


@pytest.mark.parametrize("seed", range(24))
def test_two_readings_of_the_rules_decide_the_same_in_a_long_history(seed: int) -> None:
    history = random_history(seed, 100)
    assert by_the_code(history) == by_the_text(history)


@settings(max_examples=40)
@given(histories())
def test_two_readings_of_the_rules_decide_the_same(history: History) -> None:
    assert by_the_code(history) == by_the_text(history)


def test_the_long_histories_see_every_action_the_second_reading_knows() -> None:
    seen = {action for seed in range(12) for _, action, _, _ in by_the_text(random_history(seed, 100))}
    assert seen == {
        "suspend", "renew", "refuse", "protect", "recover", "expire", "unsettled", "weakened", "common_cause",
    }  # fmt: skip
