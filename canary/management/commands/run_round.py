"""`manage.py run_round`: one round of a model by hand, in this process."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from canary import rounds
from canary.models import RoundStatus
from routing.models import RoutedModel


class Command(BaseCommand):
    """Runs a round asked for by hand: it is shown, and counts for nothing but discovery and reachability (C12)."""

    help = "Run one round of MODEL now and print what each endpoint came to."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The model."""
        parser.add_argument("model", metavar="MODEL")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it and print its endpoints."""
        model = RoutedModel.objects.filter(slug=options["model"]).first()
        if model is None:
            raise CommandError(
                f"No model {options['model']} is watched; see `manage.py discover {options['model']} --watch`."
            )
        try:
            round_ = rounds.work_by_hand(model.pk, actor="command line")
        except rounds.RoundRunning as error:
            raise CommandError(str(error)) from error
        if round_ is None:
            raise CommandError("Another worker took the round; look for it in the admin.")
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
        if round_.status != RoundStatus.CLOSED:
            raise CommandError(f"The round ended as {round_.get_status_display()}: {round_.note}")


def _line(shown: dict[str, Any]) -> str:
    verdicts = ", ".join(
        f"{contract} {verdict} ({shown['reasons'].get(contract, '-')})"
        for contract, verdict in shown["verdicts"].items()
    )
    return f"{shown['endpoint']:<32} {shown['language'] or '--':<3} {verdicts or 'nothing was due'}"
