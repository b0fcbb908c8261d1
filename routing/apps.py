"""The routing app."""

from django.apps import AppConfig


class RoutingConfig(AppConfig):
    """Names the app."""

    name = "routing"
