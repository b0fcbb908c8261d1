"""Rule R3, one process: the thread, the disk, what happens without a database and after a fork."""

import logging
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from routing import compiling, snapshot
from routing.domain.exclusion_rows import Rows
from routing.domain.modes import Tier
from routing.snapshot import Refresher
from routing.snapshot_file import SnapshotFile
from tests.routing.domain.rows import excluded, model

MODEL = "author/model"
NOW = datetime.now(tz=UTC)


class Tables:
    """A source whose rows a test sets; it can be slow or broken like a database."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.error: Exception | None = None
        self.delay_s = 0.0
        self.is_stuck = self.is_locked = False
        self.released = threading.Event()
        self.ahead = timedelta(0)
        self.polls = self.reads = self.closes = 0
        self.polled_by: set[str] = set()
        self.told: list[frozenset[tuple[str, str]]] = []

    def poll(self) -> tuple[int, timedelta]:
        self.polls += 1
        self.polled_by.add(threading.current_thread().name)
        time.sleep(self.delay_s)
        if self.is_stuck:
            self.released.wait(60)
        if self.error:
            raise self.error
        return self.rows.version, self.ahead

    def read(self, now: datetime) -> Rows:
        self.reads += 1
        return self.rows

    def tell(self, gave_way: frozenset[tuple[str, str]], version: int, now: datetime) -> bool:
        if self.is_locked:
            raise OSError("locked")
        self.told.append(gave_way)
        return True

    def close(self) -> None:
        self.closes += 1


def rows_with(*exclusions, version: int = 1) -> Rows:
    watched = model(serving=["alpha", "beta"], discovered_at=datetime.now(tz=UTC))
    return Rows(version=version, exclusions=exclusions, models=(watched,), tags=frozenset({"alpha", "beta"}))


@pytest.fixture
def tables() -> Tables:
    return Tables(rows_with(excluded("alpha")))


@pytest.fixture
def start(tables: Tables, tmp_path: Path) -> Iterator[Callable[[], Refresher]]:
    """Starts a refresher as a process of its own would, on the same tables and disk."""
    started: list[Refresher] = []

    def make() -> Refresher:
        started.append(Refresher(lambda: tables, SnapshotFile(tmp_path)))
        return started[-1]

    yield make
    for refresher in started:
        refresher.stop()


def ignored(refresher: Refresher) -> list[str]:
    names: list[str] = refresher.snapshot().plan((MODEL,), refresher.now_s()).preferences()["ignore"]
    return names


def wait_for(condition: Callable[[], bool], limit_s: float = 1.0) -> bool:
    """Whether `condition` came to hold within R3's second."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def test_the_first_call_has_what_the_database_says(start) -> None:
    assert ignored(start()) == ["alpha"]


def test_a_change_is_in_force_within_a_second(start, tables: Tables) -> None:
    refresher = start()
    ignored(refresher)
    tables.rows = rows_with(excluded("beta"), version=2)
    assert wait_for(lambda: ignored(refresher) == ["beta"])


def test_an_unchanged_version_is_polled_and_not_read_again(start, tables: Tables) -> None:
    refresher = start()
    ignored(refresher)
    assert wait_for(lambda: tables.polls >= 3)
    assert tables.reads == 1


def test_rows_are_read_again_after_a_while_whatever_the_version_says(
    start, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "RELOAD_S", 0.3)
    refresher = start()
    ignored(refresher)
    tables.rows = rows_with(excluded("beta"), version=1)
    assert wait_for(lambda: ignored(refresher) == ["beta"])


def test_callers_never_read_the_source(start, tables: Tables) -> None:
    refresher = start()
    ignored(refresher)
    tables.error = OSError("away")
    tables.polled_by.clear()
    for _ in range(200):
        ignored(refresher)
    assert wait_for(lambda: bool(tables.polled_by))
    assert tables.polled_by == {"routewarden-snapshot"}


