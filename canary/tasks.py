"""Celery's entry points: the clock and ids in, one call each."""

from datetime import timedelta
from uuid import UUID

from celery import shared_task
from celery.signals import worker_init
from django.conf import settings

from canary import retention, rounds, run_records
from routing.clock import database_now


@worker_init.connect
def load_detectors(**_: object) -> None:
    """Load the language detectors once, before the worker forks: its first rounds need not wait for them."""
    run_records.warm_up()


@shared_task(name="canary.tasks.tick")
def tick() -> None:
    """Let time pass, claim due rounds and hand them to the workers."""
    for round_pk in rounds.tick():
        work_round.delay(str(round_pk))


@shared_task(name="canary.tasks.work_round")
def work_round(round_pk: str) -> None:
    """Carry out one round; harmless when it is held, closed or gone."""
    rounds.work(UUID(round_pk))


@shared_task(name="canary.tasks.remove_old_evidence")
def remove_old_evidence() -> None:
    """Remove answers kept longer than EVIDENCE_DAYS."""
    retention.remove_evidence_text(before=database_now() - timedelta(days=settings.EVIDENCE_DAYS))
