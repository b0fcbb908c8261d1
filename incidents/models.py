"""The decision log, which nothing may change, and the outbox of what must be told."""

from django.db import models
from django.db.models import Q

from incidents.domain.actions import Action, Severity


class ActionChoices(models.TextChoices):
    """`Action` for filters."""

    locals().update({action.name: (action.value, action.value.replace("_", " ")) for action in Action})


class SeverityChoices(models.TextChoices):
    """`Severity` for filters."""

    INFO = Severity.INFO.value, "info"
    WARNING = Severity.WARNING.value, "warning"
    SEVERE = Severity.SEVERE.value, "severe"


class Decision(models.Model):
    """One decision, automatic or human, with its rule, inputs and policy. Append-only by database trigger.

    Models, endpoints and rounds are named by their text so that the log outlives every other row.
    """

    at = models.DateTimeField(
        db_index=True, help_text="When it holds from (rule time, not the clock of the writer)."
    )
    recorded_at = models.DateTimeField(auto_now_add=True)
    action = models.CharField(max_length=20, choices=ActionChoices.choices)
    rule = models.CharField(max_length=8)
    model_slug = models.CharField(max_length=200, blank=True)
    endpoint_tag = models.CharField(max_length=200, blank=True)
    round_id = models.CharField(max_length=40, blank=True)
    is_enforced = models.BooleanField(default=False)
    mode = models.CharField(max_length=10, blank=True)
    level = models.PositiveSmallIntegerField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    actor = models.CharField(max_length=150, default="canary")
    reason = models.TextField()
    inputs = models.JSONField(default=dict)
    policy = models.JSONField(default=dict)
    evidence = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["model_slug", "-at"], name="decision_model_at"),
            models.Index(fields=["model_slug", "endpoint_tag", "-at"], name="decision_endpoint_at"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.action} {self.endpoint_tag or self.model_slug} ({self.rule})"


class Delivery(models.TextChoices):
    """Where a notification stands."""

    PENDING = "pending", "pending"
    SENT = "sent", "sent"
    DEAD = "dead", "given up"
    UNADDRESSED = "unaddressed", "no channel configured"


class Notification(models.Model):
    """One thing to tell the admins, written in the transaction of its decision (an outbox row)."""

    key = models.CharField(max_length=300, unique=True, help_text="Deduplication key: one row an episode.")
    decision = models.ForeignKey(
        Decision, null=True, blank=True, on_delete=models.SET_NULL, related_name="notifications"
    )
    severity = models.CharField(max_length=10, choices=SeverityChoices.choices)
    subject = models.CharField(max_length=300)
    body = models.TextField()
    status = models.CharField(max_length=12, choices=Delivery.choices, default=Delivery.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=Delivery.values), name="notification_status_known"),
            models.CheckConstraint(
                condition=~Q(status="sent") | Q(sent_at__isnull=False), name="notification_sent_has_time"
            ),
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(status="pending"), name="notification_due")]
        permissions = [("resend", "Can send a notification again")]

    def __str__(self) -> str:
        return self.subject