def test_a_database_error_keeps_the_last_good_and_is_logged_once_an_episode(
    start, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    refresher = start()
    ignored(refresher)
    tables.error = OSError("connection refused\nsecond line")
    assert wait_for(lambda: tables.closes >= 2, limit_s=3)
    assert ignored(refresher) == ["alpha"]
    assert refresher.state().is_failing
    tables.error = None
    assert wait_for(lambda: not refresher.state().is_failing)
    lines = [record.message for record in caplog.records]
    assert lines == [
        "The exclusions cannot be read, the last good ones stay in force: connection refused",
        "The exclusions can be read again",
    ]


def test_an_entry_ends_at_its_end_although_the_refresher_is_stuck(start, tables: Tables) -> None:
    ends_at = datetime.now(tz=UTC) + timedelta(seconds=0.4)
    tables.rows = rows_with(excluded("alpha", ends_at=ends_at))
    refresher = start()
    assert ignored(refresher) == ["alpha"]
    tables.is_stuck = True
    while datetime.now(tz=UTC) < ends_at:
        time.sleep(0.01)
    assert ignored(refresher) == []
    tables.released.set()


def test_ends_are_measured_by_the_databases_clock(start, tables: Tables) -> None:
    tables.rows = rows_with(excluded("alpha", ends_at=datetime.now(tz=UTC) + timedelta(minutes=30)))
    tables.ahead = timedelta(hours=1)
    assert ignored(start()) == []


def test_a_process_that_starts_without_a_database_has_the_last_good_snapshot(start, tables: Tables) -> None:
    ignored(start())
    tables.error = OSError("away")
    later = start()
    assert ignored(later) == ["alpha"]
    state = later.state()
    assert (state.origin, state.version, state.is_failing) == ("disk", 1, True)


def test_a_process_that_starts_with_neither_database_nor_disk_has_the_reviewed_tier(
    start, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed = excluded("gamma", Tier.BUILTIN, model=None)
    monkeypatch.setattr(compiling, "builtin_rows", lambda: (reviewed,))
    tables.error = OSError("away")
    refresher = start()
    assert ignored(refresher) == ["gamma"]
    assert refresher.state() == snapshot.SnapshotState(
        version=0, origin="code", confirmed_at=None, is_failing=True
    )
    assert refresher.state().age_s(NOW) is None


def test_the_age_of_the_snapshot_is_visible(start) -> None:
    refresher = start()
    ignored(refresher)
    age_s = refresher.state().age_s(datetime.now(tz=UTC))
    assert age_s is not None
    assert 0 <= age_s < 1


def test_a_database_that_does_not_answer_holds_the_first_call_up_for_a_second_at_most(
    start, tables: Tables
) -> None:
    ignored(start())
    tables.delay_s = 3.0
    later = start()
    started = time.monotonic()
    assert ignored(later) == ["alpha"]
    assert time.monotonic() - started < snapshot.FIRST_WAIT_S + 0.5
    started = time.monotonic()
    ignored(later)
    assert time.monotonic() - started < 0.1


def test_many_first_calls_at_once_start_one_thread(start, tables: Tables) -> None:
    refresher = start()
    barrier = threading.Barrier(8)
    found: list[list[str]] = []

    def call() -> None:
        barrier.wait()
        found.append(ignored(refresher))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [["alpha"]] * 8
    assert tables.reads == 1


def test_a_process_that_asks_nothing_stops_polling_and_starts_again_with_the_next_call(
    start, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "IDLE_S", 0.2)
    refresher = start()
    ignored(refresher)
    assert wait_for(lambda: tables.closes == 1, limit_s=3)
    polls = tables.polls
    tables.rows = rows_with(excluded("beta"), version=2)
    assert ignored(refresher) == ["beta"]
    assert tables.polls > polls


def test_what_gives_way_is_handed_on_to_be_told_once(start, tables: Tables) -> None:
    held = [
        excluded(tag, Tier.CANARY, ends_at=datetime.now(tz=UTC) + timedelta(days=1))
        for tag in ("alpha", "beta")
    ]
    tables.rows = rows_with(*held)
    refresher = start()
    assert len(ignored(refresher)) == 1
    assert wait_for(lambda: tables.polls >= 3)
    (pair,) = refresher.snapshot().gave_way()
    assert tables.told == [frozenset({pair})]
    tables.rows = rows_with(held[0], version=2)
    assert wait_for(lambda: tables.told[1:] == [frozenset()])


def test_what_cannot_be_told_yet_is_in_force_all_the_same_and_tried_again(
    start, tables: Tables, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tables.rows = rows_with(excluded("alpha", may_give_way=True), excluded("beta", may_give_way=True))
    tables.is_locked = True
    refresher = start()
    assert len(ignored(refresher)) == 1
    assert wait_for(lambda: "What gives way could not be recorded yet: locked" in caplog.text)
    assert not refresher.state().is_failing
    tables.is_locked = False
    assert wait_for(lambda: len(tables.told) == 1, limit_s=2 * snapshot.TELL_AGAIN_S)
    assert caplog.text.count("could not be recorded") == 1


def test_where_no_thread_can_be_had_the_snapshot_on_disk_must_do(
    start, tables: Tables, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ignored(start())

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    refresher = start()
    assert ignored(refresher) == ["alpha"]
    monkeypatch.undo()
    tables.rows = rows_with(excluded("beta"), version=2)
    assert ignored(refresher) == ["beta"]
    assert "The exclusions are not refreshed here: can't start new thread" in caplog.text


def test_a_child_has_a_thread_of_its_own_and_what_its_parent_knew(start, tables: Tables) -> None:
    refresher = start()
    ignored(refresher)
    parents_thread = refresher._thread
    refresher.forget_thread()  # what the fork handler does in a child
    tables.rows = rows_with(excluded("beta"), version=2)
    assert ignored(refresher) == ["beta"]
    assert refresher._thread is not parents_thread
    assert parents_thread is not None


def test_what_this_process_sent_earlier_is_remembered_by_when_it_began(start, tables: Tables) -> None:
    refresher = start()
    ignored(refresher)
    began_s = refresher.now_s()
    tables.rows = rows_with(excluded("alpha"), excluded("gamma"), version=2)
    assert wait_for(lambda: ignored(refresher) == ["alpha", "gamma"])
    assert refresher.sent_at(MODEL, began_s).names == ("alpha",)
    assert refresher.sent_at(MODEL, refresher.now_s()).names == ("alpha", "gamma")


# the disk


def test_the_file_is_replaced_as_a_whole_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = SnapshotFile(tmp_path / "state")
    assert file.save(rows_with(excluded("alpha")), confirmed_at=NOW)
    assert file.save(rows_with(excluded("beta")), confirmed_at=NOW)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [path.name for path in file.path.parent.iterdir()] == ["snapshot.json"]
    loaded = file.load()
    assert loaded is not None
    assert [row.entry for row in loaded[0].exclusions] == ["beta"]
    assert loaded[1] == NOW


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"format": 1}', b"[" * 100_000, b'{"format": 1, "version": NaN}'],
)
def test_a_file_that_is_no_snapshot_is_left_aside_with_a_line_in_the_log(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file = SnapshotFile(tmp_path)
    file.path.write_bytes(content)
    assert file.load() is None
    assert "The snapshot snapshot.json is left aside" in caplog.text


def test_no_file_is_no_snapshot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert SnapshotFile(tmp_path).load() is None
    assert not caplog.records


def test_a_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.snapshot_file.MOST_BYTES", 10)
    file = SnapshotFile(tmp_path)
    file.path.write_text("x" * 11)
    assert file.load() is None


def test_a_disk_that_cannot_be_written_is_logged_once_and_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    file = SnapshotFile(blocked / "state")
    assert not file.save(rows_with(), confirmed_at=NOW)
    assert not file.save(rows_with(), confirmed_at=NOW)
    assert len(caplog.records) == 1


def test_a_reader_never_finds_half_a_file(tmp_path: Path) -> None:
    file = SnapshotFile(tmp_path)
    small, large = rows_with(), rows_with(*(excluded(f"host{number}") for number in range(500)))
    file.save(small, confirmed_at=NOW)
    writer = threading.Thread(
        target=lambda: [file.save(rows, confirmed_at=NOW) for rows in (large, small) * 20]
    )
    writer.start()
    while writer.is_alive():
        loaded = file.load()
        assert loaded is not None
        assert len(loaded[0].exclusions) in (0, 500)
    writer.join()


def test_the_reviewed_tier_that_cannot_be_read_is_logged_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise OSError("no such file")

    monkeypatch.setattr(compiling, "builtin_entries", broken)
    compiled = compiling.compiled(rows_with(excluded("alpha")), NOW)
    assert compiled.plan((MODEL,), NOW.timestamp()).sent.names == ("alpha",)
    assert "The reviewed exclusions are not in force" in caplog.text


def test_preferences_that_cannot_be_sent_are_logged_when_they_are_read(
    start, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    broken = replace(tables.rows.models[0], preferences={"zdr": "yes"})
    tables.rows = replace(tables.rows, models=(broken,))
    ignored(start())
    assert "The preferences of author/model: provider.zdr is true or false" in caplog.text


def test_the_process_wide_refresher_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_refresher", None)
    assert len({id(snapshot.refresher()) for _ in range(3)}) == 1
