"""The pages of suspensions: lift with a reason, judge, and what is refused stays with everything typed."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from canary.models import Standing, Suspension
from incidents.models import Decision
from routing.models import Exclusion
from tests import factories as make

LIST = reverse("admin:canary_suspension_changelist")

pytestmark = pytest.mark.django_db


@pytest.fixture
def held() -> Suspension:
    """A suspension in force, with the exclusion and the streak behind it."""
    endpoint = make.make_endpoint(make.make_model(mode="enforce"))
    make.make_standing(endpoint, failing_streak=2)
    ends_at = make.soon(24)
    exclusion = make.make_exclusion(
        endpoint.tag, tier="canary", model=endpoint.model, created_at=make.soon(-1), expires_at=ends_at
    )
    return make.make_suspension(endpoint, started_at=make.soon(-1), ends_at=ends_at, exclusion=exclusion)


def run(role: str, action: str, *rows: Suspension, **answers: Any) -> str:
    """The page an action leads to; with answers, what the answered form leads to."""
    data = {"action": action, "_selected_action": [row.pk for row in rows], "index": 0, **answers}
    if answers:
        del data["index"]
        data["apply"] = "yes"
    return str(make.make_client(role).post(LIST, data, follow=True).content.decode())


def test_lifting_asks_why_and_whether_it_was_a_false_positive(held: Suspension) -> None:
    text = run("operator", "lift", held)
    assert "Was it a false positive?" in text
    assert 'name="reason"' in text
    assert str(held) in text
    held.refresh_from_db()
    assert held.ended_at is None


@pytest.mark.parametrize(("answer", "judgement"), [("yes", "false positive"), ("no", "")])
def test_a_lift_ends_suspension_exclusion_and_streak_and_is_logged(
    held: Suspension, answer: str, judgement: str
) -> None:
    text = run("operator", "lift", held, reason="checked by hand", is_false_positive=answer)
    assert "Suspensions lifted: 1." in text
    held.refresh_from_db()
    assert (held.end_kind, held.judgement) == ("lift", judgement)
    assert Exclusion.objects.get().lifted_at is not None
    assert Standing.objects.get().failing_streak == 0
    row = Decision.objects.get(action="lift")
    assert (row.rule, row.actor, row.is_enforced) == ("C18", "operator", True)
    assert "checked by hand" in row.reason


def test_a_lift_may_say_not_again_before(held: Suspension) -> None:
    run("operator", "lift", held, reason="they fix it", is_false_positive="no", spare_days="2.5")
    not_before = Standing.objects.get().not_before
    assert not_before is not None
    assert timedelta(hours=59) < not_before - make.soon(0) < timedelta(hours=61)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"reason": " ", "is_false_positive": "yes"}, "This field is required"),
        ({"reason": "because", "is_false_positive": ""}, "This field is required"),
        ({"reason": "because", "is_false_positive": "yes", "spare_days": "soon"}, "Enter a number"),
        ({"reason": "because", "is_false_positive": "yes", "spare_days": "366"}, "less than or equal to 365"),
    ],
)
def test_an_incomplete_lift_keeps_what_was_typed(
    held: Suspension, answers: dict[str, str], sentence: str
) -> None:
    text = run("operator", "lift", held, **answers)
    assert sentence in text
    assert answers["reason"].strip() in text
    assert f'name="_selected_action" value="{held.pk}"' in text
    held.refresh_from_db()
    assert held.ended_at is None


def test_what_has_ended_already_is_refused_and_the_others_are_lifted(held: Suspension) -> None:
    other = make.make_endpoint(held.endpoint.model, "other")
    times = {
        "started_at": make.soon(-5),
        "ends_at": make.soon(9),
        "ended_at": make.soon(-4),
        "end_kind": "recover",
    }
    ended = make.make_suspension(other, **times)
    text = run("operator", "lift", held, ended, reason="both", is_false_positive="no")
    assert "Suspensions lifted: 1." in text
    assert "The suspension of other has ended already." in text
    assert f'name="_selected_action" value="{ended.pk}"' in text
    assert f'name="_selected_action" value="{held.pk}"' not in text
    held.refresh_from_db()
    assert held.end_kind == "lift"


def test_a_viewer_lifts_and_judges_nothing(held: Suspension) -> None:
    run("viewer", "lift", held, reason="because", is_false_positive="yes")
    run("viewer", "review", held, reason="because", judgement="correct")
    held.refresh_from_db()
    assert (held.ended_at, held.judgement) == (None, "")
    assert not Decision.objects.exists()


@pytest.mark.parametrize("judgement", ["correct", "unclear"])
def test_a_judgement_is_stored_and_leaves_the_suspension_in_force(held: Suspension, judgement: str) -> None:
    assert "One odd answer proves nothing" in run("operator", "review", held)
    assert "Suspensions judged: 1." in run("operator", "review", held, reason="seen", judgement=judgement)
    held.refresh_from_db()
    assert (held.judgement, held.ended_at) == (judgement, None)
    assert held.judged_by is not None
    assert Decision.objects.get(action="review").actor == "operator"


def test_an_open_one_judged_a_false_positive_is_lifted(held: Suspension) -> None:
    run("operator", "review", held, reason="our prompt", judgement="false positive")
    held.refresh_from_db()
    assert (held.end_kind, held.judgement) == ("lift", "false positive")


def test_its_page_offers_what_may_be_done_and_shows_the_evidence(held: Suspension) -> None:
    round_ = make.make_round(held.endpoint.model)
    make.make_run(round_, held.endpoint, "language", verdict="fail", reason="mixed_languages")
    Suspension.objects.filter(pk=held.pk).update(round=round_)
    address = reverse("admin:canary_suspension_change", args=[held.pk])
    text = make.make_client("operator").get(address).content.decode()
    assert "Lift…" in text
    assert "Judge…" in text
    assert "mixed languages" in text
    assert "Lift…" not in make.make_client("viewer").get(address).content.decode()
    Suspension.objects.filter(pk=held.pk).update(ended_at=make.soon(0), end_kind="lift")
    text = make.make_client("operator").get(address).content.decode()
    assert "Lift…" not in text
    assert "Judge…" in text


def test_more_than_a_hundred_are_not_lifted_at_once(held: Suspension) -> None:
    model = held.endpoint.model
    rows = [
        make.make_suspension(
            make.make_endpoint(model, f"h{number}"), started_at=make.soon(-1), ends_at=make.soon(1)
        )
        for number in range(100)
    ]
    text = run("operator", "lift", held, *rows, reason="all", is_false_positive="no")
    assert "Choose at most 100 at a time." in text
    assert not Suspension.objects.filter(ended_at__isnull=False).exists()
