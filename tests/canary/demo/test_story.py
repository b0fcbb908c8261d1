"""The demo tells every stored decision once, and notices when what it told is not what is stored."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import transaction

from canary.demo.cast import Part
from canary.demo.story import Told, decisions_after, differences, suspension_of
from incidents.decisions import Entry, record
from incidents.domain.actions import Action
from routing.domain.modes import Mode

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PART = Part(slug="a/one", mode=Mode.ENFORCE, mixing_tag="mixer/fp8")


def store(action: Action = Action.SUSPEND, *, endpoint: str = "mixer/fp8", is_enforced: bool = True) -> None:
    with transaction.atomic():
        entry = Entry(at=NOON, action=action, rule="C12", reason="Failed.", model="a/one", endpoint=endpoint)
        record(replace(entry, is_enforced=is_enforced, level=1))


def test_decisions_are_told_once_in_the_order_of_their_ids() -> None:
    store(Action.JOINED)
    first = decisions_after(0)
    store()
    second = decisions_after(first[-1].id)
    assert [one.action for one in first + second] == ["joined", "suspend"]
    assert decisions_after(second[-1].id) == []


def test_each_line_names_the_stored_decision() -> None:
    store()
    (one,) = decisions_after(0)
    assert one.sentence.startswith(f"#{one.id} ")
    assert "12:00:00" in one.sentence
    assert one.as_json()["id"] == one.id


def test_a_true_story_has_no_differences() -> None:
    store()
    store(Action.JOINED)
    assert differences(decisions_after(0)) == []


def test_decisions_stored_after_the_last_one_told_are_not_missing_from_the_story() -> None:
    store()
    narrated = decisions_after(0)
    store()
    assert differences(narrated) == []


def test_a_decision_told_otherwise_than_stored_is_a_difference() -> None:
    store()
    (one,) = decisions_after(0)
    assert len(differences([replace(one, endpoint="another")])) == 1


def test_a_decision_stored_but_not_told_is_a_difference() -> None:
    store()
    store()
    _, second = decisions_after(0)
    assert len(differences([second])) == 1


def test_a_decision_told_but_not_stored_is_a_difference() -> None:
    store()
    (one,) = decisions_after(0)
    assert len(differences([one, replace(one, id=one.id + 1)])) == 1


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        pytest.param({}, True, id="the suspension"),
        pytest.param({"is_enforced": False}, False, id="a shadow is no suspension"),
        pytest.param({"endpoint": "slow/fp8"}, False, id="another endpoint"),
        pytest.param({"action": Action.REFUSE}, False, id="a refusal"),
    ],
)
def test_the_story_waits_for_the_suspension_of_the_mixing_endpoint(
    changes: dict[str, object], is_found: bool
) -> None:
    store(**changes)  # type: ignore[arg-type]
    narrated: list[Told] = decisions_after(0)
    assert (suspension_of(PART, narrated, is_enforced=True) is not None) is is_found
