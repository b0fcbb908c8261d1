"""Rule C14: decisions for one model, runtime exclusions too, are taken one at a time under one lock."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.utils import timezone

from routing.catalogue import store_providers
from routing.exclusions import BadExclusion, add_runtime, lock_all_models, lock_model
from routing.models import Exclusion, Provider, RoutedModel
from routing.versions import bump_version, current_version
from tests.routing.conftest import MakeModel, asked

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def in_threads(*works: Callable[[], None]) -> list[BaseException]:
    """Run `works` at once, each on a connection of its own; gives what they raised."""
    barrier = threading.Barrier(len(works))
    raised: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait()
            work()
        except Exception as error:  # noqa: BLE001  the test looks at it
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def exclude(entry: str, model: RoutedModel | None = None) -> Callable[[], None]:
    def work() -> None:
        add_runtime(asked(entry, model_pk=model.pk if model else None), now=timezone.now())

    return work


def test_a_runtime_exclusion_waits_for_the_decision_under_way(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma", at=timezone.now())
    locked, decided = threading.Event(), threading.Event()

    def decide() -> None:
        with transaction.atomic():
            lock_model(model.pk)
            locked.set()
            assert not decided.wait(0.5), "the exclusion did not wait"

    def add() -> None:
        locked.wait(5)
        exclude("alpha", model)()
        decided.set()

    assert in_threads(decide, add) == []
    assert decided.is_set()


def test_of_two_that_add_the_last_two_endpoints_at_once_one_is_told_that_nothing_is_left(
    make_model: MakeModel,
) -> None:
    for number in range(10):
        model = make_model("alpha", "beta", slug=f"author/race-{number}", at=timezone.now())
        (refused,) = in_threads(exclude("alpha", model), exclude("beta", model))
        assert isinstance(refused, BadExclusion)
        assert Exclusion.objects.filter(model=model).count() == 1


def test_one_for_all_models_and_one_for_a_single_model_do_not_wait_in_a_circle(make_model: MakeModel) -> None:
    models = [
        make_model("alpha", "beta", "gamma", "delta", slug=f"author/m{number}", at=timezone.now())
        for number in range(5)
    ]
    singles = [exclude("beta", model) for model in models]
    assert in_threads(exclude("alpha"), *reversed(singles)) == []
    assert Exclusion.objects.count() == 6


def test_lists_lock_the_providers_they_share_in_one_order(make_model: MakeModel) -> None:
    """A list that waits for one provider holds none that another list may have to lock before that one."""
    gateway = make_model("alpha", "beta", at=timezone.now()).gateway

    def take_in() -> None:
        store_providers(gateway, {"beta": "Beta AI", "alpha": "Alpha AI"}, now=timezone.now())
        connection.close()

    other = threading.Thread(target=take_in)
    with transaction.atomic():
        Provider.objects.select_for_update().get(slug="alpha")
        other.start()
        wait_until_somebody_waits_for_us()
        assert Provider.objects.select_for_update(nowait=True).get(slug="beta")
    other.join()


def wait_until_somebody_waits_for_us() -> None:
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute("SELECT 1 FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            if cursor.fetchone():
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits for this connection")


def test_versions_are_raised_one_at_a_time(make_model: MakeModel) -> None:
    before = current_version()

    def bump() -> None:
        for _ in range(20):
            with transaction.atomic():
                bump_version()

    assert in_threads(*[bump] * 4) == []
    assert current_version() == before + 80


def test_the_locks_do_not_hold_up_rows_that_only_refer_to_the_model(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", at=timezone.now())
    locked, written = threading.Event(), threading.Event()

    def decide() -> None:
        with transaction.atomic():
            lock_all_models()
            locked.set()
            assert written.wait(5), "a row beside the lock had to wait"

    def write() -> None:
        locked.wait(5)
        Exclusion.objects.create(
            tier="runtime", entry="x", model=model, reason="r", created_at=timezone.now()
        )
        written.set()

    assert in_threads(decide, write) == []
