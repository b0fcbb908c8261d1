"""`manage.py judge`: recorded answers in, verdicts out, by the very functions the probes use."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from canary.judging import judge_line


class Command(BaseCommand):
    """Reads JSON lines of recorded answers, writes `{id, verdict, reason, evidence}` in the same order."""

    help = "Judge recorded answers (JSON lines) as the probes would; needs no database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where the rows come from."""
        parser.add_argument("--input", default="-", metavar="FILE", help="JSON lines; - for standard input")
        parser.add_argument("--json", action="store_true", help="one JSON object a line (always so)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Judge every row; exit with 1 after the last one when any could not be judged."""
        are_all_judged = True
        for line in _lines(options["input"]):
            answer = judge_line(line)
            are_all_judged = are_all_judged and "error" not in answer
            # ASCII only: hostile text may hold what the terminal's encoding cannot say.
            self.stdout.write(json.dumps(answer))
        if not are_all_judged:
            sys.exit(1)


def _lines(name: str) -> Iterator[str]:
    """The lines of a file, or of standard input, blank ones left out; undecodable bytes stay visible."""
    if name == "-":
        yield from _decoded(sys.stdin.buffer)
        return
    try:
        with Path(name).open("rb") as file:
            yield from _decoded(file)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def _decoded(lines: Any) -> Iterator[str]:
    for number, raw in enumerate(lines):
        line = raw.decode("utf-8", errors="backslashreplace").strip()
        line = line.removeprefix("\ufeff") if number == 0 else line
        if line:
            yield line
