"""What the canary keeps: rounds and their probe runs, standings, suspensions, and each model's episodes."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from canary.domain.scoring import Result
from canary.domain.verdicts import Contract, Reason, Verdict
from routing.models import Endpoint, Exclusion, RoutedModel


class RoundStatus(models.TextChoices):
    """Where a round stands. `stopped` is our own side (rule C3): nobody is scored."""

    RUNNING = "running", "running"
    CLOSED = "closed", "closed"
    STOPPED = "stopped", "our side"
    SKIPPED = "skipped", "skipped"


class RunState(models.TextChoices):
    """Where a probe run stands. `lost`: sent, but its worker died before a result; never sent again."""

    DUE = "due", "due"
    SENT = "sent", "sent"
    DONE = "done", "done"
    LOST = "lost", "lost"
    DROPPED = "dropped", "not run"


class ContractChoices(models.TextChoices):
    """`Contract` for filters."""

    locals().update({item.name: (item.value, item.value.replace("_", " ")) for item in Contract})


class VerdictChoices(models.TextChoices):
    """`Verdict` for filters."""

    locals().update({item.name: (item.value, item.value) for item in Verdict})


class ReasonChoices(models.TextChoices):
    """`Reason` for filters."""

    locals().update({item.name: (item.value, item.value.replace("_", " ")) for item in Reason})


class ResultChoices(models.TextChoices):
    """`Result` for filters."""

    locals().update({item.name: (item.value, item.value) for item in Result})


class EndKind(models.TextChoices):
    """How a suspension ended."""

    EXPIRE = "expire", "expired"
    RECOVER = "recover", "recovered"
    RENEW = "renew", "renewed"
    LIFT = "lift", "lifted"
    MODE = "mode", "mode switched"


class Review(models.TextChoices):
    """What a person said of a suspension or shadow (rule C17)."""

    NONE = "", "not judged"
    CORRECT = "correct", "correct"
    FALSE_POSITIVE = "false positive", "false positive"
    UNCLEAR = "unclear", "unclear"


class Round(models.Model):
    """All probe runs of one model at one time. Claimed once by its slot; worked under a lease."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    model = models.ForeignKey(RoutedModel, on_delete=models.CASCADE, related_name="rounds")
    slot = models.BigIntegerField(
        null=True, blank=True, help_text="The interval it stands for; empty when asked by hand."
    )
    status = models.CharField(max_length=10, choices=RoundStatus.choices, default=RoundStatus.RUNNING)
    is_manual = models.BooleanField(default=False)
    is_scored = models.BooleanField(default=False, help_text="Counted under C12.")
    is_overtaken = models.BooleanField(
        default=False, help_text="The mode was switched while it ran: it scores nobody."
    )
    is_planned = models.BooleanField(default=False, help_text="Its probe runs are written down.")
    language = models.CharField(max_length=8, blank=True)
    started_at = models.DateTimeField(help_text="By the database server's clock.")
    closed_at = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=100, blank=True)
    takeovers = models.PositiveSmallIntegerField(default=0)
    is_weakened = models.BooleanField(default=False, help_text="A control passed: filtering proves nothing.")
    common_causes = models.JSONField(default=list, help_text="Contracts set aside by C13.")
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "slot"], name="round_once_per_slot"),
            models.UniqueConstraint(
                fields=["model"], condition=Q(status="running"), name="round_one_running_per_model"
            ),
            models.CheckConstraint(
                condition=Q(status="running", closed_at__isnull=True)
                | (~Q(status="running") & Q(closed_at__isnull=False)),
                name="round_closed_has_time",
            ),
            models.CheckConstraint(
                condition=Q(is_manual=True) | Q(slot__isnull=False), name="round_has_slot_or_hand"
            ),
        ]
        indexes = [models.Index(fields=["model", "-started_at"], name="round_model_started")]

    def __str__(self) -> str:
        return f"{self.model} {self.started_at:%Y-%m-%d %H:%M:%S}"


class ProbeRun(models.Model):
    """One pinned request of a round: written down before it is sent, filled in when it is judged.

    `ordinal` 0 is the probe, 1 and 2 its confirmations (rule C9). `text` is the answer, removed after
    EVIDENCE_DAYS and never stored when STORE_EVIDENCE_TEXT is off; what `evidence` quotes of it goes with it
    (`canary.evidence`).
    """

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="runs")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="runs")
    contract = models.CharField(max_length=20, choices=ContractChoices.choices)
    ordinal = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=8, choices=RunState.choices, default=RunState.DUE)
    probe_version = models.PositiveSmallIntegerField(default=1)
    prompt_id = models.CharField(max_length=60, blank=True)
    language = models.CharField(max_length=8, blank=True)
    variant = models.PositiveIntegerField(default=0)
    verdict = models.CharField(max_length=12, choices=VerdictChoices.choices, blank=True)
    reason = models.CharField(max_length=24, choices=ReasonChoices.choices, blank=True)
    evidence = models.JSONField(default=dict)
    text = models.TextField(blank=True)
    is_redacted = models.BooleanField(
        default=False, db_default=False, help_text="What the provider wrote was removed after EVIDENCE_DAYS."
    )
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    served_by = models.CharField(max_length=200, blank=True)
    generation_id = models.CharField(max_length=200, blank=True)
    ttft_ms = models.FloatField(null=True, blank=True, help_text="First non-blank answer text.")
    first_token_ms = models.FloatField(null=True, blank=True, help_text="First token of any kind.")
    total_ms = models.FloatField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["round", "endpoint", "contract", "ordinal"], name="run_once"),
            models.CheckConstraint(
                condition=(Q(state="done") & ~Q(verdict="") & ~Q(reason=""))
                | (~Q(state="done") & Q(verdict="")),
                name="run_done_has_verdict",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["sent", "done"]) | Q(sent_at__isnull=False), name="run_sent_has_time"
            ),
        ]
        indexes = [
            models.Index(fields=["endpoint", "-id"], name="run_endpoint_recent"),
            models.Index(fields=["done_at"], condition=Q(is_redacted=False), name="run_to_redact"),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint} {self.contract} {self.ordinal}"


