"""Rule C19: decisions are recorded in the transaction of their effect, and never change."""

from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from pytest_django import DjangoAssertNumQueries

from incidents import decisions, notifications
from incidents.append_only import REFUSAL
from incidents.domain.actions import Action, Severity
from incidents.models import Decision, Notification

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ENTRY = decisions.Entry(at=AT, action=Action.SUSPEND, rule="C12", reason="two in a row", model="acme/m")


@pytest.mark.django_db
def test_an_entry_is_stored_with_everything_it_says(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    entry = decisions.Entry(
        at=AT, action=Action.RENEW, rule="C16", reason="again", model="acme/m", endpoint="h/fp8", round_id="r",
        is_enforced=True, mode="enforce", level=2, until=AT.replace(day=5), actor="ann",
        inputs={"failing": 2}, policy={"floor": 2}, evidence={"runs": [1]},
    )  # fmt: skip
    with django_assert_num_queries(1):
        pk = decisions.record(entry).pk
    row = Decision.objects.get(pk=pk)
    assert (row.at, row.action, row.rule, row.reason) == (AT, "renew", "C16", "again")
    assert (row.model_slug, row.endpoint_tag, row.round_id) == ("acme/m", "h/fp8", "r")
    assert (row.is_enforced, row.mode, row.level, row.until, row.actor) == (
        True,
        "enforce",
        2,
        AT.replace(day=5),
        "ann",
    )
    assert (row.inputs, row.policy, row.evidence) == ({"failing": 2}, {"floor": 2}, {"runs": [1]})


@pytest.mark.django_db
def test_hostile_text_in_a_decision_is_stored_on_every_database() -> None:
    entry = decisions.Entry(
        at=AT,
        action=Action.BREACH,
        rule="R4",
        reason="x\x00y\ud800",
        model="m" * 300,
        evidence={"t": "\x00\udfff"},
    )
    row = Decision.objects.get(pk=decisions.record(entry).pk)
    assert (row.reason, len(row.model_slug), row.evidence) == ("x\ufffdy\ufffd", 200, {"t": "\ufffd\ufffd"})


@pytest.mark.django_db(transaction=True)
def test_a_decision_outside_the_transaction_of_its_effect_is_refused() -> None:
    with pytest.raises(decisions.NotInTransaction):
        decisions.record(ENTRY)
    assert not Decision.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_decision_goes_with_the_transaction_it_was_taken_in() -> None:
    with transaction.atomic():
        decisions.record(ENTRY)
        transaction.set_rollback(True)
    assert not Decision.objects.exists()


CHANGES = [
    pytest.param("UPDATE incidents_decision SET reason = 'other'", id="update"),
    pytest.param("UPDATE incidents_decision SET reason = reason", id="update to the same"),
    pytest.param("DELETE FROM incidents_decision", id="delete"),
    pytest.param("INSERT OR REPLACE INTO incidents_decision SELECT * FROM incidents_decision", id="replace"),
    pytest.param("TRUNCATE incidents_decision CASCADE", id="truncate"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("statement", CHANGES)
def test_the_log_refuses_every_change(statement: str) -> None:
    is_of_another_database = {"INSERT OR": "sqlite", "TRUNCATE ": "postgresql"}.get(
        statement[:9], connection.vendor
    )
    if is_of_another_database != connection.vendor:
        with (
            pytest.raises(Exception, match="syntax error"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
        return
    pk = decisions.record(ENTRY).pk
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert Decision.objects.get(pk=pk).reason == ENTRY.reason


@pytest.mark.django_db
def test_the_log_refuses_changes_by_the_models_too() -> None:
    row = decisions.record(ENTRY)
    notifications.tell(row, key="k", severity=Severity.INFO, subject="s", body="b", now=AT)
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic():
        row.delete()
    row.reason = "other"
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic():
        row.save()
    assert Notification.objects.get().decision_id == row.pk


@pytest.mark.django_db(transaction=True)
def test_the_triggers_go_back_and_come_again_with_their_migration() -> None:
    with transaction.atomic():
        decisions.record(ENTRY)
    try:
        call_command("migrate", "incidents", "0001", verbosity=0)
        assert Decision.objects.update(reason="changed") == 1
    finally:
        call_command("migrate", "incidents", verbosity=0)
    with pytest.raises(IntegrityError, match=REFUSAL):
        Decision.objects.update(reason="changed again")


@pytest.mark.django_db(transaction=True)
def test_the_triggers_survive_a_table_that_was_rebuilt_by_a_later_migration() -> None:
    with connection.schema_editor() as editor:
        field = Decision._meta.get_field("rule")
        wider = field.clone()
        wider.max_length = 9
        wider.set_attributes_from_name("rule")
        wider.model = Decision
        editor.alter_field(Decision, field, wider)
        editor.alter_field(Decision, wider, field)
    call_command("migrate", verbosity=0)
    with transaction.atomic():
        decisions.record(ENTRY)
    with pytest.raises(IntegrityError, match=REFUSAL):
        Decision.objects.update(reason="changed")
