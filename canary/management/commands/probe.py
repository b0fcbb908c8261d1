"""`manage.py probe`: pinned probes of a model's endpoints by hand, with their verdicts."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from canary.domain.verdicts import Contract
from canary.management.by_hand import check_closed, run_by_hand, watched_model
from canary.models import ProbeRun
from canary.planning import Selection
from routing.judges.languages import LANGUAGES


class Command(BaseCommand):
    """A round by hand over chosen endpoints, contracts and one language; it scores nobody (C12)."""

    help = "Probe the endpoints of MODEL now, each pinned, and print every run's verdict."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The model and what to choose."""
        parser.add_argument("model", metavar="MODEL")
        parser.add_argument("--endpoint", metavar="TAG", help="only this endpoint")
        parser.add_argument(
            "--contract", choices=[str(contract) for contract in Contract], help="only this contract"
        )
        parser.add_argument("--language", choices=sorted(LANGUAGES), help="ask in this language")
        parser.add_argument("--repeat", type=int, default=1, metavar="N", help="how often each (1 to 100)")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Probe and print; a model, endpoint or count that makes no sense is one sentence."""
        model = watched_model(options["model"])
        if not 1 <= options["repeat"] <= 100:
            raise CommandError(f"--repeat takes 1 to 100, not {options['repeat']}.")
        tag = options["endpoint"]
        if tag and not model.endpoints.filter(tag=tag).exists():
            known = ", ".join(model.endpoints.order_by("tag").values_list("tag", flat=True)) or "none yet"
            raise CommandError(f"{model.slug} has no endpoint {tag}; known are: {known}.")
        selection = Selection(
            tag=tag,
            contract=Contract(options["contract"]) if options["contract"] else None,
            language=options["language"],
            repeat=options["repeat"],
        )
        round_ = run_by_hand(model, selection)
        for run in round_.runs.select_related("endpoint").order_by("endpoint__tag", "contract", "ordinal"):
            self.stdout.write(json.dumps(_as_json(run)) if options["json"] else _line(run))
        check_closed(round_)


def _as_json(run: ProbeRun) -> dict[str, Any]:
    return {
        "run": run.pk,
        "endpoint": run.endpoint.tag,
        "contract": run.contract,
        "ordinal": run.ordinal,
        "language": run.language,
        "verdict": run.verdict or run.state,
        "reason": run.reason,
        "ttft_ms": run.ttft_ms,
        "cost_usd": str(run.cost_usd) if run.cost_usd is not None else None,
        "evidence": run.evidence,
    }


def _line(run: ProbeRun) -> str:
    ttft = f"{run.ttft_ms:.0f} ms" if run.ttft_ms is not None else "-"
    judged = f"{run.verdict or run.state:<13} {run.reason:<20}"
    return f"{run.endpoint.tag:<32} {run.contract:<18} {run.language:<3} {judged} {ttft}"
