"""A Redis-compatible server for one test process, started as `up` and `demo` start theirs."""

import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from config import valkey
from config.leash import leashed

START_LIMIT_S = 15
POLL_S = 0.01


@dataclass(frozen=True, kw_only=True)
class ValkeyServer:
    """A running server; `url` is understood by redis-py and by REDIS_URL."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Its address."""
        return f"unix://{self.folder / 'valkey.sock'}"

    def kill(self) -> None:
        """End it as a crash would; its data stay for `start(folder)`."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def start(folder: Path | None = None) -> ValkeyServer:
    """Start a server, in a new folder or on the data of one that was killed. Raises `ValkeyMissing`."""
    folder = folder or Path(tempfile.mkdtemp(prefix="routewarden-valkey-", dir="/tmp"))
    path = folder / "valkey.sock"
    path.unlink(missing_ok=True)  # left behind by a killed server
    process = subprocess.Popen(
        leashed(valkey.server_command(path, folder / "data"), death_signal=signal.SIGKILL),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    limit = time.monotonic() + START_LIMIT_S
    while not valkey.is_answering(path):
        if process.poll() is not None or time.monotonic() > limit:
            process.kill()
            raise valkey.ValkeyMissing(f"Valkey did not start within {START_LIMIT_S} s in {folder}.")
        time.sleep(POLL_S)
    return ValkeyServer(folder=folder, process=process)
