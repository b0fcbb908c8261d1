"""The canary app."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CanaryConfig(AppConfig):
    """Names the app, and makes the roles once every app before it has its permissions."""

    name = "canary"

    def ready(self) -> None:
        """Make the roles whenever migrations have run."""
        post_migrate.connect(_make_roles, sender=self)


def _make_roles(using: str, **_: Any) -> None:
    from canary import roles

    roles.make_roles(using)
