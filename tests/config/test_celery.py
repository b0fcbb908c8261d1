"""The Celery application keeps what the broker's traps ask for, and every periodic task exists."""

import pytest

from config import celery

ENTRIES = celery.app.conf.beat_schedule


@pytest.fixture(autouse=True, scope="module")
def _tasks_are_loaded() -> None:
    celery.app.loader.import_default_modules()


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_beat_entry_resolves_and_expires(entry: str) -> None:
    assert ENTRIES[entry]["task"] in celery.app.tasks
    assert ENTRIES[entry]["options"]["expires"] >= 1


def test_no_task_may_run_longer_than_the_broker_waits_for_it() -> None:
    ours = [task for name, task in celery.app.tasks.items() if not name.startswith("celery.")]
    assert len(ours) >= len(ENTRIES)
    for task in ours:
        limit_s = task.time_limit or celery.app.conf.task_time_limit
        assert limit_s < celery.VISIBILITY_TIMEOUT_S, task.name
        assert (task.soft_time_limit or celery.app.conf.task_soft_time_limit) < limit_s, task.name


def test_tasks_are_acknowledged_when_done_keep_no_result_and_are_not_hoarded() -> None:
    conf = celery.app.conf
    assert conf.task_acks_late
    assert conf.task_ignore_result
    assert conf.worker_prefetch_multiplier == 1


def test_abandoned_messages_are_looked_for_every_few_seconds() -> None:
    options = celery.app.conf.broker_transport_options
    assert options["visibility_timeout"] == celery.VISIBILITY_TIMEOUT_S
    assert options["unacked_restore_interval"] <= 5
    assert options["unacked_restore_throttle"] == 1


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock"),
        ("redis+socket:///run/valkey.sock", "redis+socket:///run/valkey.sock"),
        ("redis://host:6379/0", "redis://host:6379/0"),
    ],
)
def test_a_unix_socket_is_named_as_celery_names_it(given: str, understood: str) -> None:
    assert celery.broker_url(given) == understood
