"""Answers of providers are kept for a limited time; verdicts and decisions stay."""

from datetime import datetime

from canary.models import ProbeRun

BATCH = 1000


def remove_evidence_text(*, before: datetime) -> int:
    """Blank the text of runs done before a time, in batches so that no lock is held long. Returns how many."""
    removed = 0
    while True:
        old = (
            ProbeRun.objects.filter(done_at__lt=before).exclude(text="").values_list("pk", flat=True)[:BATCH]
        )
        count = ProbeRun.objects.filter(pk__in=list(old)).update(text="")
        removed += count
        if count < BATCH:
            return removed