class EndpointRound(models.Model):
    """What one round came to for one endpoint. `result` is empty when the round was not scored."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="endpoint_rounds")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="endpoint_rounds")
    result = models.CharField(max_length=8, choices=ResultChoices.choices, blank=True)
    language = models.CharField(max_length=8, blank=True)
    raw = models.JSONField(default=dict, help_text="Contract verdicts after C9 and pooling.")
    effective = models.JSONField(default=dict, help_text="The same after C6 and C13.")
    reasons = models.JSONField(default=dict, help_text="Contract → reason.")
    was_excluded = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["round", "endpoint"], name="endpoint_round_once")]
        indexes = [models.Index(fields=["endpoint", "-id"], name="endpoint_round_recent")]

    def __str__(self) -> str:
        return f"{self.endpoint} {self.result or 'not scored'}"


class Standing(models.Model):
    """An endpoint's streaks and culprits, as `canary.domain.scoring.Standing` has them."""

    endpoint = models.OneToOneField(Endpoint, on_delete=models.CASCADE, related_name="standing")
    failing_streak = models.PositiveIntegerField(default=0)
    clean_streak = models.PositiveIntegerField(default=0)
    last_result_at = models.DateTimeField(null=True, blank=True)
    culprits = models.JSONField(default=list)
    failed_contracts = models.JSONField(
        default=list, help_text="Contracts failed in each last round of the streak."
    )
    streak_contracts = models.JSONField(default=list, help_text="All contracts failed in the failing streak.")
    silent_rounds = models.PositiveIntegerField(
        default=0, help_text="Rounds in a row with nothing but unreachable."
    )
    has_answered = models.BooleanField(default=False)
    was_serving = models.BooleanField(default=False, help_text="As of the last round taken into account.")
    not_before = models.DateTimeField(
        null=True, blank=True, help_text="Not suspended again before (rule C18)."
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(failing_streak=0) | Q(clean_streak=0), name="standing_one_streak"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint}: {self.failing_streak} failing, {self.clean_streak} clean"


class Suspension(models.Model):
    """A timed exclusion made by the canary; `is_shadow` when it was made in observe mode or while stopped."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="suspensions")
    round = models.ForeignKey(
        Round, null=True, blank=True, on_delete=models.SET_NULL, related_name="suspensions"
    )
    is_shadow = models.BooleanField()
    level = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    end_kind = models.CharField(max_length=8, choices=EndKind.choices, blank=True)
    culprits = models.JSONField(default=list, help_text="[contract, language] pairs that caused it.")
    judgement = models.CharField(max_length=14, choices=Review.choices, blank=True, default="")
    judged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    judged_at = models.DateTimeField(null=True, blank=True)
    exclusion = models.OneToOneField(
        Exclusion, null=True, blank=True, on_delete=models.SET_NULL, related_name="suspension"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint"], condition=Q(ended_at__isnull=True), name="suspension_one_active"
            ),
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("started_at")), name="suspension_ends_after_start"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end_kind="")
                | (Q(ended_at__isnull=False) & ~Q(end_kind="")),
                name="suspension_ended_says_how",
            ),
            models.CheckConstraint(condition=Q(level__gte=1), name="suspension_level_from_one"),
        ]
        indexes = [models.Index(fields=["endpoint", "-started_at"], name="suspension_history")]
        permissions = [("review", "Can judge a suspension or would-suspend")]

    def __str__(self) -> str:
        return f"{self.endpoint} level {self.level} until {self.ends_at:%Y-%m-%d %H:%M}"


class ModelStanding(models.Model):
    """A model's own episodes and anchors between rounds (rules C6, C12, C14, C20, C21)."""

    model = models.OneToOneField(RoutedModel, on_delete=models.CASCADE, related_name="standing")
    last_scored_at = models.DateTimeField(
        null=True, blank=True, help_text="Start of the last round that was scored."
    )
    last_closed_at = models.DateTimeField(
        null=True, blank=True, help_text="Start of the last round that finished."
    )
    unscored_rounds = models.PositiveIntegerField(default=0)
    episodes = models.JSONField(default=dict, help_text="Name of each open episode → since when.")
    control_proved_at = models.DateTimeField(null=True, blank=True, help_text="Last conclusive control.")

    def __str__(self) -> str:
        return str(self.model)
