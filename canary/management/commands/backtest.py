"""`manage.py backtest`: recorded rounds under a policy, decisions out."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from canary.backtest import BacktestError, backtest
from canary.domain.policy import PolicyError, from_assignments
from routing.domain.modes import Mode


class Command(BaseCommand):
    """Reads JSON lines of rounds and events, writes the decisions a policy would have taken as JSON lines."""

    help = "Apply a policy to recorded rounds from scratch and write every decision, in time order."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Input, mode and policy."""
        parser.add_argument("--input", required=True, metavar="FILE", help="JSON lines; - for standard input")
        parser.add_argument("--mode", choices=[str(mode) for mode in Mode], default=str(Mode.ENFORCE))
        parser.add_argument(
            "--policy",
            nargs="+",
            action="extend",
            default=[],
            metavar="KEY=VALUE",
            help="thresholds that differ",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line (always so)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run; nothing is written when a row or the policy cannot be read."""
        try:
            policy = from_assignments(options["policy"])
            rows = backtest(_lines(options["input"]), policy, mode=Mode(options["mode"]))
        except (BacktestError, PolicyError) as error:
            raise CommandError(str(error)) from error
        for row in rows:
            self.stdout.write(json.dumps(row))


def _lines(name: str) -> list[str]:
    """The lines of a file, or of standard input."""
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {error}.") from error
    return text.split("\n")
