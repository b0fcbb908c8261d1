"""`probe`, `run_round` and `lift` on the command line: what they do, and one sentence for what cannot be."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from canary import rounds
from canary.models import Round, Suspension
from routing.models import Exclusion, RoutedModel
from tests.canary.conftest import HEALTHY, MODEL, SandboxGateway
from tests.factories import make_endpoint, make_exclusion, make_model, make_suspension

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def model() -> RoutedModel:
    return make_model(MODEL, mode="enforce")


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_run_round_prints_every_endpoint_and_scores_nobody(
    sandbox: SandboxGateway, model: RoutedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("run_round", MODEL, json=True)
    assert {line["endpoint"] for line in said(capsys)} == {*HEALTHY, "faulty/fp4"}
    assert Round.objects.get().is_scored is False


def test_probe_prints_the_runs_that_were_chosen(
    sandbox: SandboxGateway, model: RoutedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("discover", MODEL)
    capsys.readouterr()
    call_command("probe", MODEL, endpoint="south", contract="language", language="th", repeat=2, json=True)
    assert [(line["endpoint"], line["language"], line["verdict"]) for line in said(capsys)] == [
        ("south", "th", "pass")
    ] * 2


@pytest.mark.parametrize(
    ("command", "options", "sentence"),
    [
        pytest.param("run_round", {}, "No model acme/none is watched", id="run_round"),
        pytest.param("probe", {}, "No model acme/none is watched", id="probe"),
    ],
)
def test_a_model_that_is_not_watched_is_one_sentence(
    command: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command(command, "acme/none", **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(
            {"endpoint": "nobody"}, "has no endpoint nobody; known are: a", id="an unknown endpoint"
        ),
        pytest.param({"repeat": 0}, "--repeat takes 1 to 100", id="no repetition"),
        pytest.param({"repeat": 101}, "--repeat takes 1 to 100", id="too many"),
    ],
)
def test_what_cannot_be_probed_is_one_sentence_and_asks_nobody(
    model: RoutedModel, options: dict[str, object], sentence: str
) -> None:
    make_endpoint(model, "a")
    with pytest.raises(CommandError, match=sentence):
        call_command("probe", MODEL, **options)
    assert not Round.objects.exists()


def test_a_round_by_hand_is_refused_while_another_one_runs(model: RoutedModel) -> None:
    rounds.request_round(model.pk, actor="test")
    with pytest.raises(CommandError, match="is running; ask again"):
        call_command("run_round", MODEL)


def test_a_round_that_stops_on_our_side_says_so_and_fails(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.keys({"state": "revoked"})
    with pytest.raises(CommandError, match="ended as our side"):
        call_command("run_round", MODEL)


def test_lift_ends_a_suspension_and_a_runtime_exclusion_of_a_name(
    model: RoutedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    make_suspension(make_endpoint(model, "a/fp8"), started_at=timezone.now(), is_shadow=True)
    make_exclusion("a/fp8")
    call_command("lift", "a/fp8", reason="mended", false_positive=True, json=True)
    assert [line["kind"] for line in said(capsys)] == ["shadow suspension", "exclusion"]
    assert Suspension.objects.get().judgement == "false positive"
    assert Exclusion.objects.get().lift_reason == "mended"


def test_nothing_to_lift_and_no_reason_are_one_sentence_each(model: RoutedModel) -> None:
    with pytest.raises(CommandError, match="Nothing to lift: a/fp8"):
        call_command("lift", "a/fp8", reason="mended")
    with pytest.raises(CommandError, match="--reason must say why"):
        call_command("lift", "a/fp8", reason=" ")
