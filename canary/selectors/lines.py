"""One line an endpoint for people: its state and why, its last rounds; read for many endpoints at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from uuid import UUID

from django.db.models import Q

from canary import model_state
from canary.domain.capacity import EndpointState, Held
from canary.domain.overview import TRACKER_ROUNDS, EndpointLine, Mark
from canary.domain.service_state import ServiceState, service_state
from canary.domain.verdicts import Contract
from canary.models import EndpointRound, ProbeRun, Round, RoundStatus, Suspension
from routing.domain.admission import Offer, is_admitted
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.modes import CapabilitySource, Tier
from routing.models import Capability, Endpoint, RoutedModel
from routing.rows import rows_in_force

# Rounds are looked for this far back, in intervals: enough for a full tracker with a few gaps.
INTERVALS_BACK = 2 * TRACKER_ROUNDS
_TROUBLE_FIRST = (
    ServiceState.SUSPENDED,
    ServiceState.WOULD_SUSPEND,
    ServiceState.FAILING,
    ServiceState.SILENT,
)

Rounds = Mapping[int, Sequence[Round]]


def recent_rounds(models: Sequence[RoutedModel], *, now: datetime) -> Rounds:
    """Each model's last rounds, newest first, by model; bounded by time so that history costs nothing."""
    if not models:
        return {}
    windows = Q()
    for model in models:
        since = now - timedelta(seconds=INTERVALS_BACK * model.interval_s)
        windows |= Q(model=model, started_at__gte=since)
    found: dict[int, list[Round]] = {}
    for round_ in Round.objects.filter(windows).order_by("-started_at"):
        found.setdefault(round_.model_id, []).append(round_)
    return found


def endpoint_lines(
    models: Sequence[RoutedModel], rounds: Rounds, *, now: datetime, is_stopped: bool
) -> Mapping[int, tuple[EndpointLine, ...]]:
    """One line for each serving endpoint of the models, those in trouble first, by model."""
    by_pk = {model.pk: model for model in models}
    endpoints = Endpoint.objects.filter(model__in=models, is_serving=True)
    rows = list(endpoints.select_related("provider", "standing").order_by("tag"))
    for row in rows:
        row.model = by_pk[row.model_id]
    lines: dict[int, list[EndpointLine]] = {}
    read = lines_of(rows, now=now, is_stopped=is_stopped, rounds=rounds)
    for row in rows:
        lines.setdefault(row.model_id, []).append(read[row.pk])
    return {pk: tuple(sorted(some, key=_trouble)) for pk, some in lines.items()}


def lines_of(
    endpoints: Sequence[Endpoint], *, now: datetime, is_stopped: bool, rounds: Rounds | None = None
) -> Mapping[int, EndpointLine]:
    """The line of each endpoint, by its key. Model, provider and standing must be selected with the rows.

    `is_stopped`: the enforcement switch; then no suspension keeps anything out.
    """
    if rounds is None:
        rounds = recent_rounds(list({row.model_id: row.model for row in endpoints}.values()), now=now)
    shown = {pk: _shown(some) for pk, some in rounds.items()}
    reading = _Reading.of(
        endpoints, [round_.pk for some in shown.values() for round_ in some], now, is_stopped
    )
    return {row.pk: reading.line(row, row.model, shown.get(row.model_id, ())) for row in endpoints}


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """The rows around some endpoints, read at once."""

    exclusions: Sequence[ExclusionRow]
    suspensions: Mapping[int, Suspension]
    capabilities: Mapping[int, Capability]
    results: Mapping[tuple[UUID, int], str]
    ttft_ms: Mapping[int, float]
    is_stopped: bool

    @classmethod
    def of(
        cls, endpoints: Iterable[Endpoint], round_pks: Iterable[UUID], now: datetime, is_stopped: bool
    ) -> "_Reading":
        pks, rounds = [row.pk for row in endpoints], list(round_pks)
        held = Suspension.objects.filter(endpoint__in=pks, ended_at__isnull=True, ends_at__gt=now)
        current = Capability.objects.filter(
            endpoint__in=pks, source=CapabilitySource.ADVERTISED.value, valid_until__isnull=True
        )
        return cls(
            exclusions=rows_in_force(now, (Tier.BUILTIN, Tier.RUNTIME)),
            suspensions={row.endpoint_id: row for row in held},
            capabilities={row.endpoint_id: row for row in current},
            results=_results(rounds),
            ttft_ms=_median_ttft_ms(rounds),
            is_stopped=is_stopped,
        )

    def state(self, row: Endpoint, model: RoutedModel) -> tuple[EndpointState, ExclusionRow | None]:
        """The endpoint as the rules see it, and the entry of another tier that excludes it."""
        holder = next(
            (one for one in self.exclusions if one.model in (None, model.slug) and one.holds(row.tag)), None
        )
        held, offer = self.suspensions.get(row.pk), self.capabilities.get(row.pk)
        state = EndpointState(
            tag=row.tag,
            provider=row.provider.slug,
            standing=model_state.standing_of(row),
            is_serving=row.is_serving,
            in_other_tier=holder is not None,
            is_protected=row.is_protected,
            is_admitted=is_admitted(_offer(row.tag, offer), model.preferences),
            suspension=_held(held, is_stopped=self.is_stopped) if held else None,
        )
        return state, holder

    def line(self, row: Endpoint, model: RoutedModel, rounds: Sequence[Round]) -> EndpointLine:
        """The endpoint's line; `rounds` newest first."""
        state, holder = self.state(row, model)
        word = service_state(state)
        offer = self.capabilities.get(row.pk)
        return EndpointLine(
            pk=row.pk,
            tag=row.tag,
            state=word,
            why=_why(word, state, holder, self.suspensions.get(row.pk)),
            until=_until(word, state, holder),
            is_protected=row.is_protected,
            is_control=row.is_control,
            quantization=offer.quantization if offer else "",
            ttft_ms=self.ttft_ms.get(row.pk),
            marks=tuple(self._mark(one, row.pk) for one in reversed(rounds)),
        )

    def _mark(self, round_: Round, endpoint_pk: int) -> Mark:
        result = self.results.get((round_.pk, endpoint_pk))
        if result is None:
            return Mark.ABSENT
        return Mark(result) if result else Mark.NOT_SCORED


