"""What routing keeps: the catalogue ever seen, models and their settings, exclusions, and attempts."""

import uuid
from decimal import Decimal

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from routing.domain.modes import CapabilitySource, Mode, Tier


class ModeChoices(models.TextChoices):
    """`Mode` for forms."""

    OFF = Mode.OFF.value, "off"
    OBSERVE = Mode.OBSERVE.value, "observe"
    ENFORCE = Mode.ENFORCE.value, "enforce"


class TierChoices(models.TextChoices):
    """`Tier` for forms."""

    BUILTIN = Tier.BUILTIN.value, "builtin"
    RUNTIME = Tier.RUNTIME.value, "runtime"
    CANARY = Tier.CANARY.value, "canary"


class CapabilitySourceChoices(models.TextChoices):
    """`CapabilitySource` for forms."""

    ADVERTISED = CapabilitySource.ADVERTISED.value, "advertised"
    MEASURED = CapabilitySource.MEASURED.value, "measured"


class Gateway(models.Model):
    """A service that takes one model name and picks an upstream. Its key stays in the environment."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    base_url = models.URLField(blank=True, help_text="Empty: OPENROUTER_BASE_URL of the environment.")

    def __str__(self) -> str:
        return self.name


class Provider(models.Model):
    """An independent inference host behind a gateway, named by its base slug. Never deleted (rule R4)."""

    gateway = models.ForeignKey(Gateway, on_delete=models.PROTECT, related_name="providers")
    slug = models.CharField(max_length=100)
    display_name = models.CharField(max_length=200, blank=True)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gateway", "slug"], name="provider_once_per_gateway")]

    def __str__(self) -> str:
        return self.slug


class RoutedModel(models.Model):
    """A model we watch and route, with its settings. The row is also the per-model lock of all decisions."""

    gateway = models.ForeignKey(Gateway, on_delete=models.PROTECT, related_name="models")
    slug = models.CharField(max_length=200, help_text="author/name, as the gateway writes it")
    mode = models.CharField(max_length=10, choices=ModeChoices.choices, default=ModeChoices.OBSERVE)
    contract_modes = models.JSONField(
        default=dict,
        blank=True,
        help_text='A lower mode for single contracts, e.g. {"filtering": "observe"}.',
    )
    interval_s = models.PositiveIntegerField(
        default=1800, validators=[MinValueValidator(2), MaxValueValidator(86400)]
    )
    preferences = models.JSONField(
        default=dict,
        blank=True,
        help_text="Production preferences: only, quantizations, data_collection, zdr, max_price.",
    )
    policy = models.JSONField(default=dict, blank=True, help_text="Thresholds that differ from the defaults.")
    budget_usd = models.DecimalField(
        max_digits=9,
        decimal_places=2,
        default=Decimal(2),
        help_text="Most the canary may spend on it a day, in USD.",
    )
    is_gone = models.BooleanField(default=False, help_text="The gateway says it has no such model.")
    discovered_at = models.DateTimeField(null=True, blank=True, help_text="Last readable discovery.")
    shrunk_tags = models.JSONField(
        null=True, blank=True, help_text="A much shorter list, waiting to be confirmed."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["gateway", "slug"], name="model_once_per_gateway"),
            models.CheckConstraint(condition=Q(mode__in=ModeChoices.values), name="model_mode_known"),
            models.CheckConstraint(condition=Q(budget_usd__gte=0), name="model_budget_not_negative"),
        ]
        permissions = [
            ("set_mode", "Can change the mode and policy of a model"),
            ("switch_enforcement", "Can stop and resume all enforcement"),
            ("probe_now", "Can ask for a round by hand"),
        ]
        verbose_name = "model"

    def __str__(self) -> str:
        return self.slug


class Endpoint(models.Model):
    """One provider's lane for one model, named by its tag. Kept for ever: its history outlives its service."""

    model = models.ForeignKey(RoutedModel, on_delete=models.CASCADE, related_name="endpoints")
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="endpoints")
    tag = models.CharField(max_length=200)
    is_serving = models.BooleanField(default=True)
    is_protected = models.BooleanField(default=False, help_text="Never suspended.")
    is_control = models.BooleanField(
        default=False, help_text="Known to filter: proves that the filtering probe bites."
    )
    is_probed = models.BooleanField(default=True, help_text="Off: a costly excluded endpoint is not probed.")
    gateway_status = models.IntegerField(
        null=True, blank=True, help_text="The gateway's own number; shown only."
    )
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "tag"], name="endpoint_once_per_model"),
            models.CheckConstraint(
                condition=Q(is_serving=True, left_at__isnull=True)
                | Q(is_serving=False, left_at__isnull=False),
                name="endpoint_left_or_serving",
            ),
        ]
        permissions = [("protect_endpoint", "Can protect an endpoint or mark it as a control")]

    def __str__(self) -> str:
        return self.tag


