"""The demo as a person starts it: every process, the story, the end of all of them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config.env import BASE_DIR

pytestmark = pytest.mark.processes


@contextmanager
def demo(state_dir: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "manage.py", "demo", "--json", "--state-dir", str(state_dir), *options]
    with subprocess.Popen(
        command, cwd=BASE_DIR, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def events(process: subprocess.Popen[str]) -> Iterator[Mapping[str, Any]]:
    assert process.stdout is not None
    return (json.loads(line) for line in process.stdout)


def processes_of(state_dir: Path) -> list[str]:
    """Command lines of living processes that work on this state folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            # Valkey writes its title over its environment; the title names its socket.
            is_mine = (
                f"STATE_DIR={state_dir}".encode() in (entry / "environ").read_bytes()
                or str(state_dir) in words
            )
        except OSError:
            continue
        if is_mine and words:
            found.append(words)
    return found


@pytest.mark.timeout(180)
def test_within_its_time_the_mixing_endpoint_is_suspended_here_and_reported_there(tmp_path: Path) -> None:
    state_dir = tmp_path / "demo"
    with demo(state_dir, "--once") as process:
        told = list(events(process))
        assert process.stderr is not None
        assert process.wait() == 0, (told, process.stderr.read())
    summary = told[-1]
    decisions = {one["id"]: one for one in told if one["event"] == "decision"}
    suspended, reported = decisions[summary["suspended"]], decisions[summary["reported"]]
    assert (suspended["action"], suspended["enforced"]) == ("suspend", True)
    assert (reported["action"], reported["enforced"]) == ("suspend", False)
    assert suspended["model"] != reported["model"]
    (request,) = (one for one in told if one["event"] == "request")
    assert suspended["endpoint"] in request["ignore"]
    assert summary["not_as_stored"] == 0
    assert summary["decisions"] == len(decisions)
    assert processes_of(state_dir) == []


@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_however_it_ends_no_process_is_left(number: signal.Signals, tmp_path: Path) -> None:
    state_dir = tmp_path / "demo"
    with demo(state_dir) as process:
        assert next(events(process))["event"] == "starting"
        assert next(events(process))["event"] == "started"
        running = " ".join(processes_of(state_dir))
        assert all(name in running for name in ("valkey", "uvicorn", "celery", "sandbox")), running
        os.kill(process.pid, number)
        process.wait(timeout=60)
    assert wait_for_none(state_dir) == []


def wait_for_none(state_dir: Path) -> list[str]:
    """What is left of the processes after the seconds a killed parent's children may take."""
    limit = time.monotonic() + 30
    while processes_of(state_dir) and time.monotonic() < limit:
        time.sleep(0.1)
    return processes_of(state_dir)


def test_a_folder_that_no_demo_has_made_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with demo(tmp_path, "--once") as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
    assert (
        said.strip()
        == f"CommandError: {tmp_path} is not empty and was not made by the demo: name another --state-dir."
    )
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
