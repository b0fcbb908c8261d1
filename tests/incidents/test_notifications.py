"""Rule I1: what must be told is told at least once with a key, whatever dies, and once an episode."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from random import Random

import pytest
from django.conf import settings as live_settings
from django.db import connections, transaction
from pytest_django import Settings

from config.settings import mail
from incidents import decisions, notifications, tasks
from incidents.domain.actions import Action, Severity
from incidents.domain.outbox import RetryPolicy
from incidents.models import Decision, Delivery, Notification
from tests.incidents.smtp_server import Mailbox, smtp_server
from tests.services import workers

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
POLICY = RetryPolicy(most_attempts=3)


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    """A mail server, configured as the channel."""
    with smtp_server() as box:
        use_mail_server(settings, box.port)
        yield box


def use_mail_server(settings: Settings, port: int) -> None:
    """Configure mail as EMAIL_URL and MAIL_TO would."""
    for name, value in mail(f"smtp://127.0.0.1:{port}").items():
        setattr(settings, name, value)
    settings.HAS_MAIL = True
    settings.MAIL_TO = ["ops@example.org"]
    settings.SITE_URL = "https://warden.example.org"


def decide() -> Decision:
    """A decision in the log."""
    return decisions.record(
        decisions.Entry(
            at=NOW, action=Action.SUSPEND, rule="C12", reason="Failed twice.", model="acme/m", endpoint="host/fp8",
            is_enforced=True, mode="enforce", until=NOW + timedelta(days=1), evidence={"failed_runs": 2},
        )
    )  # fmt: skip


def tell(
    key: str = "k", *, subject: str = "acme/m / host/fp8: suspend", now: datetime = NOW
) -> Notification | None:
    """One thing to tell."""
    with transaction.atomic():
        return notifications.tell(
            decide(),
            key=key,
            severity=Severity.WARNING,
            subject=subject,
            body="Failed twice.\nProbed further.",
            now=now,
        )


@pytest.mark.django_db
def test_a_key_is_told_once() -> None:
    assert tell("acme/m:blind:1:0") is not None
    assert tell("acme/m:blind:1:0") is None
    assert tell("acme/m:blind:1:1") is not None, "the reminder of the next day has a key of its own"
    assert Notification.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_told_goes_with_the_transaction_of_its_decision() -> None:
    with transaction.atomic():
        notifications.tell(decide(), key="k", severity=Severity.INFO, subject="s", body="b", now=NOW)
        transaction.set_rollback(True)
    assert not Notification.objects.exists()


@pytest.mark.parametrize(
    ("length", "is_kept"),
    [pytest.param(300, True, id="at the limit"), pytest.param(301, False, id="over the limit")],
)
def test_a_long_key_is_shortened_and_stays_its_own(length: int, is_kept: bool) -> None:
    first, second = "x" * (length - 1) + "1", "x" * (length - 1) + "2"
    assert (notifications.bounded_key(first) == first) is is_kept
    assert len(notifications.bounded_key(first)) <= notifications.KEY_LIMIT
    assert notifications.bounded_key(first) != notifications.bounded_key(second)


@pytest.mark.django_db
def test_a_mail_says_what_happened_to_what_by_which_rule_and_where_to_read_on(mailbox: Mailbox) -> None:
    row = tell()
    assert row is not None
    assert notifications.deliver_due(NOW) == 1
    [message] = mailbox.messages
    assert mailbox.recipients == ["ops@example.org"]
    assert message["Subject"] == "[Routewarden] warning: acme/m / host/fp8: suspend"
    assert message["Message-ID"] == f"<routewarden-{row.pk}@warden.example.org>"
    assert message["X-Routewarden-Key"] == "k"
    assert message["From"] == live_settings.DEFAULT_FROM_EMAIL
    text = message.get_content()
    for part in (
        "Failed twice.",
        "Probed further.",
        "Endpoint: host/fp8",
        "Rule: C12",
        "Evidence: failed_runs: 2",
    ):
        assert part in text
    assert text.strip().endswith(
        f"https://warden.example.org/admin/incidents/decision/{row.decision_id}/change/"
    )
    row.refresh_from_db()
    assert (row.status, row.sent_at, row.attempts, row.leased_until) == (Delivery.SENT, NOW, 1, None)


@pytest.mark.django_db
def test_what_was_sent_is_not_sent_again(mailbox: Mailbox) -> None:
    tell()
    assert notifications.deliver_due(NOW) == 1
    assert notifications.deliver_due(NOW + timedelta(days=1)) == 0
    assert len(mailbox.messages) == 1


@pytest.mark.django_db
def test_a_hostile_name_forges_neither_header_nor_address_nor_log_line(
    mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    mailbox.refuse = lambda _: "550 no\r\n250 fake" if len(mailbox.recipients) == 1 else None
    tell("k\r\nX-Forged: 1", subject="host\r\nBcc: all@example.org\r\n\r\nforged body")
    notifications.deliver_due(NOW)
    assert all("\n" not in record.getMessage() for record in caplog.records)
    notifications.deliver_due(NOW + timedelta(hours=1))
    [message] = mailbox.messages
    assert message["Bcc"] is None
    assert message["X-Forged"] is None
    assert message["Subject"] == "[Routewarden] warning: host Bcc: all@example.org forged body"
    assert set(mailbox.recipients) == {"ops@example.org"}


@pytest.mark.django_db
def test_without_a_channel_it_is_unaddressed_and_can_be_sent_once_there_is_one(
    settings: Settings, mailbox: Mailbox
) -> None:
    settings.HAS_MAIL = False
    row = tell()
    assert row is not None
    assert notifications.deliver_due(NOW) == 0
    row.refresh_from_db()
    assert row.status == Delivery.UNADDRESSED
    settings.HAS_MAIL = True
    assert notifications.deliver_due(NOW) == 0, "old news are not sent by themselves"
    assert notifications.resend([row.pk], now=NOW) == 1
    assert notifications.deliver_due(NOW) == 1
    assert len(mailbox.messages) == 1


@pytest.mark.django_db
def test_a_failed_try_waits_longer_each_time_and_the_last_one_is_given_up(mailbox: Mailbox) -> None:
    mailbox.refuse = lambda _: "451 try later"
    row = tell()
    assert row is not None
    at = NOW
    for attempt, longest_s in ((1, 30), (2, 60)):
        assert notifications.deliver_due(at, rng=Random(1), policy=POLICY) == 0
        row.refresh_from_db()
        assert (row.status, row.attempts) == (Delivery.PENDING, attempt)
        assert "451" in row.last_error
        wait_s = (row.due_at - at).total_seconds()
        assert longest_s / 2 <= wait_s <= longest_s
        assert notifications.deliver_due(row.due_at - timedelta(seconds=1), policy=POLICY) == 0
        row.refresh_from_db()
        assert row.attempts == attempt, "not before it is due"
        at = row.due_at
    assert notifications.deliver_due(at, policy=POLICY) == 0
    row.refresh_from_db()
    assert (row.status, row.attempts) == (Delivery.DEAD, 3)
    assert notifications.deliver_due(at + timedelta(days=9), policy=POLICY) == 0


@pytest.mark.django_db
def test_one_refused_message_does_not_hold_up_the_next(mailbox: Mailbox) -> None:
    tell("first", now=NOW - timedelta(seconds=1))
    tell("second")
    mailbox.refuse = lambda _: "550 no" if len(mailbox.recipients) == 1 else None
    assert notifications.deliver_due(NOW) == 1
    assert [message["X-Routewarden-Key"] for message in mailbox.messages] == ["second"]


@pytest.mark.django_db
def test_one_connection_carries_all_that_is_due_oldest_first(mailbox: Mailbox) -> None:
    for number in range(5):
        tell(f"k{number}", now=NOW - timedelta(seconds=number))
    assert notifications.deliver_due(NOW) == 5
    assert [message["X-Routewarden-Key"] for message in mailbox.messages] == ["k4", "k3", "k2", "k1", "k0"]
    assert mailbox.connections == 1


@pytest.mark.django_db
def test_a_mail_server_that_is_away_costs_one_try_of_one_message(settings: Settings) -> None:
    with smtp_server() as box:
        port = box.port
    use_mail_server(settings, port)
    for number in range(3):
        tell(f"k{number}")
    assert notifications.deliver_due(NOW) == 0
    assert sorted(Notification.objects.values_list("attempts", flat=True)) == [0, 0, 1]
    with smtp_server() as box:
        use_mail_server(settings, box.port)
        assert notifications.deliver_due(NOW + timedelta(hours=1)) == 3


@pytest.mark.django_db
def test_a_message_whose_sender_keeps_dying_is_given_up() -> None:
    row = tell()
    assert row is not None
    live = Notification.objects.filter(pk=row.pk)
    live.update(attempts=3, leased_until=NOW + timedelta(seconds=10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_settings, "HAS_MAIL", True)
        notifications.deliver_due(NOW + timedelta(seconds=9), policy=POLICY)
        assert live.get().status == Delivery.PENDING, "its lease still runs"
        notifications.deliver_due(NOW + timedelta(seconds=10), policy=POLICY)
    assert live.get().status == Delivery.DEAD


@pytest.mark.django_db
def test_only_what_was_given_up_or_had_no_channel_is_sent_again() -> None:
    pks = []
    for status in Delivery.values:
        row = tell(status)
        assert row is not None
        Notification.objects.filter(pk=row.pk).update(status=status, sent_at=NOW, attempts=9)
        pks.append(row.pk)
    assert notifications.resend(pks, now=NOW) == 2
    assert Notification.objects.filter(status=Delivery.PENDING, attempts=0).count() == 2


@pytest.mark.django_db
def test_the_task_empties_the_outbox_within_limits_below_the_lease(mailbox: Mailbox) -> None:
    tell()
    tasks.deliver()
    assert len(mailbox.messages) == 1
    assert tasks.deliver.name == "incidents.tasks.deliver"
    assert tasks.SOFT_LIMIT_S < tasks.HARD_LIMIT_S < notifications.RETRY.lease_s


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_sender_killed_between_sending_and_marking_sends_again_under_the_same_id(mailbox: Mailbox) -> None:
    row = tell()
    assert row is not None
    sender = start_sender(mailbox.port)

    def kill(_message: EmailMessage) -> None:
        mailbox.on_data = lambda _message: None
        os.kill(sender.pid, signal.SIGKILL)
        sender.wait()

    mailbox.on_data = kill
    assert sender.stdin is not None
    sender.stdin.close()
    assert sender.wait(timeout=60) == -signal.SIGKILL
    row.refresh_from_db()
    assert (row.status, row.attempts, len(mailbox.messages)) == (Delivery.PENDING, 1, 1)
    assert row.leased_until is not None
    assert notifications.deliver_due(row.leased_until - timedelta(seconds=1)) == 0, "its lease still runs"
    assert notifications.deliver_due(row.leased_until) == 1
    assert len({message["Message-ID"] for message in mailbox.messages}) == 1
    assert len(mailbox.messages) == 2


def start_sender(port: int) -> subprocess.Popen[bytes]:
    """Another process that delivers what is due, once its standard input closes."""
    code = (
        "import sys, django; sys.stdin.read(); django.setup()\n"
        "from datetime import datetime, UTC\n"
        "from incidents import notifications\n"
        f"notifications.deliver_due(datetime.fromisoformat({NOW.isoformat()!r}))\n"
    )
    variables = workers.environment(
        EMAIL_URL=f"smtp://127.0.0.1:{port}", MAIL_TO="ops@example.org", SITE_URL=live_settings.SITE_URL
    )
    root = Path(live_settings.BASE_DIR)
    return subprocess.Popen([sys.executable, "-c", code], env=variables, cwd=root, stdin=subprocess.PIPE)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_deliverers_at_once_send_each_message_once(mailbox: Mailbox) -> None:
    for number in range(20):
        tell(f"k{number:02}")
    both = threading.Barrier(2)

    def deliver() -> int:
        try:
            both.wait(timeout=30)
            return notifications.deliver_due(NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        counts = [future.result() for future in [pool.submit(deliver), pool.submit(deliver)]]
    assert sum(counts) == 20
    assert sorted(message["X-Routewarden-Key"] for message in mailbox.messages) == [
        f"k{n:02}" for n in range(20)
    ]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_transactions_that_tell_the_same_key_at_once_tell_it_once() -> None:
    both = threading.Barrier(2)

    def try_to_tell() -> bool:
        try:
            with transaction.atomic():
                decision = decide()
                both.wait(timeout=30)
                row = notifications.tell(
                    decision, key="k", severity=Severity.INFO, subject="s", body="b", now=NOW
                )
                return row is not None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        told = [future.result() for future in [pool.submit(try_to_tell), pool.submit(try_to_tell)]]
    assert sorted(told) == [False, True]
    assert Notification.objects.count() == 1
