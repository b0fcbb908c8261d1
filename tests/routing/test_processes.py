"""Rule R3 between real processes: within a second everywhere, without a database, after a fork, in a loop."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from routing.exclusions import add_canary, add_runtime, end_canary, lift_runtime, stop_enforcement
from tests.routing.conftest import MakeModel, asked

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MODEL = "author/model"
IN_FORCE_WITHIN_S = 1.0


def database_url() -> str:
    """The address of the test database, for another process."""
    if connection.vendor == "sqlite":
        return f"sqlite:///{connection.settings_dict['NAME']}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()


class Backend:
    """A running `tests.routing.caller`."""

    def __init__(self, url: str, state_dir: Path) -> None:
        environment = os.environ | {"DATABASE_URL": url, "STATE_DIR": str(state_dir)}
        command = [sys.executable, "-W", "error", "-m", "tests.routing.caller", MODEL]
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=settings.BASE_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, how: str = "ask") -> dict[str, Any]:
        """What a request carries now."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{how}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the backend died"
        found: dict[str, Any] = json.loads(line)
        return found

    def has_within_a_second(self, ignore: list[str], how: str = "ask") -> bool:
        """Whether its requests come to carry exactly `ignore` in R3's time."""
        until = time.monotonic() + IN_FORCE_WITHIN_S
        while (found := self.ask(how)["ignore"]) != ignore and time.monotonic() < until:
            time.sleep(0.02)
        return bool(found == ignore)

    def end(self) -> str:
        """End it; gives what it wrote to standard error."""
        return self._process.communicate(timeout=20)[1]


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Callable[..., Backend]]:
    """Starts backends that share one state folder; each must end quietly."""
    running: list[Backend] = []

    def start(url: str | None = None) -> Backend:
        running.append(Backend(url or database_url(), tmp_path))
        return running[-1]

    yield start
    for one in running:
        one.end()


def test_an_exclusion_added_or_lifted_is_in_force_in_another_process_within_a_second(
    make_model: MakeModel, backend
) -> None:
    make_model("alpha", "beta/fp8", "beta/fp4", at=timezone.now())
    other = backend()
    assert other.ask()["ignore"] == []
    row = add_runtime(asked("beta"), now=timezone.now())
    assert other.has_within_a_second(["beta", "beta/fp4", "beta/fp8"])
    lift_runtime(row.pk, reason="why", actor="ada", now=timezone.now())
    assert other.has_within_a_second([])


def test_a_suspension_its_end_and_the_switch_are_in_force_in_another_process_within_a_second(
    make_model: MakeModel, backend
) -> None:
    now = timezone.now()
    model = make_model("alpha", "beta", "gamma", at=now)
    other = backend()
    other.ask()
    ends = {"alpha": now + timedelta(days=1), "beta": now + timedelta(days=2)}
    rows = {}
    for tag, ends_at in ends.items():
        with transaction.atomic():
            endpoint = model.endpoints.get(tag=tag)
            rows[tag] = add_canary(
                endpoint, expires_at=ends_at, reason="why", contracts=["language"], now=now
            )
    assert other.has_within_a_second(["alpha", "beta"])
    with transaction.atomic():
        end_canary(rows["alpha"], at=timezone.now(), reason="Recovered.")
    assert other.has_within_a_second(["beta"])
    stop_enforcement(actor="ada", reason="why", now=timezone.now())
    assert other.has_within_a_second([])


def test_an_exclusion_that_expires_is_gone_at_its_end_in_another_process(
    make_model: MakeModel, backend
) -> None:
    make_model("alpha", "beta", at=timezone.now())
    other = backend()
    other.ask()
    ends_at = timezone.now() + timedelta(seconds=2.5)
    add_runtime(asked("beta", expires_at=ends_at), now=timezone.now())
    assert other.has_within_a_second(["beta"])
    time.sleep(max((ends_at - timezone.now()).total_seconds(), 0))
    assert other.has_within_a_second([])


def test_a_transaction_that_is_rolled_back_reaches_nobody(make_model: MakeModel, backend) -> None:
    make_model("alpha", "beta", at=timezone.now())
    other = backend()
    other.ask()
    with transaction.atomic():
        add_runtime(asked("beta"), now=timezone.now())
        transaction.set_rollback(True)
    assert not other.has_within_a_second(["beta"])


def test_a_process_that_starts_after_the_commit_has_it_in_its_first_request(
    make_model: MakeModel, backend
) -> None:
    make_model("alpha", "beta", at=timezone.now())
    add_runtime(asked("beta"), now=timezone.now())
    assert backend().ask() | {"pid": 0} == {"ignore": ["beta"], "origin": "database", "pid": 0}


@pytest.mark.parametrize(
    "nowhere",
    [
        pytest.param("sqlite:////nowhere/at/all.sqlite3", id="no file"),
        pytest.param("postgres://nobody@127.0.0.1:9/nothing", id="no server"),
    ],
)
def test_a_process_that_starts_without_a_database_has_the_last_good_snapshot_from_disk(
    make_model: MakeModel, backend, nowhere: str
) -> None:
    make_model("alpha", "beta", at=timezone.now())
    add_runtime(asked("beta"), now=timezone.now())
    assert backend().ask()["origin"] == "database"
    alone = backend(nowhere)
    assert alone.ask() | {"pid": 0} == {"ignore": ["beta"], "origin": "disk", "pid": 0}
    assert alone.end().count("the last good ones stay in force") == 1


def test_a_fork_is_safe_in_the_child_and_in_its_parent(make_model: MakeModel, backend) -> None:
    make_model("alpha", "beta", "gamma", at=timezone.now())
    parent = backend()
    pid = parent.ask()["pid"]
    add_runtime(asked("beta"), now=timezone.now())
    child = parent.ask("fork")
    assert child["ignore"] == ["beta"]
    assert child["pid"] != pid
    assert parent.has_within_a_second(["beta"])
    add_runtime(asked("gamma"), now=timezone.now())
    assert parent.ask("fork")["ignore"] == ["beta", "gamma"]
    assert parent.has_within_a_second(["beta", "gamma"])


def test_a_call_inside_an_event_loop_works_from_the_first_one_on(make_model: MakeModel, backend) -> None:
    make_model("alpha", "beta", at=timezone.now())
    add_runtime(asked("beta"), now=timezone.now())
    assert backend().ask("loop")["ignore"] == ["beta"]
