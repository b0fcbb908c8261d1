"""Rule R4: after each answer, who served it is compared with the list that was sent."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from routing import snapshot
from routing.models import Attempt
from routing.service import CallerMistake, record_served
from routing.snapshot import Refresher
from routing.snapshot_file import SnapshotFile
from tests.routing.conftest import MakeModel, decided, latest_decision, told
from tests.routing.domain.rows import excluded
from tests.routing.test_snapshot import Tables, rows_with, wait_for

pytestmark = pytest.mark.django_db

MODEL = "author/model"


@pytest.fixture(autouse=True)
def catalogue(make_model: MakeModel) -> None:
    make_model("alpha/fp8", "alpha/fp4", "beta", "gamma/flex", "gamma", at=timezone.now())


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    """What this process sends; no exclusions unless a test sets them."""
    tables = Tables(rows_with())
    refresher = Refresher(lambda: tables, SnapshotFile(tmp_path))
    monkeypatch.setattr(snapshot, "_refresher", refresher)
    yield tables
    refresher.stop()


def sent(*ignore: str) -> dict[str, Any]:
    return {"model": MODEL, "messages": [], "provider": {"ignore": list(ignore)}}


def answer(provider: str | None = "Alpha AI", **parts: Any) -> dict[str, Any]:
    return {
        "id": "gen-1",
        "provider": provider,
        "choices": [{"finish_reason": "stop"}],
        "usage": {"cost": 0.001},
        **parts,
    }


def test_one_attempt_is_written_with_who_served_and_what_it_cost(tables: Tables) -> None:
    served = record_served(MODEL, answer(), operation_id="op-1", subject="user 7", request=sent("beta"))
    row = Attempt.objects.get()
    assert (served.served_by, served.provider, served.is_breach, served.attempt_id) == (
        "Alpha AI",
        "alpha",
        False,
        row.pk,
    )
    assert (row.operation_id, row.generation_id, row.model_slug, row.provider_slug) == (
        "op-1",
        "gen-1",
        MODEL,
        "alpha",
    )
    assert (row.sent_ignore, row.finish_reason, row.cost_usd) == (["beta"], "stop", Decimal("0.001"))


def test_the_subject_is_stored_as_a_keyed_hash_only(tables: Tables) -> None:
    for subject in ("user 7", "user 7", "user 8", None):
        record_served(MODEL, answer(), subject=subject)
    first, again, other, nobody = Attempt.objects.order_by("at").values_list("subject_hash", flat=True)
    assert first == again != other
    assert len(first) == 64
    assert nobody == ""
    assert "user" not in first


@pytest.mark.parametrize(
    ("provider", "ignore", "is_breach"),
    [
        pytest.param("Alpha AI", ["beta"], False, id="another provider was excluded"),
        pytest.param("Alpha AI", ["alpha"], True, id="the provider was excluded"),
        pytest.param("ALPHA ai", ["alpha"], True, id="its name in another case"),
        pytest.param("Alpha AI", ["alpha/fp8"], False, id="another endpoint of it was allowed"),
        pytest.param("Alpha AI", ["alpha/fp8", "alpha/fp4"], True, id="every endpoint of it was excluded"),
        pytest.param("Gamma AI", ["gamma"], False, id="its service tier was not"),
        pytest.param("Gamma AI", ["gamma", "gamma/flex"], True, id="its service tier was too"),
        pytest.param("Nobody Known", ["alpha"], False, id="a name that is in no catalogue"),
        pytest.param(None, ["alpha"], False, id="nobody named"),
        pytest.param("OpenInference", ["openinference"], True, id="a name excluded although never seen"),
        pytest.param("Open-Inference", ["openinference/fp8"], False, id="only an endpoint of such a name"),
    ],
)
def test_a_breach_is_an_answer_no_allowed_endpoint_could_have_given(
    tables: Tables, provider, ignore, is_breach: bool
) -> None:
    assert record_served(MODEL, answer(provider), request=sent(*ignore)).is_breach is is_breach
    assert Attempt.objects.get().is_breach is is_breach


def test_a_breach_is_logged_each_time_and_told_once_in_24_h(
    tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    since = latest_decision()
    for _ in range(3):
        record_served(MODEL, answer(), request=sent("alpha"))
    assert decided(since) == [("breach", "R4", "alpha")]
    assert told(since) == ["author/model served by alpha, which was excluded"]
    assert caplog.text.count("was served by alpha, which the request excluded") == 3
    Attempt.objects.update(at=timezone.now() - timedelta(hours=25))
    record_served(MODEL, answer(), request=sent("alpha"))
    assert len(decided(since)) == 2


def test_a_variant_is_compared_with_its_base_models_endpoints(tables: Tables) -> None:
    assert record_served(f"{MODEL}:nitro", answer(), request=sent("alpha/fp8", "alpha/fp4")).is_breach


def test_without_the_request_the_list_is_what_this_process_sends(tables: Tables) -> None:
    tables.rows = rows_with(excluded("alpha"))
    assert record_served(MODEL, answer()).is_breach


@pytest.mark.parametrize(("began_ago_s", "is_breach"), [(30, False), (0, True)])
def test_a_request_under_way_when_the_exclusion_came_is_no_breach(
    tables: Tables, began_ago_s: int, is_breach: bool
) -> None:
    refresher = snapshot.refresher()
    refresher.snapshot()
    tables.rows = rows_with(excluded("alpha"), version=2)
    assert wait_for(lambda: bool(refresher.sent_at(MODEL, refresher.now_s()).names))
    since_s = refresher._since_s[excluded("alpha").key]
    refresher._since_s[excluded("alpha").key] = since_s - 10
    began_s = datetime.now(tz=UTC).timestamp() - began_ago_s
    assert record_served(MODEL, answer(created=began_s)).is_breach is is_breach


@pytest.mark.parametrize(
    "request_",
    [
        [],
        "x",
        {"provider": None},
        {"ignore": []},
        {"provider": {"ignore": "alpha"}},
        {"provider": {"ignore": [1]}},
    ],
)
def test_a_request_that_is_none_is_the_callers_mistake(tables: Tables, request_) -> None:
    with pytest.raises(CallerMistake, match="request"):
        record_served(MODEL, answer(), request=request_)
    assert not Attempt.objects.exists()


def test_hostile_values_are_bounded_and_lose_nothing(tables: Tables) -> None:
    hostile = answer(
        "Alpha\x00\nAI\u202e" + "x" * 10_000,
        id="g" * 5_000,
        choices=[{"finish_reason": "stop\x1b[31m" + "y" * 500}],
        usage={"cost": "free"},
        created=float("nan"),
    )
    record_served(
        "m" * 500, hostile, operation_id="o" * 500, request=sent(*(f"host{number}" for number in range(5000)))
    )
    row = Attempt.objects.get()
    assert row.served_by.startswith("Alpha  AI")
    assert len(row.sent_ignore) == 200
    assert row.cost_usd is None


def test_of_a_long_list_the_names_about_who_served_are_kept(tables: Tables) -> None:
    record_served(
        MODEL,
        answer(),
        request=sent(*(f"host{number}" for number in range(300)), "alpha", "alpha/fp8", "alpha/fp4"),
    )
    assert Attempt.objects.get().sent_ignore[:3] == ["alpha", "alpha/fp8", "alpha/fp4"]


def test_a_model_that_is_not_in_the_catalogue_is_compared_by_base_slug(tables: Tables) -> None:
    tables.rows = rows_with(excluded("alpha", model=None))
    assert record_served("some/unknown", answer()).is_breach
