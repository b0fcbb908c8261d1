"""The one clock of rules and rows: the database server's, so that all processes agree (rules, Terms)."""

from datetime import UTC, datetime

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """Now, in UTC: PostgreSQL's `clock_timestamp()`; this machine's clock on SQLite, which has no server."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment.astimezone(UTC)
