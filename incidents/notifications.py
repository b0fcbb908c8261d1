"""The outbox: what the admins must be told is a row in the decision's transaction, delivered afterwards (I1).

Delivery claims a row by a conditional UPDATE and holds it under a lease while it is sent, so a row is sent
at least once whatever dies, and by one sender at a time. A message keeps its Message-ID over all tries.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from random import Random, SystemRandom
from smtplib import SMTPException
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F, Q, QuerySet
from django.urls import reverse

from incidents.domain.actions import Action, Severity
from incidents.domain.messages import Facts, full_text
from incidents.domain.outbox import RetryPolicy, wait_after
from incidents.domain.storable import one_line, storable_text
from incidents.models import Decision, Delivery, Notification

logger = logging.getLogger(__name__)

KEY_LIMIT = 300
SUBJECT_LIMIT = 300
ERROR_LIMIT = 500
# One task run sends at most so many; the rest waits for the next beat.
BATCH = 100
RETRY = RetryPolicy()


def tell(
    decision: Decision | None, *, key: str, severity: Severity, subject: str, body: str, now: datetime
) -> Notification | None:
    """Put one thing to tell in the outbox, in the caller's transaction. None when `key` was told already.

    The key names the episode; a reminder while it lasts adds the day's number to it. `body` says what
    happened and what happens next; the decision's facts and the link to it are added when it is sent.
    """
    row, was_new = Notification.objects.get_or_create(
        key=bounded_key(key),
        defaults={
            "decision": decision,
            "severity": severity.value,
            "subject": one_line(subject, SUBJECT_LIMIT),
            "body": storable_text(body),
            "created_at": now,
            "due_at": now,
        },
    )
    return row if was_new else None


def bounded_key(key: str) -> str:
    """`key` as one line of at most `KEY_LIMIT` characters; the end of a longer one becomes its digest."""
    line = one_line(key, len(key) + 1)
    if len(line) <= KEY_LIMIT:
        return line
    digest = sha256(line.encode()).hexdigest()
    return f"{line[: KEY_LIMIT - len(digest) - 1]}#{digest}"


def deliver_due(now: datetime, *, rng: Random | None = None, policy: RetryPolicy = RETRY) -> int:
    """Send what is due and say how many were sent. Without a configured channel they become `unaddressed`.

    Stops at the first failure to reach the mail server: what it did not claim stays as it was.
    """
    if not settings.HAS_MAIL:
        count = _due(now).update(status=Delivery.UNADDRESSED, leased_until=None)
        if count:
            logger.warning("%d notifications have no channel: EMAIL_URL and MAIL_TO are not set", count)
        return 0
    rng = rng or SystemRandom()
    sent = 0
    connection: BaseEmailBackend = get_connection()
    try:
        for pk in list(_due(now).order_by("due_at", "pk").values_list("pk", flat=True)[:BATCH]):
            row = _claim(pk, now, policy)
            if row is None:
                continue
            failure = _send(row, connection)
            sent += _settle(row, failure, now, policy, rng)
            if failure and failure.is_server_away:
                break
    finally:
        connection.close()
    return sent


def resend(pks: Iterable[int], *, now: datetime) -> int:
    """Put given-up and unaddressed notifications back into the outbox; says how many."""
    gone = Notification.objects.filter(pk__in=list(pks), status__in=[Delivery.DEAD, Delivery.UNADDRESSED])
    count = gone.update(status=Delivery.PENDING, attempts=0, due_at=now, leased_until=None, last_error="")
    logger.info("%d notifications put back into the outbox", count)
    return count


def permalink(row: Notification) -> str:
    """Where a person reads on: the decision's page, or the notification's own."""
    if row.decision_id is None:
        path = reverse("admin:incidents_notification_change", args=[row.pk])
    else:
        path = reverse("admin:incidents_decision_change", args=[row.decision_id])
    return f"{settings.SITE_URL}{path}"


def text_of(row: Notification) -> str:
    """The whole text of the message."""
    return full_text(row.body, _facts(row.decision) if row.decision else None, permalink(row))


class _Failure(Exception):
    """One failed try, in one line. `is_server_away`: the mail server was not reached at all."""

    def __init__(self, error: Exception, *, is_server_away: bool) -> None:
        super().__init__(one_line(f"{type(error).__name__}: {error}", ERROR_LIMIT))
        self.is_server_away = is_server_away


def _due(now: datetime) -> QuerySet[Notification]:
    is_free = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    return Notification.objects.filter(is_free, status=Delivery.PENDING, due_at__lte=now)


def _claim(pk: int, now: datetime, policy: RetryPolicy) -> Notification | None:
    """The row under our lease, its attempt counted; None when another sender was faster or it is given up.

    The count is written before the sending, so a message that kills its sender is given up too.
    """
    lease = now + timedelta(seconds=policy.lease_s)
    claimable = _due(now).filter(pk=pk)
    if claimable.filter(attempts__lt=policy.most_attempts).update(
        leased_until=lease, attempts=F("attempts") + 1
    ):
        return Notification.objects.select_related("decision").get(pk=pk)
    if claimable.update(status=Delivery.DEAD, leased_until=None):
        logger.error("notification %d given up: its sender died in the last attempt", pk)
    return None


def _send(row: Notification, connection: BaseEmailBackend) -> _Failure | None:
    """Send by the shared connection; after a failure it is closed, so that the next row starts afresh."""
    try:
        connection.open()
    except (SMTPException, OSError) as error:
        return _Failure(error, is_server_away=True)
    try:
        connection.send_messages([_mail(row)])
    except (
        SMTPException,
        OSError,
        ValueError,
    ) as error:  # ValueError: an address or header that cannot be sent
        connection.close()
        return _Failure(error, is_server_away=False)
    return None


def _mail(row: Notification) -> EmailMessage:
    domain = urlsplit(settings.SITE_URL).hostname or "routewarden.invalid"
    headers = {"Message-ID": f"<routewarden-{row.pk}@{domain}>", "X-Routewarden-Key": row.key}
    subject = f"[Routewarden] {row.get_severity_display()}: {row.subject}"
    return EmailMessage(subject=subject, body=text_of(row), to=settings.MAIL_TO, headers=headers)


def _settle(
    row: Notification, failure: _Failure | None, now: datetime, policy: RetryPolicy, rng: Random
) -> int:
    """Write down how the try of a claimed row ended; says how many were sent (0 or 1).

    Only under our own lease: a row whose lease ran out meanwhile belongs to another sender.
    """
    mine = Notification.objects.filter(pk=row.pk, status=Delivery.PENDING, leased_until=row.leased_until)
    if failure is None:
        return mine.update(status=Delivery.SENT, sent_at=now, leased_until=None, last_error="")
    is_last = row.attempts >= policy.most_attempts
    mine.update(
        status=Delivery.DEAD if is_last else Delivery.PENDING,
        due_at=now + wait_after(row.attempts, policy, rng),
        leased_until=None,
        last_error=str(failure),
    )
    logger.log(
        logging.ERROR if is_last else logging.WARNING,
        "notification %d, attempt %d of %d failed: %s",
        row.pk,
        row.attempts,
        policy.most_attempts,
        failure,
    )
    return 0


def _facts(decision: Decision) -> Facts:
    return Facts(
        action=Action(decision.action),
        rule=decision.rule,
        at=decision.at,
        model=decision.model_slug,
        endpoint=decision.endpoint_tag,
        mode=decision.mode,
        is_enforced=decision.is_enforced,
        until=decision.until,
        actor=decision.actor,
        evidence=decision.evidence,
    )
