"""`manage.py exclude`: keep requests away from a provider or an endpoint, for one model or all."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routing.clock import database_now
from routing.exclusions import BadExclusion, LeavesNothing, NewExclusion, UnknownName, add_runtime, preview
from routing.models import Exclusion, RoutedModel

DEFAULT_DAYS = 7.0
MOST_DAYS = 3650.0


class Command(BaseCommand):
    """Adds a runtime exclusion; it is in every request within a second (R3)."""

    help = "Exclude NAME (a provider's base slug or an endpoint's tag) from requests."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What, for which model, why, for how long."""
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--model", metavar="SLUG", help="only for this model (else for all)")
        parser.add_argument("--reason", required=True)
        length = parser.add_mutually_exclusive_group()
        length.add_argument(
            "--days", type=float, metavar="N", help=f"how long ({DEFAULT_DAYS:g} days unless given)"
        )
        length.add_argument("--until-lifted", action="store_true", help="without an end")
        parser.add_argument(
            "--may-give-way", action="store_true", help="left out of a request when nothing else could serve"
        )
        parser.add_argument(
            "--confirm", action="store_true", help="also when the name is unknown, or nothing would be left"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Add it and say so, with what a person should know; what cannot be added is one sentence."""
        now = database_now()
        request = NewExclusion(
            entry=options["name"],
            reason=options["reason"],
            actor="command line",
            model_pk=_model_pk(options["model"]),
            expires_at=None if options["until_lifted"] else now + _length(options["days"]),
            may_give_way=options["may_give_way"],
            is_confirmed=options["confirm"],
        )
        try:
            warnings = preview(request, now=now)
            exclusion = add_runtime(request, now=now)
        except (UnknownName, LeavesNothing) as error:
            raise CommandError(f"{error} Add --confirm to exclude it all the same.") from error
        except BadExclusion as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(_as_json(exclusion, warnings)) if options["json"] else _text(exclusion))
        if not options["json"]:
            for warning in warnings:
                self.stderr.write(f"Warning: {warning}")


def _model_pk(slug: str | None) -> int | None:
    if slug is None:
        return None
    pk = RoutedModel.objects.filter(slug=slug.strip().lower()).values_list("pk", flat=True).first()
    if pk is None:
        raise CommandError(f"No model {slug} is known; `manage.py discover {slug}` makes it known.")
    return pk


def _length(days: float | None) -> timedelta:
    days = DEFAULT_DAYS if days is None else days
    if not 0 < days <= MOST_DAYS:
        raise CommandError(f"--days takes more than 0 and at most {MOST_DAYS:g}, not {days:g}.")
    return timedelta(days=days)


def _as_json(exclusion: Exclusion, warnings: tuple[str, ...]) -> dict[str, Any]:
    return {
        "exclusion": exclusion.pk,
        "entry": exclusion.entry,
        "model": exclusion.model.slug if exclusion.model else None,
        "reason": exclusion.reason,
        "until": exclusion.expires_at.isoformat() if exclusion.expires_at else None,
        "may_give_way": exclusion.may_give_way,
        "unmatched": exclusion.is_unmatched,
        "warnings": list(warnings),
    }


def _text(exclusion: Exclusion) -> str:
    scope = exclusion.model.slug if exclusion.model else "all models"
    until = (
        f"until {exclusion.expires_at:%Y-%m-%d %H:%M} UTC" if exclusion.expires_at else "until it is lifted"
    )
    return f"Excluded {exclusion.entry} for {scope} {until}."
