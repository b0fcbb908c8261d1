"""The façade a backend imports."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings

from routing import service, snapshot
from routing.service import CallerMistake, NoRouteLeft, build_request, provider_preferences
from routing.snapshot import Refresher
from routing.snapshot_file import SnapshotFile
from tests.routing.domain.rows import builtin, excluded, model
from tests.routing.test_snapshot import Tables, rows_with

MODEL = "author/model"
MESSAGES = [{"role": "user", "content": "hello"}]
MOST_LINES = 150


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    """What this process reads its exclusions from."""
    tables = Tables(rows_with(excluded("alpha")))
    refresher = Refresher(lambda: tables, SnapshotFile(tmp_path))
    monkeypatch.setattr(snapshot, "_refresher", refresher)
    yield tables
    refresher.stop()


def test_a_request_holds_the_model_the_messages_the_parameters_and_the_list() -> None:
    assert build_request(MODEL, MESSAGES, temperature=0.2, provider={"zdr": True}) == {
        "model": MODEL,
        "messages": MESSAGES,
        "temperature": 0.2,
        "provider": {"zdr": True, "ignore": ["alpha"]},
    }


def test_fallback_models_are_a_parameter_whose_exclusions_count(tables: Tables) -> None:
    tables.rows = rows_with(excluded("alpha"), excluded("beta", model="author/other"))
    request = build_request(MODEL, MESSAGES, models=["author/other"])
    assert request["models"] == ["author/other"]
    assert request["provider"]["ignore"] == ["alpha", "beta"]


def test_the_provider_object_alone_fits_any_sdk() -> None:
    assert provider_preferences(MODEL) == {"ignore": ["alpha"]}
    assert provider_preferences(MODEL, {"only": ["beta"]}) == {"only": ["beta"], "ignore": ["alpha"]}


def test_if_nothing_can_serve_the_call_fails_at_once(tables: Tables) -> None:
    tables.rows = rows_with(builtin("alpha"), builtin("beta"))
    with pytest.raises(NoRouteLeft) as caught:
        build_request(MODEL, MESSAGES)
    assert caught.value.models == (MODEL,)
    assert caught.value.held == {"alpha": "the builtin tier", "beta": "the builtin tier"}


def test_r2_if_the_production_preferences_admit_nothing_that_serves_the_call_fails_at_once(
    tables: Tables,
) -> None:
    watched = model(preferences={"quantizations": ["fp8"]}, discovered_at=datetime.now(tz=UTC))
    tables.rows = replace(rows_with(), models=(watched,))
    with pytest.raises(NoRouteLeft, match="none that serves is admitted"):
        build_request(MODEL, MESSAGES)
    with pytest.raises(NoRouteLeft, match="none that serves is admitted"):
        provider_preferences(MODEL)
    assert provider_preferences(MODEL, {"quantizations": ["fp4"]}) == {"quantizations": ["fp4"], "ignore": []}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"model": ""}, "model is a model's name"),
        ({"messages": []}, "messages is a list of one message or more"),
        ({"messages": "hello"}, "messages is a list of one message or more"),
        ({"models": "author/other"}, "models is a list of model names"),
        ({"provider": {"ignored": []}}, "provider has no key 'ignored'"),
        ({"provider": {"only": "alpha"}}, "provider.only is a list of names"),
        ({"provider": "alpha"}, "provider is an object, not str"),
    ],
)
def test_a_callers_mistake_is_one_clear_sentence(arguments, sentence: str) -> None:
    with pytest.raises(CallerMistake, match=sentence):
        build_request(**{"model": MODEL, "messages": MESSAGES, **arguments})


def test_warming_up_waits_for_the_first_snapshot(tables: Tables) -> None:
    service.warm_up()
    assert tables.reads == 1
    assert service.snapshot_state().origin == "database"


def test_the_facade_holds_no_more_lines_than_agreed() -> None:
    assert len(Path(service.__file__).read_text().splitlines()) <= MOST_LINES


def test_importing_it_and_building_a_request_loads_no_detector_no_validator_and_no_client(
    tmp_path: Path,
) -> None:
    unwanted = ("langdetect", "py3langid", "ftfy", "jsonschema", "httpx", "numpy", "routing.judges")
    script = (
        "import django, sys; django.setup(); before = set(sys.modules);"
        "from routing.service import build_request;"
        "build_request('author/model', [{'role': 'user', 'content': 'x'}]);"
        f"print(sorted((set(sys.modules) - before) & set({unwanted})))"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(
        command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
