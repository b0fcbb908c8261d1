"""How late the event loop runs while an exchange is under way (rule C4: overloaded, we prove nothing).

One timer serves all exchanges of a loop and runs only while there are any.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

SAMPLE_EVERY_S = 0.05
"""A block shorter than this may go unseen; the limits the lag is held against are far longer."""


class LagWatch:
    """The largest lag seen by one exchange so far, in `lag_ms`."""

    lag_ms: float = 0.0


class LoopLag:
    """A sampler of one event loop, shared by its exchanges."""

    def __init__(self) -> None:
        self._watches: set[LagWatch] = set()
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def watching(self) -> Iterator[LagWatch]:
        """Measure inside the block; must run in the loop. A sample that is overdue at its end counts too."""
        watch = LagWatch()
        self._sample()
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._record()
            self._watches.discard(watch)
            if not self._watches:
                self._stop()

    def _sample(self) -> None:
        """Note how late the present sample is, and begin the next one from now."""
        self._record()
        self._stop()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(loop.time() + SAMPLE_EVERY_S, self._sample)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _record(self) -> None:
        if self._timer is None:
            return
        late_ms = (asyncio.get_running_loop().time() - self._timer.when()) * 1000
        for watch in self._watches:
            watch.lag_ms = max(watch.lag_ms, late_ms)
