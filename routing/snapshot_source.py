"""Where a process's refresh thread reads from: the version every 0.25 s, all rows when it has changed (rule R3).

A poll is one primary-key look-up on the thread's own connection. A connection that broke, or a server that
does not answer for 2 s, is given up, so that the thread is never stuck for longer than that.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.utils import timezone

from routing.compiling import compiled
from routing.domain.exclusion_rows import ModelRow, Rows
from routing.domain.modes import Mode, Tier
from routing.giving_way import tell_giving_way
from routing.models import EnforcementSwitch, RoutedModel
from routing.offers import fitting_tags
from routing.rows import rows_in_force
from routing.selectors import known_tags
from routing.versions import current_version

ANSWER_LIMIT_MS = 2000
LOCK_LIMIT_MS = 400
"""Longest wait for somebody else's lock: what gives way can be recorded by a later poll as well."""
POLL = "SELECT version, {clock} FROM routing_snapshotversion WHERE id = 1"


class DatabaseSource:
    """The tables, read on a connection of the calling thread's own; used by one thread."""

    def __init__(self) -> None:
        self._is_open = False

    def poll(self) -> tuple[int, timedelta]:
        """The committed version, and how far the database's clock is ahead of this machine's."""
        self._open()
        connection = connections[DEFAULT_DB_ALIAS]
        is_postgres = connection.vendor == "postgresql"
        with connection.cursor() as cursor:
            cursor.execute(POLL.format(clock="clock_timestamp()" if is_postgres else "NULL"))
            version, moment = cursor.fetchone() or (0, None)
        return version, moment - timezone.now() if moment else timedelta(0)

    def read(self, now: datetime) -> Rows:
        """All rows as of `now`. The version is read first: rows may be newer than it, never older."""
        version, _ = self.poll()
        return read_rows(version, now)

    def tell(self, gave_way: frozenset[tuple[str, str]], version: int, now: datetime) -> bool:
        """Record and tell what a snapshot of `version` leaves out (rule R2)."""
        return tell_giving_way(gave_way, version=version, now=now)

    def close(self) -> None:
        """Give the connection back; the next poll opens another."""
        if self._is_open:
            self._is_open = False
            connections[DEFAULT_DB_ALIAS].close()
            del connections[DEFAULT_DB_ALIAS]

    def _open(self) -> None:
        """Make the thread's own connection."""
        if self._is_open:
            return
        connection = connections.create_connection(DEFAULT_DB_ALIAS)
        options = _limited(connection.vendor, connection.settings_dict["OPTIONS"])
        connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
        connections[DEFAULT_DB_ALIAS] = connection
        self._is_open = True


def _limited(vendor: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The connection options of `vendor` with limits on every wait, and without a pool, which is not one thread's."""
    given = {key: value for key, value in options.items() if key != "pool"}
    if vendor != "postgresql":
        return {**given, "timeout": LOCK_LIMIT_MS / 1000}
    limits = f"-c statement_timeout={ANSWER_LIMIT_MS} -c lock_timeout={LOCK_LIMIT_MS}"
    return {
        **given,
        "connect_timeout": ANSWER_LIMIT_MS // 1000,
        "tcp_user_timeout": ANSWER_LIMIT_MS,
        "options": f"{given.get('options', '')} {limits}".strip(),
    }


def read_rows(version: int, now: datetime) -> Rows:
    """The rows of a snapshot as of `now`: a handful of queries, whatever the number of models."""
    models = list(RoutedModel.objects.order_by("pk"))
    fitting = fitting_tags(models)
    return Rows(
        version=version,
        is_stopped=EnforcementSwitch.objects.filter(pk=1, is_stopped=True).exists(),
        exclusions=rows_in_force(now, (Tier.RUNTIME, Tier.CANARY)),
        models=tuple(
            ModelRow(
                slug=model.slug,
                is_watched=model.mode != Mode.OFF.value,
                is_gone=model.is_gone,
                admitted=fitting[model.pk],
                discovered_at=model.discovered_at,
                preferences=model.preferences if isinstance(model.preferences, dict) else {},
            )
            for model in models
        ),
        tags=known_tags(),
    )


def tell_now(now: datetime) -> None:
    """Compile a snapshot only to have told what it leaves out: for where no process builds requests."""
    rows = read_rows(current_version(), now)
    tell_giving_way(compiled(rows, now).gave_way(), version=rows.version, now=now)
