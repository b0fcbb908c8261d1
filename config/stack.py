"""The processes of a single-machine run, started and tended together: what `up` and `demo` have in common.

A process that ends is started again, later each time; one that does not stay up ends the stack with a
sentence. On Linux children die with this process however it ends; elsewhere they share its process group.
Output goes to one file a process, in STATE_DIR/logs.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from config import valkey
from config.env import BASE_DIR
from config.leash import leashed

MOST_FAILURES = 5  # in a row, before the stack gives up
FIRST_PAUSE_S = 0.5  # before the first restart; doubled each time
LONGEST_PAUSE_S = 30.0
STEADY_S = 60.0  # a process that ran this long has not failed in a row
STOP_LIMIT_S = 10.0  # for a process to end by itself; then it is killed
START_LIMIT_S = 30.0
LONGEST_LOG_BYTES = 20_000_000  # then the file is set aside as .1 and begun anew
PORTS_TRIED = 50
ON_LINUX = sys.platform == "linux"


class StackFailed(Exception):
    """The stack cannot run; the text says why and where to look."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """One process to keep running. `before` runs ahead of each start; `is_ready` is asked until it is true."""

    name: str
    command: Sequence[str]
    before: Callable[[], object] = lambda: None
    is_ready: Callable[[], bool] = lambda: True


@dataclass(kw_only=True)
class _Child:
    """A program and its present process; `restart_at` is set while none runs."""

    program: Program
    process: subprocess.Popen[bytes]
    started_at: float
    failures: int = 0
    restart_at: float | None = None


class Stack:
    """Programs that run until `stop`. `environment` is all they see of this one's environment."""

    def __init__(
        self, state_dir: Path, environment: Mapping[str, str], *, say: Callable[[str], object]
    ) -> None:
        self.state_dir = state_dir
        self.environment = environment
        self.say = say
        self.logs = state_dir / "logs"
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._children: list[_Child] = []

    def run_first(self, name: str, command: Sequence[str]) -> None:
        """Run `command` to its end. Raises `StackFailed` with its last words."""
        done = subprocess.run(
            leashed(command), cwd=BASE_DIR, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise StackFailed(f"{name} failed: {_last_line(done.stderr or done.stdout)}")

    def start(self, program: Program) -> None:
        """Start `program` and wait until it is ready. Raises `StackFailed`."""
        child = _Child(program=program, process=self._spawn(program), started_at=time.monotonic())
        self._children.append(child)
        while not program.is_ready():
            if child.process.poll() is not None:
                raise StackFailed(f"{program.name} ended while starting: {self._last_words(program)}")
            if time.monotonic() - child.started_at > START_LIMIT_S:
                raise StackFailed(
                    f"{program.name} was not ready after {START_LIMIT_S:.0f} s: see {self.log(program)}"
                )
            time.sleep(0.02)

    def log(self, program: Program) -> Path:
        """The file with the program's output."""
        return self.logs / f"{program.name}.log"

    def pids(self) -> Mapping[str, int]:
        """Process ids by program name."""
        return {child.program.name: child.process.pid for child in self._children}

    def tend(self) -> None:
        """Start again what has ended; to be called every second or so. Raises `StackFailed`."""
        now = time.monotonic()
        for child in self._children:
            _trim(self.log(child.program))
            if child.restart_at is not None:
                if now >= child.restart_at:
                    child.process, child.started_at, child.restart_at = self._spawn(child.program), now, None
            elif child.process.poll() is not None:
                self._note_end(child, now)

    def stop(self) -> None:
        """End every process, the last one started first, and wait for all of them."""
        running = [child for child in reversed(self._children) if child.process.poll() is None]
        servers = [child for child in running if child.program.name == "valkey"]
        for group in ([child for child in running if child not in servers], servers):  # the broker goes last
            for child in group:
                child.process.terminate()
            limit = time.monotonic() + STOP_LIMIT_S
            for child in group:
                _end(child.process, max(0.0, limit - time.monotonic()))
        self._children.clear()

    def _spawn(self, program: Program) -> subprocess.Popen[bytes]:
        program.before()
        with self.log(program).open("ab") as sink:
            return subprocess.Popen(
                leashed(program.command),
                cwd=BASE_DIR,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=ON_LINUX,
            )

    def _note_end(self, child: _Child, now: float) -> None:
        name = child.program.name
        child.failures = 1 if now - child.started_at > STEADY_S else child.failures + 1
        if child.failures >= MOST_FAILURES:
            raise StackFailed(
                f"{name} ended {child.failures} times in a row: {self._last_words(child.program)}"
            )
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (child.failures - 1))
        child.restart_at = now + pause_s
        self.say(f"{name} ended (code {child.process.returncode}); starting it again in {pause_s:g} s.")

    def _last_words(self, program: Program) -> str:
        return f"{_last_line(self.log(program).read_text(errors='replace'))} (see {self.log(program)})"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "it said nothing"


