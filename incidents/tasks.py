"""The beat task that empties the outbox."""

from celery import shared_task
from django.utils import timezone

from incidents import notifications

# Both below the lease of a claimed row (incidents/domain/outbox.py).
SOFT_LIMIT_S = 120
HARD_LIMIT_S = 150


@shared_task(
    name="incidents.tasks.deliver",
    acks_late=True,
    ignore_result=True,
    soft_time_limit=SOFT_LIMIT_S,
    time_limit=HARD_LIMIT_S,
)
def deliver() -> None:
    """Send the notifications that are due."""
    notifications.deliver_due(timezone.now())
