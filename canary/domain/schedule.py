"""When a model is due, in which language it is asked, how starts are spread and what a budget allows.

Rules C8 (rotation), C10 (the failing language stays), C21 (spend). Pure functions; times are aware datetimes.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from canary.domain.policy import Policy
from canary.domain.scoring import DRY_ROUNDS_TO_NEW_PROMPT, Culprit
from canary.domain.verdicts import Contract

# Starts of a round are spread over this share of the interval at most, so that a short interval keeps its pace.
SPREAD_SHARE = 0.1
# From this share of the day's budget on, rounds are spread out so that the rest lasts the day (C21).
NEAR_BUDGET_SHARE = Decimal("0.8")


def offset_s(slug: str, interval_s: float) -> int:
    """A model's stable offset into its interval, so that models do not start together."""
    digest = hashlib.sha256(slug.encode()).digest()
    return int(int.from_bytes(digest[:8], "big") % max(int(interval_s), 1))


def slot_at(now: datetime, slug: str, interval_s: float) -> int:
    """The start (epoch seconds) of the interval of `slug` that contains `now`: the key a round is claimed by."""
    offset = offset_s(slug, interval_s)
    return int((now.timestamp() - offset) // interval_s * interval_s + offset)


def is_due(now: datetime, *, last_started_at: datetime | None, policy: Policy, stretch: float = 1.0) -> bool:
    """Whether a round may start: not so soon after the last one that it could not be scored (C12).

    `stretch` above 1 spreads rounds out by that factor (C21).
    """
    if last_started_at is None:
        return True
    gap = policy.shortest_gap if stretch <= 1 else timedelta(seconds=policy.interval_s * stretch)
    return now - last_started_at >= gap


def rotation_language(languages: Sequence[str], slot: int, interval_s: float) -> str:
    """The language of a round in rotation."""
    return languages[int(slot // interval_s) % len(languages)]


def language_to_ask(culprits: Iterable[Culprit], rotation: str) -> str:
    """The language an endpoint is asked: the culprit asked longest ago, oldest first; else the rotation's (C10)."""
    failing = [one for one in culprits if one.pair.contract is Contract.LANGUAGE and one.pair.language]
    if not failing:
        return rotation
    longest_ago = min(failing, key=lambda one: (one.asked_at, one.since))
    return longest_ago.pair.language or rotation


def prompt_variant(culprits: Iterable[Culprit], language: str, usual: int) -> int:
    """Which prompt of a language is used: another one after every 4 rounds without a conclusive verdict (C10)."""
    for one in culprits:
        if one.pair.contract is Contract.LANGUAGE and one.pair.language == language:
            return usual + one.dry_rounds // DRY_ROUNDS_TO_NEW_PROMPT
    return usual


def start_delays_s(count: int, interval_s: float, longest_s: float) -> list[float]:
    """Seconds to wait before each of `count` endpoints starts: even, over at most `longest_s`."""
    spread = min(longest_s, interval_s * SPREAD_SHARE)
    return [spread * position / count for position in range(count)]


class BudgetStage(StrEnum):
    """What is left of a day's budget allows."""

    FULL = "full"
    SPREAD = "spread"
    ESSENTIAL = "essential"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, kw_only=True)
class Spend:
    """A model's day so far, in USD: what was spent, the budget, and what rounds cost by estimate.

    `essential_usd` is the cost of probing only culprits and suspended endpoints, which are dropped last.
    """

    spent_usd: Decimal
    budget_usd: Decimal
    round_usd: Decimal
    essential_usd: Decimal


def budget_stage(spend: Spend) -> BudgetStage:
    """What the rest of the budget allows now (C21). A round that costs nothing is always allowed."""
    left = spend.budget_usd - spend.spent_usd
    if spend.round_usd <= 0:
        return BudgetStage.FULL
    if left < spend.round_usd:
        has_essentials = 0 < spend.essential_usd <= left
        return BudgetStage.ESSENTIAL if has_essentials else BudgetStage.EXHAUSTED
    if spend.spent_usd >= spend.budget_usd * NEAR_BUDGET_SHARE:
        return BudgetStage.SPREAD
    return BudgetStage.FULL


def stretch(spend: Spend, *, now: datetime, interval_s: float) -> float:
    """The factor by which rounds are spread out so that what is left lasts until midnight UTC; at least 1."""
    left = spend.budget_usd - spend.spent_usd
    if spend.round_usd <= 0 or left <= 0:
        return 1.0
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    rounds_wanted = (midnight - now).total_seconds() / interval_s
    rounds_paid = float(left / spend.round_usd)
    return max(1.0, rounds_wanted / rounds_paid)
