"""Periodic work of routing; beat's entry is in `config.celery`."""

from celery import shared_task

from routing import expiry, snapshot_source, unmatched
from routing.clock import database_now


@shared_task(name="routing.tasks.sweep")
def sweep() -> None:
    """Write down what ended, tell what will, and what gives way: also where no process builds requests."""
    now = database_now()
    expiry.expire_due(now)
    unmatched.tell_unmatched_builtin(now)
    snapshot_source.tell_now(now)
