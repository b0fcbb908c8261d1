"""`manage.py lift`: end a suspension or a runtime exclusion by hand, with a reason."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from canary import enforcement
from canary.models import Suspension
from routing import exclusions
from routing.clock import database_now
from routing.domain.modes import Tier
from routing.models import Exclusion


class Command(BaseCommand):
    """Lifts what takes NAME out of requests: canary suspensions (shadows too) and runtime exclusions (C18)."""

    help = "Lift the suspension or runtime exclusion of NAME (an endpoint's tag or an excluded name)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What, why, and whether it was a false positive."""
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--model", metavar="SLUG", help="only for this model")
        parser.add_argument("--reason", required=True)
        parser.add_argument(
            "--false-positive", action="store_true", help="the suspension was wrong: it leaves the ladder"
        )
        parser.add_argument(
            "--not-before-days", type=float, metavar="D", help="do not suspend it again for D days"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Lift and say what was lifted; nothing to lift is an error."""
        if not options["reason"].strip():
            raise CommandError("--reason must say why.")
        lifted = [*self._lift_suspensions(options), *self._lift_exclusions(options)]
        if not lifted:
            where = f" of {options['model']}" if options["model"] else ""
            raise CommandError(
                f"Nothing to lift: {options['name']}{where} has no active suspension and no runtime exclusion."
            )
        for what in lifted:
            self.stdout.write(
                json.dumps(what)
                if options["json"]
                else f"Lifted the {what['kind']} of {what['name']} ({what['model']})."
            )

    def _lift_suspensions(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        days = options["not_before_days"]
        active = Suspension.objects.filter(endpoint__tag=options["name"], ended_at__isnull=True)
        lifted = []
        for held in _of_model(active, "endpoint__model__slug", options["model"]).select_related(
            "endpoint__model"
        ):
            try:
                enforcement.lift_suspension(
                    held.pk,
                    actor="command line",
                    reason=options["reason"],
                    is_false_positive=options["false_positive"],
                    not_before=database_now() + timedelta(days=days) if days else None,
                )
            except enforcement.NotActive:
                continue
            kind = "shadow suspension" if held.is_shadow else "suspension"
            lifted.append({"kind": kind, "name": held.endpoint.tag, "model": held.endpoint.model.slug})
        return lifted

    def _lift_exclusions(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        active = Exclusion.objects.filter(
            entry=options["name"], tier=Tier.RUNTIME.value, lifted_at__isnull=True
        )
        lifted = []
        for row in _of_model(active, "model__slug", options["model"]).select_related("model"):
            try:
                exclusions.lift_runtime(
                    row.pk, reason=options["reason"], actor="command line", now=database_now()
                )
            except exclusions.BadExclusion:  # it has ended by itself meanwhile
                continue
            lifted.append(
                {
                    "kind": "exclusion",
                    "name": row.entry,
                    "model": row.model.slug if row.model else "all models",
                }
            )
        return lifted


def _of_model(rows: "QuerySet[Any]", path: str, slug: str | None) -> "QuerySet[Any]":
    return rows.filter(**{path: slug}) if slug else rows
