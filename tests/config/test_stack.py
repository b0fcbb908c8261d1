"""The supervisor: what ends is started again, what cannot run is said, nothing is left behind."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from config import env, stack, valkey
from config.stack import Program, Stack, StackFailed

FOREVER = "import time; time.sleep(600)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    """Not ended; one that is only waiting to be reaped has ended."""
    try:
        os.kill(pid, 0)
        return " Z " not in Path(f"/proc/{pid}/stat").read_text() if stack.ON_LINUX else True
    except (ProcessLookupError, FileNotFoundError):
        return False


def eventually(condition: Callable[[], bool], limit_s: float = 10) -> bool:
    limit = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def processes(tmp_path: Path, said: list[str]) -> Iterator[Stack]:
    made = Stack(tmp_path, env.surroundings(keep_ours=True), say=said.append)
    yield made
    made.stop()


def program(name: str, code: str) -> Program:
    return Program(name=name, command=stack.python("-c", code))


def test_a_process_that_ends_is_started_again_after_a_pause(processes: Stack, said: list[str]) -> None:
    processes.start(program("steady", FOREVER))
    first = processes.pids()["steady"]
    os.kill(first, signal.SIGKILL)

    def is_back() -> bool:
        processes.tend()
        return processes.pids()["steady"] != first

    assert eventually(is_back)
    assert said == ["steady ended (code -9); starting it again in 0.5 s."]


def test_a_process_that_does_not_stay_up_ends_the_stack_with_its_last_words(
    processes: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "FIRST_PAUSE_S", 0.01)
    processes.start(program("broken", "import sys; sys.exit('the disk is full')"))

    def tend_for_ever() -> None:
        while True:
            processes.tend()
            time.sleep(0.01)

    with pytest.raises(
        StackFailed, match=r"broken ended 5 times in a row: the disk is full \(see .*broken\.log\)"
    ):
        tend_for_ever()


def test_a_process_that_ends_before_it_is_ready_is_said(processes: Stack) -> None:
    never = Program(name="web", command=stack.python("-c", "print('no port')"), is_ready=lambda: False)
    with pytest.raises(StackFailed, match="web ended while starting: no port"):
        processes.start(never)


def test_a_first_step_that_fails_is_said_with_its_last_line(processes: Stack) -> None:
    with pytest.raises(StackFailed, match="migrate failed: no such table"):
        processes.run_first("migrate", stack.python("-c", "import sys; sys.exit('trace\\nno such table')"))


def test_stop_ends_every_process_the_deaf_one_too(processes: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "STOP_LIMIT_S", 0.5)
    processes.start(program("steady", FOREVER))
    deaf = program("deaf", STUBBORN)
    processes.start(deaf)
    assert eventually(lambda: "deaf" in processes.log(deaf).read_text())
    pids = list(processes.pids().values())
    processes.stop()
    assert [is_alive(pid) for pid in pids] == [False, False]


def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from config import env, stack
import time
made = stack.Stack(Path({str(tmp_path)!r}), env.surroundings(keep_ours=True), say=print)
made.start(stack.Program(name="child", command=stack.python("-c", {FOREVER!r})))
print(made.pids()["child"], flush=True)
time.sleep(600)
"""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", code], cwd=env.BASE_DIR, stdout=subprocess.PIPE, text=True
    )
    with supervisor:
        assert supervisor.stdout is not None
        child = int(supervisor.stdout.readline())
        assert is_alive(child)
        supervisor.kill()
    assert eventually(lambda: not is_alive(child))


def test_a_log_that_has_grown_too_long_is_set_aside(
    processes: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "LONGEST_LOG_BYTES", 10)
    steady = program("steady", FOREVER)
    processes.start(steady)
    processes.log(steady).write_text("eleven bytes")
    processes.tend()
    assert processes.log(steady).read_text() == ""
    assert (processes.logs / "steady.log.1").read_text() == "eleven bytes"


def test_the_secret_is_made_once_and_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    secret = stack.own_secret(tmp_path)
    assert len(secret) >= 50
    assert stack.own_secret(tmp_path) == secret
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_second_stack_on_the_same_state_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "up.lock"
    with (
        stack.only_one(lock),
        pytest.raises(StackFailed, match=rf"already runs here \(process {os.getpid()}\)"),
        stack.only_one(lock),
    ):
        pass
    with stack.only_one(lock):  # free again
        pass


def test_a_port_in_use_is_passed_over() -> None:
    first = stack.free_port("127.0.0.1", 20_000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first))
        taken.listen()
        assert stack.is_listening("127.0.0.1", first)
        assert stack.free_port("127.0.0.1", first) > first
        with pytest.raises(StackFailed, match=f"Port {first} on 127.0.0.1 is in use"):
            stack.free_port("127.0.0.1", first, tried=1)


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(StackFailed, match=r"Nothing can listen on 192\.0\.2\.1:20000: "):
        stack.free_port("192.0.2.1", 20_000)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_way_to_end_it_is_one_request_to_stop(number: signal.Signals) -> None:
    with pytest.raises(stack.StopRequested), stack.stoppable():
        signal.raise_signal(number)


def test_a_second_request_does_not_break_the_stopping() -> None:
    done = []

    def run_until_stopped() -> None:
        with stack.stoppable():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                signal.raise_signal(signal.SIGINT)
                done.append("stopped everything")

    with pytest.raises(stack.StopRequested):
        run_until_stopped()
    assert done == ["stopped everything"]


def test_our_own_variables_can_be_kept_from_a_process() -> None:
    assert "STATE_DIR" in env.surroundings(keep_ours=True)
    assert "STATE_DIR" not in env.surroundings(keep_ours=False)
    assert env.surroundings(keep_ours=False, tick_s=1.5)["TICK_S"] == "1.5"


def test_a_socket_path_too_long_for_the_system_is_moved(tmp_path: Path) -> None:
    short, deep = Path("/state"), Path("/" + "d" * 120)
    assert valkey.socket_path(short) == Path("/state/valkey.sock")
    moved = valkey.socket_path(deep)
    assert len(os.fsencode(moved)) <= valkey.LONGEST_SOCKET_PATH
    assert moved == valkey.socket_path(deep)
    assert moved != valkey.socket_path(Path("/" + "e" * 120))


def test_valkey_keeps_what_it_was_given_when_it_is_killed(processes: Stack, tmp_path: Path) -> None:
    processes.start(stack.broker(tmp_path))
    with redis.Redis.from_url(f"unix://{valkey.socket_path(tmp_path)}") as client:
        client.set("task", "1")
        os.kill(processes.pids()["valkey"], signal.SIGKILL)

        def is_back() -> bool:
            processes.tend()
            return valkey.is_answering(valkey.socket_path(tmp_path))

        assert eventually(lambda: not valkey.is_answering(valkey.socket_path(tmp_path)))
        assert eventually(is_back)
        assert client.get("task") == b"1"
