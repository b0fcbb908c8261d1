"""The servers tests rely on are real and clean."""

import pytest
import redis
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.db import connection


def test_the_valkey_of_a_test_is_empty(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


def test_the_valkey_of_the_next_test_is_empty_again(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


@pytest.mark.postgres
@pytest.mark.django_db
def test_a_test_marked_postgres_runs_on_postgres() -> None:
    assert connection.vendor == "postgresql"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_transactional_tests_start_from_what_migrate_made(turn: int) -> None:
    assert ContentType.objects.exists()
    Group.objects.create(name="left behind")
    assert Group.objects.filter(name="left behind").count() == 1
