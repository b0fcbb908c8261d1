"""Which probes a round owes: written down as rows before anything is sent, so that a death loses nothing.

Rules C1 (every serving endpoint), C6 (controls), C10 (the failing language stays), C21 (what the budget allows).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Coalesce

from canary.domain.schedule import BudgetStage, Spend, budget_stage, language_to_ask, prompt_variant
from canary.domain.verdicts import Contract
from canary.model_state import contract_mode, standing_of
from canary.models import ProbeRun, Round, RunState
from canary.probes.base import Probe
from canary.probes.registry import PROBES
from routing.domain.modes import CapabilitySource, Mode
from routing.models import Capability, Endpoint, RoutedModel

# What one probe run uses by estimate, before any was measured: the prompts have about 150 tokens and the
# answers up to 140 words.
ESTIMATED_PROMPT_TOKENS = 150
ESTIMATED_COMPLETION_TOKENS = 250


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What a person asked to probe: None means all. `repeat` runs of each."""

    tag: str | None = None
    contract: Contract | None = None
    language: str | None = None
    repeat: int = 1


EVERYTHING = Selection()


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One endpoint as planning sees it."""

    endpoint: Endpoint
    capability: Capability | None
    is_essential: bool

    @property
    def parameters(self) -> frozenset[str]:
        """What it advertises."""
        return frozenset(self.capability.parameters) if self.capability else frozenset()

    @property
    def run_usd(self) -> Decimal:
        """What one probe run costs on it by estimate; 0 when the price is unknown."""
        if self.capability is None:
            return Decimal(0)
        return estimated_usd(self.capability, ESTIMATED_PROMPT_TOKENS, ESTIMATED_COMPLETION_TOKENS)


def estimated_usd(capability: Capability, prompt_tokens: int, completion_tokens: int) -> Decimal:
    """The price of one request by the catalogue."""
    prompt = (capability.prompt_price or Decimal(0)) * prompt_tokens
    completion = (capability.completion_price or Decimal(0)) * completion_tokens
    return prompt + completion + (capability.request_price or Decimal(0))


def lanes(model: RoutedModel) -> list[Lane]:
    """The model's serving endpoints that are probed; essential ones are suspended or have culprits (C21)."""
    endpoints = list(
        model.endpoints.filter(is_serving=True, is_probed=True)
        .select_related("provider", "standing")
        .prefetch_related("suspensions")
        .order_by("tag")
    )
    current = Capability.objects.filter(
        endpoint__in=endpoints, source=CapabilitySource.ADVERTISED.value, valid_until__isnull=True
    )
    by_endpoint = {row.endpoint_id: row for row in current}
    return [
        Lane(endpoint=one, capability=by_endpoint.get(one.pk), is_essential=_is_essential(one))
        for one in endpoints
    ]


def _is_essential(endpoint: Endpoint) -> bool:
    if any(held.ended_at is None for held in endpoint.suspensions.all()):
        return True
    return bool(standing_of(endpoint).culprits)


def spend_of(model: RoutedModel, *, now: datetime) -> Spend:
    """The model's spend today (UTC) against its budget, and what rounds cost by estimate."""
    probes = due_probes(model)
    all_lanes = lanes(model)
    return Spend(
        spent_usd=spent_usd(model, since=now.replace(hour=0, minute=0, second=0, microsecond=0)),
        budget_usd=model.budget_usd,
        round_usd=_cost(all_lanes, probes),
        essential_usd=_cost(all_lanes, probes, stage=BudgetStage.ESSENTIAL),
    )


def spent_usd(model: RoutedModel, *, since: datetime) -> Decimal:
    """What the canary's runs of the model cost since a time (its rounds take hours at most)."""
    recent = since - timedelta(days=1)
    runs = ProbeRun.objects.filter(round__model=model, round__started_at__gte=recent, sent_at__gte=since)
    total: Decimal = runs.aggregate(total=Coalesce(Sum("cost_usd"), Decimal(0)))["total"]
    return total


def _cost(some: Iterable[Lane], probes: Sequence[Probe], stage: BudgetStage = BudgetStage.FULL) -> Decimal:
    owed = (lane.run_usd for lane in some for probe in probes if _is_owed(lane, probe, stage))
    return sum(owed, start=Decimal(0))


def _is_owed(lane: Lane, probe: Probe, stage: BudgetStage) -> bool:
    """Whether a lane gets a probe: what is essential is dropped last, controls get filtering as long (C6, C21)."""
    if stage is BudgetStage.EXHAUSTED or not probe.applies(lane.parameters):
        return False
    is_proof = lane.endpoint.is_control and probe.contract is Contract.FILTERING
    return stage is not BudgetStage.ESSENTIAL or lane.is_essential or is_proof


def due_probes(model: RoutedModel, contract: Contract | None = None) -> list[Probe]:
    """The probes the model is asked: all, or one, less those whose contract is off."""
    return [
        probe
        for probe in PROBES
        if contract in (None, probe.contract) and contract_mode(model, probe.contract) is not Mode.OFF
    ]


@transaction.atomic
def plan(
    round_: Round, *, rotation: str, usual_variant: int, selection: Selection = EVERYTHING
) -> BudgetStage:
    """Write down the runs a round owes, once; returns what the budget allowed. Planned rounds stay as they are."""
    stage = (
        BudgetStage.FULL if round_.is_manual else budget_stage(spend_of(round_.model, now=round_.started_at))
    )
    if not Round.objects.filter(pk=round_.pk, is_planned=False).update(is_planned=True, language=rotation):
        return stage
    chosen = [lane for lane in lanes(round_.model) if selection.tag in (None, lane.endpoint.tag)]
    probes = due_probes(round_.model, selection.contract)
    ProbeRun.objects.bulk_create(
        run
        for lane in chosen
        for probe in probes
        if _is_owed(lane, probe, stage)
        for run in _runs(round_, lane, probe, rotation, usual_variant, selection)
    )
    return stage


def _runs(
    round_: Round, lane: Lane, probe: Probe, rotation: str, usual_variant: int, selection: Selection
) -> Iterable[ProbeRun]:
    culprits = standing_of(lane.endpoint).culprits
    is_language = probe.contract is Contract.LANGUAGE
    language = selection.language or (language_to_ask(culprits, rotation) if is_language else rotation)
    variant = prompt_variant(culprits, language, usual_variant) if is_language else usual_variant
    for ordinal in range(selection.repeat):
        yield ProbeRun(
            round=round_,
            endpoint=lane.endpoint,
            contract=probe.contract.value,
            ordinal=ordinal,
            state=RunState.DUE,
            probe_version=probe.version,
            language=language,
            variant=variant,
        )
