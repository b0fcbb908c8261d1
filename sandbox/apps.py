"""Django registration, needed only so that `manage.py sandbox` is found."""

from django.apps import AppConfig


class SandboxConfig(AppConfig):
    """The sandbox gateway has no models and no settings of its own."""

    name = "sandbox"
    verbose_name = "Sandbox gateway"
