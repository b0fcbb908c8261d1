"""The ASGI entry point. It refuses to start without SECRET_KEY: sessions signed by a throw-away key are lost."""

import os

from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_asgi_application()

from django.conf import settings  # noqa: E402  settings are ready only after the application is built

if not settings.HAS_OWN_SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set: the web server needs one of its own (see .env.example)."
    )
