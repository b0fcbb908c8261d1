"""Which models are watched, with which settings, and the marks people put on endpoints (rules C1, C6, C14, C19).

Every change is one transaction under the model's lock, logged with what stood there before; it applies to
later decisions only. The mode is not a setting: it is switched by `canary.enforcement.set_mode`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from canary import enforcement, telling
from canary.domain.policy import Policy, PolicyError, with_overrides
from canary.domain.verdicts import Contract
from incidents.domain.actions import Action
from routing.domain.model_slugs import checked_slug
from routing.domain.modes import Mode
from routing.domain.production_preferences import BadPreferences, checked_preferences
from routing.models import Endpoint, RoutedModel
from routing.versions import bump_version

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 2, 86_400
LOWER_MODES = (Mode.OFF, Mode.OBSERVE)
# Mark of an endpoint → the rule it belongs to.
MARKS: Mapping[str, str] = {"is_protected": "C14", "is_control": "C6", "is_probed": "C1"}


class BadSetting(ValueError):
    """A setting that cannot be meant. `name` is the setting, the message one sentence."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a person sets on a model, besides its mode."""

    interval_s: int = 1800
    budget_usd: Decimal = Decimal(2)
    preferences: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    contract_modes: Mapping[str, str] = field(default_factory=dict)


def checked(settings: Settings) -> Settings:
    """`settings` with names in their usual spelling. Raises `BadSetting`."""
    try:
        preferences = checked_preferences(settings.preferences)
    except BadPreferences as error:
        raise BadSetting("preferences", str(error)) from error
    if not SHORTEST_INTERVAL_S <= settings.interval_s <= LONGEST_INTERVAL_S:
        words = f"The interval is {SHORTEST_INTERVAL_S} to {LONGEST_INTERVAL_S} seconds, not {settings.interval_s}."
        raise BadSetting("interval_s", words)
    if settings.budget_usd < 0:
        raise BadSetting("budget_usd", "A budget is not negative.")
    _check_policy(settings)
    _check_contract_modes(settings.contract_modes)
    return Settings(
        interval_s=settings.interval_s,
        budget_usd=settings.budget_usd,
        preferences=preferences,
        policy=dict(settings.policy),
        contract_modes=dict(settings.contract_modes),
    )


def _check_policy(settings: Settings) -> None:
    if not isinstance(settings.policy, Mapping):
        raise BadSetting("policy", 'A policy is a JSON object, like {"floor": 3}.')
    if "interval_s" in settings.policy:
        raise BadSetting("policy", "The interval is a setting of its own, not a policy value.")
    try:
        with_overrides(Policy(interval_s=float(settings.interval_s)), settings.policy)
    except PolicyError as error:
        raise BadSetting("policy", str(error)) from error


def _check_contract_modes(modes: Any) -> None:
    if not isinstance(modes, Mapping):
        raise BadSetting("contract_modes", 'Contract modes are a JSON object, like {"filtering": "observe"}.')
    for contract, mode in modes.items():
        if contract not in list(Contract):
            raise BadSetting(
                "contract_modes", f"There is no contract {contract!r}; there are: {', '.join(Contract)}."
            )
        if mode not in LOWER_MODES:
            words = " or ".join(LOWER_MODES)
            raise BadSetting(
                "contract_modes", f"A contract's own mode is {words}, lower than its model's; not {mode!r}."
            )


def watch(gateway_pk: int, slug: str, settings: Settings, *, actor: str) -> RoutedModel:
    """Watch a model from now on, in observe mode: the next tick begins. Raises `BadSetting`."""
    try:
        name = checked_slug(slug)
    except ValueError as error:
        raise BadSetting("slug", str(error)) from error
    values = asdict(checked(settings))
    try:
        with transaction.atomic():
            model = RoutedModel.objects.create(
                gateway_id=gateway_pk, slug=name, mode=Mode.OBSERVE.value, **values
            )
            step = enforcement.begin(model.pk, actor=actor)
            telling.human(step, Action.MODE, "C17", "Watched from now on, in observe mode.", inputs=values)
            bump_version()
    except IntegrityError as error:
        raise BadSetting("slug", f"{name} is watched already.") from error
    return model


@transaction.atomic
def change(model_pk: int, settings: Settings, *, actor: str) -> tuple[str, ...]:
    """Change a model's settings; gives the names of those that changed. Raises `BadSetting`.

    A contract's mode is a mode: its change is a switch (rule C17) with a decision of its own.
    """
    wanted = asdict(checked(settings))
    step = enforcement.begin(model_pk, actor=actor)
    before = {name: getattr(step.model, name) for name in wanted}
    changed = tuple(name for name in wanted if wanted[name] != before[name])
    columns = [name for name in changed if name != "contract_modes"]
    if columns:
        RoutedModel.objects.filter(pk=model_pk).update(**{name: wanted[name] for name in columns})
        words = "; ".join(f"{name}: {before[name]} → {wanted[name]}" for name in columns)
        inputs = {
            "before": {name: before[name] for name in columns},
            "after": {name: wanted[name] for name in columns},
        }
        telling.human(step, Action.POLICY, "C19", f"Settings changed: {words}", inputs=inputs)
        bump_version()
    if "contract_modes" in changed:
        modes = wanted["contract_modes"]
        words = f"{before['contract_modes']} → {modes}"
        enforcement.set_contract_modes(model_pk, modes, actor=actor, reason=words)
    return changed


@transaction.atomic
def mark(endpoint_pk: int, name: str, *, is_on: bool, actor: str, reason: str) -> bool:
    """Set one of the marks of an endpoint (`MARKS`); False when it stood so already. Raises `BadSetting`."""
    if not reason.strip():
        raise BadSetting("reason", "A mark on an endpoint needs a reason.")
    endpoint = Endpoint.objects.get(pk=endpoint_pk)
    step = enforcement.begin(endpoint.model_id, actor=actor)
    if not Endpoint.objects.filter(pk=endpoint_pk, **{name: not is_on}).update(**{name: is_on}):
        return False
    words = f"{name.removeprefix('is_')} {'on' if is_on else 'off'}: {reason.strip()}"
    telling.human(
        step,
        Action.ENDPOINT_FLAG,
        MARKS[name],
        words.capitalize(),
        inputs={name: is_on},
        endpoint=endpoint.tag,
    )
    bump_version()
    return True
