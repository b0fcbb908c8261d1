"""`up` as an operator starts it: its own database and broker, or the given ones; all of it ends together."""

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config import stack
from config.env import BASE_DIR, surroundings

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@contextmanager
def up(state_dir: Path, *options: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    surrounded = surroundings(keep_ours=False, state_dir=state_dir, **variables)
    command = [sys.executable, "manage.py", "up", *options]
    with subprocess.Popen(
        command, cwd=BASE_DIR, env=surrounded, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_up_serves_the_admin_says_what_is_missing_and_ends_at_once(tmp_path: Path) -> None:
    port = stack.free_port("127.0.0.1", 18_000)
    with up(tmp_path / "state", "--port", str(port)) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        assert f"Routewarden runs at http://127.0.0.1:{port}/" in said[0]
        assert "OPENROUTER_API_KEY is not set" in said[1]
        assert "Nobody can log in yet" in said[2]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/admin/login/", timeout=10) as answer:
            assert answer.status == 200
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert (tmp_path / "state" / "secret_key").exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert not stack.is_listening("127.0.0.1", port)


def test_a_given_broker_is_used_and_none_is_started(tmp_path: Path, valkey_url: str) -> None:
    with up(tmp_path, redis_url=valkey_url, openrouter_api_key="a key") as process:
        assert process.stdout is not None
        assert "Routewarden runs" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert sorted(log.stem for log in (tmp_path / "logs").iterdir()) == ["beat", "web", "worker"]


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"redis_url": "redis://127.0.0.1:1/0"}, "CommandError: REDIS_URL cannot be reached (127.0.0.1): "),
        ({"database_url": "postgres://nobody@/none?host=/nowhere"}, "CommandError: migrate failed: "),
        ({"tick_s": "often"}, "Configuration: TICK_S is 'often', which is not a number above zero."),
    ],
    ids=["broker", "database", "setting"],
)
def test_what_cannot_be_reached_is_one_sentence_and_nothing_is_left(
    variables: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    with up(tmp_path, **variables) as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
    assert said.startswith(sentence)
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "valkey.sock").exists()
