"""Reads for people: the decision log and the outbox."""

from collections.abc import Mapping

from django.db.models import Count, QuerySet

from incidents.models import Decision, Delivery, Notification


def latest_decisions(count: int) -> QuerySet[Decision]:
    """The last `count` decisions written, newest first, without the wide JSON columns."""
    return Decision.objects.defer("inputs", "policy", "evidence").order_by("-pk")[:count]


def undelivered() -> Mapping[str, int]:
    """How many notifications were given up, and how many have no channel, by delivery status."""
    rows = Notification.objects.filter(status__in=[Delivery.DEAD, Delivery.UNADDRESSED])
    return dict(rows.order_by().values_list("status").annotate(count=Count("pk")))
