"""Waits between tries double up to a cap, at least half of each certain."""

from datetime import timedelta
from random import Random

import pytest

from incidents.domain.outbox import RetryPolicy, wait_after


class _Low(Random):
    def uniform(self, a: float, b: float) -> float:
        return a


class _High(Random):
    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize(
    ("attempts", "longest_s"), [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (9, 3600), (5000, 3600)]
)
def test_the_wait_doubles_up_to_a_cap_and_half_of_it_is_jitter(attempts: int, longest_s: float) -> None:
    policy = RetryPolicy()
    assert wait_after(attempts, policy, _Low()) == timedelta(seconds=longest_s / 2)
    assert wait_after(attempts, policy, _High()) == timedelta(seconds=longest_s)


def test_a_mail_server_may_be_down_for_eight_hours_before_anything_is_given_up() -> None:
    policy = RetryPolicy()
    shortest = sum((wait_after(n, policy, _Low()) for n in range(1, policy.most_attempts)), timedelta())
    assert shortest > timedelta(hours=8)