class Capability(models.Model):
    """What an endpoint could do from a day on: a new row when it changes, the open one is current."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="capabilities")
    source = models.CharField(max_length=12, choices=CapabilitySourceChoices.choices)
    parameters = models.JSONField(default=list)
    quantization = models.CharField(max_length=30, blank=True)
    context_length = models.PositiveBigIntegerField(null=True, blank=True)
    max_completion_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    prompt_price = models.DecimalField(
        max_digits=20, decimal_places=12, null=True, blank=True, help_text="USD a token"
    )
    completion_price = models.DecimalField(
        max_digits=20, decimal_places=12, null=True, blank=True, help_text="USD a token"
    )
    request_price = models.DecimalField(
        max_digits=20, decimal_places=12, null=True, blank=True, help_text="USD a request"
    )
    valid_from = models.DateTimeField()
    valid_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "source"],
                condition=Q(valid_until__isnull=True),
                name="capability_one_current",
            ),
            models.CheckConstraint(
                condition=Q(source__in=CapabilitySourceChoices.values), name="capability_source_known"
            ),
        ]
        verbose_name_plural = "capabilities"

    def __str__(self) -> str:
        return f"{self.endpoint} from {self.valid_from:%Y-%m-%d}"


class Exclusion(models.Model):
    """One entry that requests must carry in `provider.ignore`, whichever tier made it.

    `entry` is a base slug (every lane of that provider) or a tag. In force from `created_at` up to, not
    including, `expires_at`, unless lifted before. `model` empty: all models.
    """

    tier = models.CharField(max_length=10, choices=TierChoices.choices)
    entry = models.CharField(max_length=200)
    model = models.ForeignKey(
        RoutedModel,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="exclusions",
        help_text="Empty: all models.",
    )
    reason = models.CharField(max_length=500)
    contracts = models.JSONField(
        default=list, blank=True, help_text="Canary tier: the contracts that failed."
    )
    may_give_way = models.BooleanField(default=False, help_text="Left out when nothing else could serve.")
    is_unmatched = models.BooleanField(
        default=False, help_text="Confirmed although no such name was ever seen."
    )
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    lift_reason = models.CharField(max_length=500, blank=True)
    expiry_told_at = models.DateTimeField(null=True, blank=True, help_text="When its coming end was told.")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(tier__in=TierChoices.values), name="exclusion_tier_known"),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
                name="exclusion_ends_after_start",
            ),
            models.CheckConstraint(
                condition=~Q(tier=Tier.CANARY.value) | Q(model__isnull=False, expires_at__isnull=False),
                name="exclusion_canary_is_scoped_and_ends",
            ),
        ]
        indexes = [models.Index(fields=["tier"], condition=Q(lifted_at__isnull=True), name="exclusion_open")]
        permissions = [
            ("exclude", "Can add a runtime exclusion"),
            ("lift", "Can lift an exclusion or a suspension"),
        ]

    def __str__(self) -> str:
        return f"{self.entry} ({self.tier})"


class GivingWay(models.Model):
    """An episode in which an exclusion is left out of a model's requests, because nothing else could serve (R2)."""

    model = models.ForeignKey(RoutedModel, on_delete=models.CASCADE, related_name="giving_way")
    exclusion = models.ForeignKey(Exclusion, on_delete=models.CASCADE, related_name="giving_way")
    since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["model", "exclusion"], condition=Q(ended_at__isnull=True), name="giving_way_once"
            ),
        ]
        verbose_name_plural = "giving way"

    def __str__(self) -> str:
        return f"{self.exclusion} for {self.model}"


class EnforcementSwitch(models.Model):
    """The one switch that stops all enforcement everywhere (rule C17). One row, made at migrate."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    is_stopped = models.BooleanField(default=False)
    changed_at = models.DateTimeField(null=True, blank=True)
    changed_by = models.CharField(max_length=150, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_enforcement_switch")]
        verbose_name = verbose_name_plural = "enforcement switch"

    def __str__(self) -> str:
        return "stopped" if self.is_stopped else "running"


class SnapshotVersion(models.Model):
    """A counter raised in every transaction that changes what a request must carry. One row, made at migrate."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_snapshot_version")]

    def __str__(self) -> str:
        return str(self.version)


class Attempt(models.Model):
    """One request that was sent for a caller, and who served it (rules R4 and R17, first fields)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    operation_id = models.CharField(max_length=200, blank=True, db_index=True)
    generation_id = models.CharField(max_length=200, blank=True, db_index=True)
    subject_hash = models.CharField(max_length=64, blank=True)
    model_slug = models.CharField(max_length=200)
    served_by = models.CharField(max_length=200, blank=True, help_text="Display name the gateway gave.")
    provider_slug = models.CharField(max_length=100, blank=True)
    sent_ignore = models.JSONField(default=list)
    is_breach = models.BooleanField(default=False, help_text="Served by a provider the list excluded.")
    finish_reason = models.CharField(max_length=40, blank=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)
    at = models.DateTimeField(db_index=True)

    class Meta:
        indexes = [models.Index(fields=["model_slug", "at"], name="attempt_model_at")]

    def __str__(self) -> str:
        return str(self.id)
