"""When a notification is tried again, and when it is given up."""

from dataclasses import dataclass
from datetime import timedelta
from random import Random


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How an undelivered notification is retried: about 13 hours until it is given up.

    `lease_s` exceeds the hard time limit of the delivering task: a row whose lease has run out has no
    living sender.
    """

    first_wait_s: float = 30.0
    longest_wait_s: float = 3600.0
    most_attempts: int = 24
    lease_s: float = 180.0


def wait_after(attempts: int, policy: RetryPolicy, rng: Random) -> timedelta:
    """How long to wait after the failed attempt number `attempts` (from 1): doubling, capped, half of it jitter."""
    full = min(policy.longest_wait_s, policy.first_wait_s * 2 ** min(attempts - 1, 30))
    return timedelta(seconds=full / 2 + rng.uniform(0, full / 2))
