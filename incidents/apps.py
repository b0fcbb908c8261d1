"""The incidents app."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.signals import post_migrate


class IncidentsConfig(AppConfig):
    """Names the app, and keeps the decision log's triggers through migrations that rebuild its table."""

    name = "incidents"

    def ready(self) -> None:
        """Look after the triggers whenever migrations have run."""
        post_migrate.connect(_renew_triggers, sender=self)


def _renew_triggers(using: str, **_: Any) -> None:
    from incidents import append_only

    connection = connections[using]
    if ("incidents", "0002_append_only_decisions") in MigrationRecorder(connection).applied_migrations():
        append_only.install(connection)