def _end(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Wait for `process`, then kill it with everything it started."""
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        if ON_LINUX:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()


def _trim(log: Path) -> None:
    """Set a log that has grown too long aside; processes append, so they go on at its new beginning."""
    if log.stat().st_size > LONGEST_LOG_BYTES:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def python(*arguments: str) -> Sequence[str]:
    """A command line for this Python."""
    return (sys.executable, *arguments)


def broker(state_dir: Path) -> Program:
    """Valkey on its unix socket. Raises `valkey.ValkeyMissing`."""
    path = valkey.socket_path(state_dir)
    return Program(
        name="valkey",
        command=valkey.server_command(path, state_dir / "valkey"),
        before=lambda: path.unlink(missing_ok=True),  # left behind by a killed server
        is_ready=lambda: valkey.is_answering(path),
    )


def web(host: str, port: int) -> Program:
    """The admin. It has no long requests, so a stop waits for none."""
    return Program(
        name="web",
        command=python(
            *("-m", "uvicorn", "config.asgi:application", "--host", host, "--port", str(port)),
            *("--lifespan", "off", "--no-access-log", "--timeout-graceful-shutdown", "3"),
        ),
        is_ready=lambda: is_listening(host, port),
    )


def worker(concurrency: int = 2) -> Program:
    """The Celery worker: one process a round, so `concurrency` is how many models are probed at once."""
    return Program(
        name="worker",
        command=python(
            *(
                "-m",
                "celery",
                "-A",
                "config",
                "worker",
                "--pool",
                "prefork",
                "--concurrency",
                str(concurrency),
            ),
            *("--loglevel", "INFO", "--without-gossip", "--without-mingle"),
        ),
    )


def beat(state_dir: Path) -> Program:
    """The clock that sends the periodic tasks."""
    return Program(
        name="beat",
        command=python(
            *("-m", "celery", "-A", "config", "beat", "--loglevel", "INFO", "--pidfile", ""),
            *("--schedule", str(state_dir / "beat-schedule")),
        ),
    )


def is_listening(host: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        with socket.create_connection(("127.0.0.1" if host in ("", "0.0.0.0") else host, port), timeout=1):  # noqa: S104
            return True
    except OSError:
        return False


def free_port(host: str, first: int, tried: int = PORTS_TRIED) -> int:
    """`first` or the next of the `tried` ports that nobody listens on. Raises `StackFailed`."""
    for port in range(first, first + tried):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise StackFailed(f"Nothing can listen on {host}:{port}: {error.strerror}.") from error
            else:
                return port
    if tried == 1:
        raise StackFailed(f"Port {first} on {host} is in use.")
    raise StackFailed(f"No free port on {host} between {first} and {first + tried - 1}.")


def own_secret(state_dir: Path) -> str:
    """The secret of this state folder, made on first use and readable by its owner only."""
    path = state_dir / "secret_key"
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
    return path.read_text()


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[IO[str]]:
    """Hold `lock` for as long as the stack runs. Raises `StackFailed` when another one does."""
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise StackFailed(
                f"Another one already runs here (process {file.read() or 'unknown'})."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield file


class StopRequested(BaseException):
    """Somebody asked this process to end. Not an `Exception`: nothing on the way may swallow it."""


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into one `StopRequested`; more of them change nothing."""
    asked = False

    def ask(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise StopRequested

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, ask) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
