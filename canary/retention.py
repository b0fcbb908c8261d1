"""What providers wrote is kept for a limited time; verdicts, measurements and decisions stay."""

from datetime import datetime

from django.db import transaction

from canary.evidence import redact
from canary.models import ProbeRun

BATCH = 500


def remove_evidence_text(*, before: datetime) -> int:
    """Remove the answers of runs done before a time, and what their evidence quotes. Returns how many runs.

    In batches, so that no lock is held long; a run whose text is removed is not looked at again.
    """
    removed = 0
    old = ProbeRun.objects.filter(done_at__lt=before, is_redacted=False).order_by("done_at")
    while runs := list(old.only("evidence")[:BATCH]):
        _redact(runs)
        removed += len(runs)
    return removed


@transaction.atomic
def _redact(runs: list[ProbeRun]) -> None:
    """Evidence one by one where it quotes anything, which most does not; the rest in one statement."""
    quoting = []
    for run in runs:
        evidence = redact(run.evidence)
        if evidence != run.evidence:
            run.evidence = evidence
            quoting.append(run)
    ProbeRun.objects.bulk_update(quoting, ["evidence"], batch_size=100)
    ProbeRun.objects.filter(pk__in=[run.pk for run in runs]).update(text="", is_redacted=True)
