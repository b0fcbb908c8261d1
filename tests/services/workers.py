"""Real Celery workers for tests, with an environment of their own, that can be killed at any moment."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from config import stack
from config.leash import leashed

ROOT = Path(__file__).resolve().parent.parent.parent


def database_url() -> str:
    """The address of the test database, for another process."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


def environment(**variables: str) -> dict[str, str]:
    """The environment of this process, pointed at the test database, with some variables of its own."""
    return {**os.environ, "DATABASE_URL": database_url(), "STATE_DIR": str(settings.STATE_DIR), **variables}


class Worker:
    """One Celery worker with one child. Leave the block and it is gone."""

    def __init__(self, variables: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                leashed(stack.worker(concurrency=1).command, death_signal=signal.SIGKILL),
                cwd=ROOT,
                env=environment(**variables),
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def kill(self) -> None:
        """SIGKILL to the worker and its child."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=30)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
