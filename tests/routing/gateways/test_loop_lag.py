"""A blocked event loop shows in the exchanges that were under way, and in no other."""

import asyncio
import time

import pytest

from routing.gateways.loop_lag import SAMPLE_EVERY_S, LoopLag

pytestmark = pytest.mark.anyio


def block(seconds: float) -> None:
    """Hold the whole event loop up, as a busy machine does."""
    time.sleep(seconds)


async def test_a_block_is_seen_by_everybody_who_was_waiting() -> None:
    lag = LoopLag()
    with lag.watching() as first, lag.watching() as second:
        await asyncio.sleep(0)
        block(SAMPLE_EVERY_S + 0.1)
        await asyncio.sleep(0.01)
    assert first.lag_ms > 50
    assert second.lag_ms > 50


async def test_a_block_at_the_very_end_is_seen_too() -> None:
    lag = LoopLag()
    with lag.watching() as watch:
        block(SAMPLE_EVERY_S + 0.1)
    assert watch.lag_ms > 50


async def test_a_block_before_an_exchange_is_not_its_own() -> None:
    lag = LoopLag()
    with lag.watching() as early:
        block(SAMPLE_EVERY_S + 0.4)
        with lag.watching() as late:
            await asyncio.sleep(SAMPLE_EVERY_S * 1.5)
    assert early.lag_ms > 350
    assert late.lag_ms < 350


async def test_the_timer_runs_only_while_somebody_watches() -> None:
    lag = LoopLag()
    with lag.watching():
        assert lag._timer is not None
    assert lag._timer is None