def _offer(tag: str, row: Capability | None) -> Offer:
    if row is None:
        return Offer(tag=tag)
    return Offer(
        tag=tag,
        quantization=row.quantization,
        prompt_price=row.prompt_price,
        completion_price=row.completion_price,
    )


def _shown(rounds: Sequence[Round]) -> list[Round]:
    return [round_ for round_ in rounds if round_.status != RoundStatus.RUNNING][:TRACKER_ROUNDS]


def _results(round_pks: Sequence[UUID]) -> dict[tuple[UUID, int], str]:
    rows = EndpointRound.objects.filter(round__in=round_pks).values_list("round_id", "endpoint_id", "result")
    return {(round_pk, endpoint_pk): result for round_pk, endpoint_pk, result in rows}


def _median_ttft_ms(round_pks: Sequence[UUID]) -> dict[int, float]:
    runs = ProbeRun.objects.filter(
        round__in=round_pks, contract=Contract.LATENCY.value, ordinal=0, ttft_ms__isnull=False
    )
    values: dict[int, list[float]] = {}
    for endpoint_pk, ttft_ms in runs.values_list("endpoint_id", "ttft_ms"):
        values.setdefault(endpoint_pk, []).append(ttft_ms or 0.0)
    return {endpoint_pk: median(some) for endpoint_pk, some in values.items()}


def _held(row: Suspension, *, is_stopped: bool) -> Held:
    is_shadow = row.is_shadow or is_stopped
    return Held(started_at=row.started_at, until=row.ends_at, level=row.level, is_shadow=is_shadow)


def _why(
    word: ServiceState, state: EndpointState, holder: ExclusionRow | None, held: Suspension | None
) -> str:
    """The state's reason in a few words."""
    if word is ServiceState.EXCLUDED and holder:
        return f"{holder.tier}: {holder.reason}"
    if word in (ServiceState.SUSPENDED, ServiceState.WOULD_SUSPEND) and held:
        is_idle = word is ServiceState.WOULD_SUSPEND and not held.is_shadow
        stopped = " · enforcement is stopped" if is_idle else ""
        return f"{pairs_in_words(held.culprits)} · level {held.level}{stopped}"
    if word is ServiceState.FAILING:
        return f"{pairs_in_words(state.standing.streak_pairs)} · {state.standing.failing} in a row"
    if word is ServiceState.SILENT:
        return f"{state.standing.silent_rounds} rounds without an answer"
    if word is ServiceState.NOT_ADMITTED:
        return "by the model's preferences"
    return ""


def pairs_in_words(pairs: Iterable[Sequence[str | None]]) -> str:
    """`[contract, language]` pairs as `language (de), structured output`."""
    words = ((str(contract).replace("_", " "), language) for contract, language in pairs)
    return ", ".join(f"{contract} ({language})" if language else contract for contract, language in words)


def _until(word: ServiceState, state: EndpointState, holder: ExclusionRow | None) -> datetime | None:
    if word is ServiceState.EXCLUDED and holder:
        return holder.ends_at
    if word in (ServiceState.SUSPENDED, ServiceState.WOULD_SUSPEND) and state.suspension:
        return state.suspension.until
    return None


def _trouble(line: EndpointLine) -> tuple[int, str]:
    place = _TROUBLE_FIRST.index(line.state) if line.state in _TROUBLE_FIRST else len(_TROUBLE_FIRST)
    return place, line.tag
