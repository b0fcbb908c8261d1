"""The canary app."""

from django.apps import AppConfig


class CanaryConfig(AppConfig):
    """Names the app."""

    name = "canary"
