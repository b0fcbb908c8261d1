"""The Celery application: Redis-compatible broker, late acknowledgement, no results, a tick from beat."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The broker gives a message back after this long without an acknowledgement. It must exceed the longest
# task (hard limit below) and the longest countdown (none: due times are rows), else a task runs twice.
VISIBILITY_TIMEOUT_S = 900
SOFT_LIMIT_S = 600
HARD_LIMIT_S = 660

app = Celery("routewarden")


def broker_url(url: str) -> str:
    """`url` in Celery's words: a unix socket is `redis+socket://` there."""
    return url.replace("unix://", "redis+socket://", 1) if url.startswith("unix://") else url


app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    # kombu sweeps abandoned messages only about every 100 s unless told otherwise.
    broker_transport_options={
        "visibility_timeout": VISIBILITY_TIMEOUT_S,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
    },
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    task_ignore_result=True,
    task_soft_time_limit=SOFT_LIMIT_S,
    task_time_limit=HARD_LIMIT_S,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    timezone="UTC",
    beat_schedule={
        "tick": {
            "task": "canary.tasks.tick",
            "schedule": settings.TICK_S,
            "options": {"expires": max(settings.TICK_S, 1.0)},
        },
        "deliver-notifications": {
            "task": "incidents.tasks.deliver",
            "schedule": min(settings.TICK_S, 15.0),
            "options": {"expires": 60},
        },
        "sweep-exclusions": {
            "task": "routing.tasks.sweep",
            "schedule": min(settings.TICK_S, 15.0),
            "options": {"expires": 60},
        },
        "retention": {
            "task": "canary.tasks.remove_old_evidence",
            "schedule": 3600.0,
            "options": {"expires": 3600},
        },
    },
)
app.autodiscover_tasks(["canary", "routing", "incidents"])
