"""`manage.py run_round`: one round of a model by hand, in this process."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from canary.management.by_hand import check_closed, run_by_hand, watched_model


class Command(BaseCommand):
    """Runs a round asked for by hand: it is shown, and counts for nothing but discovery and reachability (C12)."""

    help = "Run one round of MODEL now and print what each endpoint came to."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The model."""
        parser.add_argument("model", metavar="MODEL")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it and print its endpoints."""
        round_ = run_by_hand(watched_model(options["model"]))
        for row in round_.endpoint_rounds.select_related("endpoint").order_by("endpoint__tag"):
            shown = {
                "endpoint": row.endpoint.tag,
                "language": row.language,
                "verdicts": row.raw,
                "reasons": row.reasons,
            }
            self.stdout.write(
                json.dumps({"round": str(round_.pk), **shown}) if options["json"] else _line(shown)
            )
        check_closed(round_)


def _line(shown: dict[str, Any]) -> str:
    verdicts = ", ".join(
        f"{contract} {verdict} ({shown['reasons'].get(contract, '-')})"
        for contract, verdict in shown["verdicts"].items()
    )
    return f"{shown['endpoint']:<32} {shown['language'] or '--':<3} {verdicts or 'nothing was due'}"
