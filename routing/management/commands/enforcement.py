"""`manage.py enforcement`: the one switch that stops all enforcement everywhere, and puts it back (C17)."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routing.clock import database_now
from routing.switch import SwitchError, resume_enforcement, stop_enforcement

TURNS = {"stop": stop_enforcement, "resume": resume_enforcement}


class Command(BaseCommand):
    """Turns the switch; every process follows within a second. Runtime and reviewed exclusions stay."""

    help = "Stop all enforcement everywhere, or resume it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which way, and why."""
        parser.add_argument("turn", choices=sorted(TURNS))
        parser.add_argument("--reason", required=True)
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Turn it and say so; turning it the way it stands already is an error."""
        try:
            TURNS[options["turn"]](actor="command line", reason=options["reason"], now=database_now())
        except SwitchError as error:
            raise CommandError(str(error)) from error
        facts = {
            "enforcement": "stopped" if options["turn"] == "stop" else "resumed",
            "reason": options["reason"],
        }
        self.stdout.write(json.dumps(facts) if options["json"] else f"Enforcement is {facts['enforcement']}.")
