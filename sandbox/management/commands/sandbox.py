"""`manage.py sandbox`: serve a scenario file as an OpenRouter-compatible gateway."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sandbox.app import create_app
from sandbox.loading import load
from sandbox.scenario import Scenario
from sandbox.serving import listen, server
from sandbox.tables import ScenarioError


class Command(BaseCommand):
    """Serve until SIGINT or SIGTERM."""

    help = "Serve a scenario file as an OpenRouter-compatible gateway whose providers misbehave on script."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, where to listen, and how to speak."""
        parser.add_argument("--faults", required=True, type=Path, metavar="FILE", help="scenario file (TOML)")
        parser.add_argument("--port", required=True, type=int, metavar="N", help="port; 0 takes a free one")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--seed", type=int, default=None, help="overrides the scenario's seed")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load, listen, say where, serve."""
        try:
            scenario = load(options["faults"])
        except ScenarioError as error:
            raise CommandError(str(error)) from None
        if options["seed"] is not None:
            scenario = replace(scenario, gateway=replace(scenario.gateway, seed=options["seed"]))
        host, port = options["host"], options["port"]
        try:
            sock = listen(host, port)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "a port is a number from 0 to 65535"
            raise CommandError(f"Cannot listen on {host}:{port}: {reason}.") from None
        url = f"http://{host}:{sock.getsockname()[1]}/api/v1"
        models = [model.id for model in scenario.models]
        facts = {"url": url, "models": models, "seed": scenario.gateway.seed}
        sentence = f"Sandbox gateway at {url}, serving {', '.join(models)}. Stop it with Ctrl-C."
        asyncio.run(
            _serve(scenario, sock, lambda: self._say("started", facts, sentence, as_json=options["json"]))
        )
        self._say("stopped", {}, "Sandbox gateway stopped.", as_json=options["json"])

    def _say(self, event: str, facts: dict[str, Any], sentence: str, *, as_json: bool) -> None:
        self.stdout.write(json.dumps({"event": event, **facts}) if as_json else sentence)
        self.stdout.flush()


async def _serve(scenario: Scenario, sock: socket.socket, say_started: Callable[[], None]) -> None:
    """Serve on the bound socket until a signal asks for the end."""
    running = server(create_app(scenario))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, setattr, running, "should_exit", True)
    # The socket listens only once uvicorn has it; a client that is told the address must not be refused.
    sock.listen(4096)
    say_started()
    await running.serve(sockets=[sock])
