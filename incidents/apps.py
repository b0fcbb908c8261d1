"""The incidents app."""

from django.apps import AppConfig


class IncidentsConfig(AppConfig):
    """Names the app."""

    name = "incidents"
