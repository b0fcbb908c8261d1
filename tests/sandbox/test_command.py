"""`manage.py sandbox` as a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parent.parent.parent
DEMO = "sandbox/scenarios/demo.toml"


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "sandbox", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_the_command_serves_a_port_and_ends_cleanly(number: signal.Signals) -> None:
    process = start("--faults", DEMO, "--port", "0", "--json", "--seed", "42")
    try:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        assert started["event"] == "started"
        assert started["models"] == ["aurora/prose-large", "meridian/chat-medium"]
        assert httpx.get(f"{started['url']}/models").json()["total_count"] == 2
        state = httpx.get(started["url"].replace("/api/v1", "/sandbox/state")).json()
        assert state["seed"] == started["seed"] == 42
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert json.loads(out) == {"event": "stopped"}
    assert err == ""


def refused(*arguments: str) -> str:
    """What the command says on its way out with status 1."""
    process = start(*arguments)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert out == ""
    return err.strip()


def test_a_missing_file_is_one_sentence_and_status_1() -> None:
    told = refused("--faults", "nowhere.toml", "--port", "0")
    assert told.startswith("CommandError: The scenario file nowhere.toml cannot be read:")
    assert "\n" not in told


def test_a_wrong_scenario_is_one_sentence_and_status_1(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(
        '[[models]]\nid = "a/b"\n[[models.endpoints]]\ntag = "acme"\nfaults = [{ kind = "mean" }]\n'
    )
    told = refused("--faults", str(path), "--port", "0")
    assert told.startswith("CommandError: models.a/b.endpoints.acme.faults[0]: `kind` must be one of ")
    assert "\n" not in told


def test_a_taken_port_is_one_sentence_and_status_1() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refused("--faults", DEMO, "--port", str(port))
    assert told == f"CommandError: Cannot listen on 127.0.0.1:{port}: Address already in use."
