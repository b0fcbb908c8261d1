"""The snapshot every call of this process uses, kept by one thread (rule R3).

The thread starts on the first call, after a fork anew in the child. It reads the reviewed tier and the last
good snapshot from disk, then polls the database every `POLL_S`, and compiles again when the version has
changed, when an entry ends, and every `RELOAD_S` in any case. Callers only ever read: the first one waits for
the thread's first answer, at most `FIRST_WAIT_S`, so an exclusion committed before a process started is in
force in it; later ones wait for nothing. A process that has not asked for `IDLE_S` stops polling, and its next
call is a first one again. When the database fails, the last good snapshot stays; that is logged once an episode.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from django.conf import settings

from routing.compiling import compiled
from routing.domain.exclusion_list import SentList
from routing.domain.exclusion_rows import Rows
from routing.domain.snapshot import Snapshot
from routing.snapshot_file import SnapshotFile

logger = logging.getLogger(__name__)

POLL_S = 0.25
"""Four primary-key look-ups a second and process: well inside the 1 s of R3 and nothing to a database."""
FAILING_POLL_S = 0.5
RELOAD_S = 60.0
TELL_AGAIN_S = 2.0
FIRST_WAIT_S = 1.0
IDLE_S = 600.0


class Source(Protocol):
    """Where the rows come from; `routing.snapshot_source.DatabaseSource` but for tests."""

    def poll(self) -> tuple[int, timedelta]:
        """The committed version and how far the source's clock is ahead of this machine's."""

    def read(self, now: datetime) -> Rows:
        """All rows as of `now`."""

    def tell(self, gave_way: frozenset[tuple[str, str]], version: int, now: datetime) -> bool:
        """Record and tell what a snapshot of `version` leaves out; False when there is a newer version."""

    def close(self) -> None:
        """Give the connection back."""


@dataclass(frozen=True, kw_only=True)
class SnapshotState:
    """How old the snapshot is. `origin`: `database`, `disk` (started without one) or `code` (neither was there)."""

    version: int
    origin: str
    confirmed_at: datetime | None
    is_failing: bool

    def age_s(self, now: datetime) -> float | None:
        """Seconds since the database last confirmed it; None when it never did."""
        return (now - self.confirmed_at).total_seconds() if self.confirmed_at else None


class Refresher:
    """The snapshot of one process and the thread that keeps it."""

    def __init__(self, make_source: Callable[[], Source], file: SnapshotFile) -> None:
        self._make_source = make_source
        self._file = file
        self._snapshot: Snapshot | None = None
        self._origin = "code"
        self._confirmed_at: datetime | None = None
        self._offset_s = 0.0
        self._is_failing = False
        self._since_s: dict[str, float] = {}
        self.forget_thread()

    def forget_thread(self) -> None:
        """Start over with what is known: in a forked child, which has no such thread, its locks are nobody's."""
        self._lock = threading.Lock()
        self._has_local = threading.Event()
        self._has_answer = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_live = False
        self._last_use_s = time.monotonic()
        self._reload_at_s = 0.0
        self._told: frozenset[tuple[str, str]] | None = None
        self._tell_again_at_s = 0.0

    def now_s(self) -> float:
        """Seconds since the epoch by the database's clock, as of the last poll's offset."""
        return time.time() + self._offset_s

    def snapshot(self) -> Snapshot:
        """The snapshot to use now. No I/O; only a first call waits."""
        self._last_use_s = time.monotonic()
        if self._is_live and self._snapshot is not None:
            return self._snapshot
        return self._begin()

    def sent_at(self, model: str, moment_s: float) -> SentList:
        """What this process would have sent for `model` at an earlier moment, by the entries still in force."""
        plan = self.snapshot().plan((model,), self.now_s())
        rows = (row for row in plan.entries if row not in plan.gave_way)
        return SentList.of((row for row in rows if self._since_s.get(row.key, 0.0) <= moment_s), plan.tags_of)

    def state(self) -> SnapshotState:
        """How old the snapshot is and where it is from."""
        return SnapshotState(
            version=self._snapshot.rows.version if self._snapshot else 0,
            origin=self._origin,
            confirmed_at=self._confirmed_at,
            is_failing=self._is_failing,
        )

    def stop(self) -> None:
        """End the thread and wait for it; the next call starts another."""
        thread = self._thread
        self._stop.set()
        if thread is not None:
            thread.join()
        self.forget_thread()

    def _begin(self) -> Snapshot:
        with self._lock:
            if not self._is_live and self._start():
                self._has_answer.wait(FIRST_WAIT_S)
                self._has_local.wait()
                self._is_live = True
        assert self._snapshot is not None  # `_has_local` says so
        return self._snapshot

    def _start(self) -> bool:
        """Start the thread. False where none can be had (a process that ends): what is at hand must do then."""
        self._has_answer.clear()
        thread = threading.Thread(target=self._run, name="routewarden-snapshot", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            logger.warning("The exclusions are not refreshed here: %s", error)
            self._load_local()
            return False
        self._thread = thread
        return True

    def _run(self) -> None:
        try:
            self._load_local()
        finally:
            self._has_local.set()
        source = self._make_source()
        try:
            while not self._stop.is_set() and not self._is_idle():
                pause_s = self._step(source)
                self._has_answer.set()
                self._stop.wait(pause_s)
        finally:
            source.close()

    def _is_idle(self) -> bool:
        """Whether nobody asked for so long that the thread ends; the next call then starts another."""
        if time.monotonic() - self._last_use_s < IDLE_S:
            return False
        self._is_live = False
        return True

    def _load_local(self) -> None:
        """What needs no database: what the process had before, else the last good rows on disk, else none."""
        if self._snapshot is not None:
            return
        loaded = self._file.load()
        rows = Rows()
        if loaded is not None:
            rows, self._confirmed_at = loaded
            self._origin = "disk"
        self._snapshot = compiled(rows, datetime.fromtimestamp(self.now_s(), tz=UTC))

    def _step(self, source: Source) -> float:
        """Poll once and read again if need be; how many seconds to pause."""
        try:
            version, offset = source.poll()
            self._offset_s = offset.total_seconds()
            now_s = self.now_s()
            if self._is_outdated(version, now_s):
                self._adopt(source.read(datetime.fromtimestamp(now_s, tz=UTC)), now_s)
            self._confirmed_at = datetime.fromtimestamp(now_s, tz=UTC)
            self._tell(source)
        except Exception as error:  # noqa: BLE001  whatever happens, the thread goes on: it is all that keeps R3
            self._note_failure(error)
            source.close()
            return FAILING_POLL_S
        self._note_success()
        return POLL_S

    def _is_outdated(self, version: int, now_s: float) -> bool:
        snapshot = self._snapshot
        return (
            snapshot is None
            or self._origin != "database"
            or version != snapshot.rows.version
            or now_s >= min(self._reload_at_s, snapshot.next_change_s)
        )

    def _adopt(self, rows: Rows, now_s: float) -> None:
        now = datetime.fromtimestamp(now_s, tz=UTC)
        snapshot = compiled(rows, now)
        is_news = self._origin != "database" or self._snapshot is None or self._snapshot.rows != snapshot.rows
        begun_s = now_s if self._is_live else 0.0  # no call has been answered before the first snapshot
        self._since_s = {row.key: self._since_s.get(row.key, begun_s) for row in snapshot.rows.exclusions}
        self._snapshot = snapshot
        self._origin = "database"
        self._reload_at_s = now_s + RELOAD_S
        if is_news:
            for problem in snapshot.problems:
                logger.warning("%s", problem)
        self._file.save(rows, confirmed_at=now)

    def _tell(self, source: Source) -> None:
        """Have it recorded what the snapshot leaves out, when that has changed."""
        assert self._snapshot is not None
        gave_way = self._snapshot.gave_way()
        now_s = self.now_s()
        if gave_way == self._told or now_s < self._tell_again_at_s:
            return
        try:
            if source.tell(gave_way, self._snapshot.rows.version, datetime.fromtimestamp(now_s, tz=UTC)):
                self._told = gave_way
            self._tell_again_at_s = 0.0
        except Exception as error:  # noqa: BLE001  what is in force does not wait until it is told; later polls try
            if not self._tell_again_at_s:
                logger.warning("What gives way could not be recorded yet: %s", _first_line(error))
            self._tell_again_at_s = now_s + TELL_AGAIN_S

    def _note_failure(self, error: Exception) -> None:
        if not self._is_failing:
            kept = "the last good ones stay" if self._confirmed_at else "only builtin ones are"
            logger.warning("The exclusions cannot be read, %s in force: %s", kept, _first_line(error))
        self._is_failing = True

    def _note_success(self) -> None:
        if self._is_failing:
            logger.info("The exclusions can be read again")
        self._is_failing = False


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _database() -> Source:
    from routing.snapshot_source import DatabaseSource  # in the thread: models load only when Django is ready

    return DatabaseSource()


_refresher: Refresher | None = None
_making = threading.Lock()


def refresher() -> Refresher:
    """The refresher of this process."""
    return _refresher or _make()


def _make() -> Refresher:
    global _refresher  # noqa: PLW0603  one for each process is what it is
    with _making:
        if _refresher is None:
            _refresher = Refresher(_database, SnapshotFile(Path(settings.STATE_DIR)))
        return _refresher


def _after_fork() -> None:
    global _making  # noqa: PLW0603  the parent's lock may have been held by a thread that is not here
    _making = threading.Lock()
    if _refresher is not None:
        _refresher.forget_thread()


os.register_at_fork(after_in_child=_after_fork)
