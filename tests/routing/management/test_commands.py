"""The commands discover, exclude, route and enforcement, as an operator types them."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from pytest_django import Settings

from routing.exclusions import add_runtime
from routing.models import Attempt, Endpoint, Exclusion, RoutedModel
from routing.switch import is_enforcement_stopped
from tests.canary.conftest import HEALTHY, MODEL, SandboxGateway, sandbox
from tests.routing.conftest import MakeModel, asked, decided, latest_decision

__all__ = ["sandbox"]  # a fixture; pytest finds it by its name here

pytestmark = pytest.mark.django_db

TAGS = sorted([*HEALTHY, "faulty/fp4"])


def run(*words: str) -> tuple[str, str]:
    """What the command writes to standard output and error."""
    out, err = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def rows(*words: str) -> list[dict[str, Any]]:
    """The JSON lines of a command."""
    return [json.loads(line) for line in run(*words, "--json")[0].splitlines()]


# discover


def test_discover_stores_and_prints_what_serves(sandbox: SandboxGateway) -> None:
    found = rows("discover", MODEL)
    assert [row["endpoint"] for row in found] == TAGS
    assert {row["change"] for row in found} == {"joined"}
    assert found[0]["prompt_usd_per_million"] == 1.0
    assert sorted(Endpoint.objects.values_list("tag", flat=True)) == TAGS
    assert {row["change"] for row in rows("discover", MODEL)} == {None}


@pytest.mark.parametrize(("words", "mode"), [((), "off"), (("--watch",), "observe")])
def test_discover_makes_an_unknown_model_known_and_watches_it_only_when_asked(
    sandbox: SandboxGateway, words: tuple[str, ...], mode: str
) -> None:
    out, _ = run("discover", MODEL, *words)
    assert "south" in out
    assert RoutedModel.objects.get().mode == mode
    assert decided()[0] == ("mode", "C17", "")


def test_discover_does_not_switch_the_mode_of_a_known_model(sandbox: SandboxGateway) -> None:
    run("discover", MODEL)
    with pytest.raises(CommandError, match="is known with mode off: switch its mode in the admin"):
        run("discover", MODEL, "--watch")
    RoutedModel.objects.update(mode="enforce")
    run("discover", MODEL, "--watch")
    assert RoutedModel.objects.get().mode == "enforce"


def test_discover_says_what_left_and_what_is_not_believed_yet(sandbox: SandboxGateway) -> None:
    run("discover", MODEL)
    sandbox.faults("south", {"kind": "gone"})
    assert [row["endpoint"] for row in rows("discover", MODEL) if row["change"] == "left"] == ["south"]
    for tag in ("centre", "west/fp8", "east/bf16"):
        sandbox.faults(tag, {"kind": "gone"})
    out, err = run("discover", MODEL)
    assert "centre" in out
    assert "The list lacks centre, east/bf16, west/fp8" in err


def test_discover_knows_the_names_of_providers_that_do_not_serve_the_model(sandbox: SandboxGateway) -> None:
    run("discover", MODEL)
    assert RoutedModel.objects.get().gateway.providers.filter(slug="north").exists()


@pytest.mark.parametrize("slug", ["acme", "acme/", "http://acme/prose", "a b/c", "x" * 300 + "/y"])
def test_discover_refuses_what_is_no_model_slug(slug: str) -> None:
    with pytest.raises(CommandError, match="model slug"):
        run("discover", slug)
    assert not RoutedModel.objects.exists()


def test_discover_of_a_model_the_gateway_does_not_have_stores_nothing(sandbox: SandboxGateway) -> None:
    with pytest.raises(CommandError, match="acme/nothing"):
        run("discover", "acme/nothing")
    assert not RoutedModel.objects.exists()


def test_discover_of_a_known_model_that_is_gone_says_so_and_marks_it(
    sandbox: SandboxGateway, make_model: MakeModel
) -> None:
    make_model("alpha", slug="acme/nothing")
    with pytest.raises(CommandError):
        run("discover", "acme/nothing")
    assert RoutedModel.objects.get().is_gone


def test_discover_without_a_gateway_is_one_sentence_and_logged_for_a_known_model(
    settings: Settings, make_model: MakeModel
) -> None:
    settings.OPENROUTER_BASE_URL = "http://127.0.0.1:9/api/v1"
    settings.OPENROUTER_API_KEY = "sk-test"
    make_model("alpha", slug=MODEL)
    since = latest_decision()
    with pytest.raises(CommandError, match="The gateway cannot be read"):
        run("discover", MODEL)
    assert decided(since) == [("discovery_failed", "C1", "")]


def test_discover_without_a_key_says_which_variable_is_missing(settings: Settings) -> None:
    settings.OPENROUTER_API_KEY = ""
    with pytest.raises(CommandError, match="OPENROUTER_API_KEY"):
        run("discover", MODEL)


# exclude


def test_exclude_adds_for_all_models_and_7_days_unless_told_otherwise(make_model: MakeModel) -> None:
    make_model("alpha", "beta", "gamma", at=timezone.now())
    out, err = run("exclude", "alpha", "--reason", "Seen.")
    row = Exclusion.objects.get()
    assert out.startswith("Excluded alpha for all models until ")
    assert err == ""
    assert row.expires_at is not None
    assert row.expires_at - row.created_at == timedelta(days=7)


def test_exclude_takes_a_model_a_length_and_giving_way(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma", at=timezone.now())
    (facts,) = rows(
        "exclude", "Alpha", "--model", "Author/Model", "--reason", "Seen.", "--days", "0.5", "--may-give-way"
    )
    row = Exclusion.objects.get()
    assert (facts["exclusion"], facts["entry"], facts["model"]) == (row.pk, "alpha", model.slug)
    assert row.expires_at is not None
    assert (row.expires_at - row.created_at, row.may_give_way) == (timedelta(hours=12), True)


def test_exclude_until_lifted_has_no_end(make_model: MakeModel) -> None:
    make_model("alpha", "beta", "gamma", at=timezone.now())
    (facts,) = rows("exclude", "alpha", "--reason", "Seen.", "--until-lifted")
    assert facts["until"] is None


def test_exclude_asks_to_confirm_an_unknown_name_and_one_that_leaves_nothing(make_model: MakeModel) -> None:
    make_model("alpha", at=timezone.now())
    with pytest.raises(CommandError, match=r"Did you mean alpha\? Add --confirm"):
        run("exclude", "alphaa", "--reason", "Seen.")
    with pytest.raises(
        CommandError, match=r"leaves no endpoint that could serve author/model.* Add --confirm"
    ):
        run("exclude", "alpha", "--reason", "Seen.")
    _, err = run("exclude", "alpha", "--reason", "Seen.", "--confirm")
    assert err == "Warning: Nothing could serve author/model: every request for it would fail.\n"
    assert rows("exclude", "alphaa", "--reason", "Seen.", "--confirm")[0]["unmatched"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--model", "author/unknown"],
            "No model author/unknown is known; `manage.py discover author/unknown`",
        ),
        (["--days", "0"], "--days takes more than 0 and at most 3650, not 0."),
        (["--days", "nan"], "--days takes more than 0"),
        (["--days", "1e9"], "--days takes more than 0"),
        (["--reason", " "], "A reason is needed."),
        (["--days", "1", "--until-lifted"], "not allowed with argument"),
    ],
)
def test_exclude_refuses_bad_input_in_one_sentence(
    make_model: MakeModel, words: list[str], sentence: str
) -> None:
    make_model("alpha", "beta", at=timezone.now())
    with pytest.raises(CommandError, match=sentence):
        run("exclude", "alpha", "--reason", "Seen.", *words)
    assert not Exclusion.objects.exists()


# enforcement


def test_enforcement_stops_and_resumes() -> None:
    assert run("enforcement", "stop", "--reason", "Upgrade.")[0] == "Enforcement is stopped.\n"
    assert is_enforcement_stopped()
    assert rows("enforcement", "resume", "--reason", "Done.") == [
        {"enforcement": "resumed", "reason": "Done."}
    ]
    assert not is_enforcement_stopped()
    with pytest.raises(CommandError, match="Enforcement is resumed already"):
        run("enforcement", "resume", "--reason", "Again.")


# route


@pytest.fixture
def served(make_model: MakeModel, live_snapshot) -> RoutedModel:
    """A model of which `alpha` is excluded."""
    model = make_model("alpha", "beta", "gamma", slug=MODEL, at=timezone.now())
    add_runtime(asked("alpha"), now=timezone.now())
    return model


@pytest.mark.django_db(transaction=True)
def test_route_prints_the_request_that_would_be_sent(served: RoutedModel) -> None:
    (facts,) = rows("route", MODEL, "--message", "Good morning.")
    assert facts["request"]["provider"] == {"ignore": ["alpha"]}
    assert facts["request"]["messages"] == [{"role": "user", "content": "Good morning."}]
    assert json.loads(run("route", MODEL)[0])["model"] == MODEL


@pytest.mark.django_db(transaction=True)
def test_route_explains_every_endpoint_and_how_old_the_exclusions_are(served: RoutedModel) -> None:
    *lines, state, request = rows("route", MODEL, "--explain")
    assert [(line["tag"], line["is_in"], line["by"]) for line in lines] == [
        ("alpha", False, "runtime"),
        ("beta", True, ""),
        ("gamma", True, ""),
    ]
    assert state["snapshot"]["origin"] == "database"
    assert "request" in request
    out, _ = run("route", f"{MODEL}:nitro", "--explain")
    assert out.startswith("out alpha")


@pytest.mark.django_db(transaction=True)
def test_route_explains_also_where_no_request_can_be_built(served: RoutedModel) -> None:
    served.endpoints.exclude(tag="alpha").update(is_serving=False, left_at=timezone.now())
    out = StringIO()
    with pytest.raises(
        CommandError, match=f"No endpoint is left that could serve {MODEL}: alpha by the runtime tier"
    ):
        call_command("route", MODEL, "--explain", stdout=out)
    assert out.getvalue().count("out ") == 3


@pytest.mark.django_db(transaction=True)
def test_route_of_a_model_nobody_knows_says_how_to_know_it(live_snapshot) -> None:
    out, _ = run("route", "some/unknown", "--explain")
    assert "No endpoint of some/unknown was ever seen; `manage.py discover some/unknown`" in out


@pytest.mark.django_db(transaction=True)
def test_route_sends_and_records_who_served(sandbox: SandboxGateway, live_snapshot) -> None:
    run("discover", MODEL)
    run("exclude", "south", "--reason", "Seen.")
    _, facts = rows("route", MODEL, "--send")
    assert facts["provider"] in {tag.partition("/")[0] for tag in TAGS} - {"south"}
    assert not facts["breach"]
    assert facts["text"]
    assert str(Attempt.objects.get().pk) == facts["attempt"]


@pytest.mark.django_db(transaction=True)
def test_route_that_gets_no_answer_fails_with_what_was_said(sandbox: SandboxGateway, live_snapshot) -> None:
    with pytest.raises(CommandError, match="No answer came: "):
        run("route", "acme/nothing", "--send")


@pytest.mark.django_db(transaction=True)
def test_route_without_a_model_name_is_one_sentence(live_snapshot) -> None:
    with pytest.raises(CommandError, match="model is a model's name"):
        run("route", " ")
