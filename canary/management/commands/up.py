"""`manage.py up`: web, worker, beat and broker for real use on one machine."""

import json
import time
from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from config import env, stack, valkey

FIRST_PORT = 8000


class Command(BaseCommand):
    """Runs until Ctrl-C. DATABASE_URL and REDIS_URL are used when set; else SQLite and a Valkey of our own."""

    help = "Run everything on this machine: web, worker, beat and, unless REDIS_URL is set, the broker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where the admin listens, and how much is done at once."""
        parser.add_argument(
            "--host", default="127.0.0.1", help="address the admin listens on (default 127.0.0.1)"
        )
        parser.add_argument("--port", type=int, help=f"its port (default {FIRST_PORT} or the next free one)")
        parser.add_argument("--concurrency", type=int, default=2, help="models probed at once (default 2)")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start, tend, stop."""
        self.is_json = options["json"]
        try:
            with stack.stoppable(), stack.only_one(settings.STATE_DIR / "up.lock"):
                self._run(options)
        except (stack.StackFailed, valkey.ValkeyMissing, OSError) as error:
            raise CommandError(str(error)) from error
        except stack.StopRequested:
            self._say("Stopped.")

    def _run(self, options: dict[str, Any]) -> None:
        host, asked = options["host"], options["port"]
        port = stack.free_port(host, asked or FIRST_PORT, tried=1 if asked else stack.PORTS_TRIED)
        surroundings = env.surroundings(
            keep_ours=True,
            state_dir=settings.STATE_DIR,
            secret_key=env.read().secret_key or stack.own_secret(settings.STATE_DIR),
            site_url=_site_url(port),
        )
        processes = stack.Stack(settings.STATE_DIR, surroundings, say=self._say)
        try:
            self._start(processes, host, port, options["concurrency"])
            self._greet(port)
            while True:
                processes.tend()
                time.sleep(0.5)
        finally:
            processes.stop()

    def _start(self, processes: stack.Stack, host: str, port: int, concurrency: int) -> None:
        if env.read().redis_url:
            _check_broker(settings.REDIS_URL)
        else:
            processes.start(stack.broker(settings.STATE_DIR))
        processes.run_first("migrate", stack.python("manage.py", "migrate", "--no-input", "--verbosity", "0"))
        processes.start(stack.web(host, port))
        processes.start(stack.worker(concurrency))
        processes.start(stack.beat(settings.STATE_DIR))

    def _greet(self, port: int) -> None:
        self._say(
            f"Routewarden runs at http://127.0.0.1:{port}/ (state and logs in {settings.STATE_DIR}). Ctrl-C stops it."
        )
        if not settings.OPENROUTER_API_KEY:
            self._say(
                "OPENROUTER_API_KEY is not set: nothing can be discovered or probed until it is (see .env.example)."
            )
        if not get_user_model().objects.filter(is_superuser=True, is_active=True).exists():
            self._say(
                "Nobody can log in yet: make an owner with `.venv/bin/python manage.py createsuperuser`."
            )

    def _say(self, sentence: str) -> None:
        self.stdout.write(json.dumps({"event": "said", "text": sentence}) if self.is_json else sentence)
        self.stdout.flush()


def _site_url(port: int) -> str:
    """The address links in notifications use: SITE_URL if it was set, else where the admin really listens."""
    is_default = env.Environment().site_url == settings.SITE_URL
    return f"http://127.0.0.1:{port}" if is_default else str(settings.SITE_URL)


def _check_broker(url: str) -> None:
    """Raises `stack.StackFailed` when REDIS_URL cannot be reached: rounds would never start."""
    address = url.replace("redis+socket://", "unix://", 1)
    try:
        with redis.Redis.from_url(address, socket_connect_timeout=5) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        shown = urlsplit(address).hostname or urlsplit(address).path
        raise stack.StackFailed(f"REDIS_URL cannot be reached ({shown}): {error}") from error
