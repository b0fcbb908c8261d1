"""Fixtures of the whole suite: the traps of the databases, and a real Redis-compatible server."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest
import redis
from django.conf import settings
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from tests.services import valkey

# Machines that run tests are shared: a time limit for an example would measure the neighbours.
hypothesis.settings.register_profile("routewarden", hypothesis.settings.get_profile("default"), deadline=None)
if "CI" not in os.environ:  # hypothesis has a profile of its own for CI: the same examples every time
    hypothesis.settings.load_profile("routewarden")

# Both give rows of two statements: one that lifts a trigger, one that restores it as it was.
SQLITE_TRIGGERS = """SELECT 'DROP TRIGGER "' || name || '"', sql FROM sqlite_master WHERE type = 'trigger'"""
POSTGRES_TRIGGERS = """
    SELECT format('ALTER TABLE %s DISABLE TRIGGER %I', tgrelid::regclass, tgname),
           format('ALTER TABLE %s ENABLE %s TRIGGER %I', tgrelid::regclass,
                  CASE tgenabled WHEN 'A' THEN 'ALWAYS' ELSE '' END, tgname)
    FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')
"""


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """SQLite in a file, as in production: in memory its locks are other ones."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(Path(settings.STATE_DIR) / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The test database; emptying it between transactional tests gets past the append-only triggers."""
    with django_db_blocker.unblock():
        flush = connection.ops.execute_sql_flush

        def flush_without_triggers(sql_list: Iterable[str]) -> None:
            with _triggers_lifted():
                flush(sql_list)

        connection.ops.execute_sql_flush = flush_without_triggers  # type: ignore[method-assign]


@contextmanager
def _triggers_lifted() -> Iterator[None]:
    with transaction.atomic(), connection.cursor() as cursor:
        queries = POSTGRES_TRIGGERS if connection.vendor == "postgresql" else SQLITE_TRIGGERS
        cursor.execute(queries)
        triggers = cursor.fetchall()
        for lift, _ in triggers:
            cursor.execute(lift)
        yield
        for _, restore in triggers:
            cursor.execute(restore)


@pytest.fixture(scope="session")
def _valkey_server_url() -> Iterator[str]:
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        yield given
        return
    server = valkey.start()
    yield server.url
    server.stop()


@pytest.fixture
def valkey_url(_valkey_server_url: str) -> str:
    """The address of an empty Redis-compatible server (for redis-py and for REDIS_URL)."""
    with redis.Redis.from_url(_valkey_server_url) as client:
        client.flushall()
    return _valkey_server_url
