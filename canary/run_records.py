"""Probe runs as rows: due, sent, done; judged and written down the moment the answer is complete."""

import logging
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction

from canary.domain.pooling import RunFacts
from canary.domain.verdicts import Contract, Judgement, Reason, Verdict
from canary.evidence import redact
from canary.models import ProbeRun, Round, RunState
from canary.planning import ESTIMATED_PROMPT_TOKENS, estimated_usd
from canary.probes.base import Probe, ProbeRequest, is_our_side
from canary.probes.language import judge_prose
from incidents.domain.storable import storable_json, storable_text
from routing.clock import database_now
from routing.domain.modes import CapabilitySource
from routing.gateways.base import Attribution, Exchange
from routing.judges.beginnings import judge_beginning
from routing.judges.findings import Outcome
from routing.models import Capability, RoutedModel

logger = logging.getLogger(__name__)

# Rule C3: from one named provider these are its own; from two different ones in a round they are ours.
ACCOUNT_STATUSES = frozenset({401, 402, 403, 429})
PROVIDERS_TO_BLAME_OURSELVES = 2
# A policy's refusal is no refusal of the account; what came from elsewhere is not the pinned provider's.
NOBODYS = frozenset({Reason.POLICY_ERROR, Reason.SERVED_BY_OTHER, Reason.NOT_ATTRIBUTED})
# Text that may not be stored is not needed to pool beginnings: the flag beside it is.
PROSE = frozenset({Contract.LATENCY, Contract.FILTERING, Contract.LANGUAGE})
TEXT_LIMIT = 20_000
# A probe costs cents; a larger or negative figure is not believed and the catalogue's price taken.
MOST_USD = Decimal(1000)
WARM_UP_TEXT = (
    "The lamp by the window was still burning when she came down the stairs and opened the heavy door. " * 2
)


class OurSide(Exception):
    """Account, key or gateway are at fault (rule C3); the sentence says how."""


@dataclass(kw_only=True)
class Blame:
    """Whose fault a round's failures are: `sentence` is set once they are ours."""

    sentence: str = ""
    _providers: set[str] = field(default_factory=set)

    def note(self, provider: str, judged: Judgement, status: int | None) -> None:
        """Take one run of a provider into account; `status` is the HTTP status or that of its error."""
        if is_our_side(judged):
            said = judged.evidence.get("message", "")
            self.sentence = self.sentence or f"The gateway refused our request: {said}"[:400]
            return
        if status in ACCOUNT_STATUSES and judged.reason not in NOBODYS:
            self._providers.add(provider)
        if len(self._providers) >= PROVIDERS_TO_BLAME_OURSELVES and not self.sentence:
            names = ", ".join(sorted(self._providers))
            self.sentence = f"Different providers ({names}) refused the account or its rate in one round."


def blame_so_far(round_: Round) -> Blame:
    """What the runs stored already say of our side: a takeover must not forget it."""
    blame = Blame()
    done = ProbeRun.objects.filter(round=round_, state=RunState.DONE).select_related("endpoint__provider")
    for run in done:
        judged = Judgement(verdict=Verdict(run.verdict), reason=Reason(run.reason), evidence=run.evidence)
        blame.note(run.endpoint.provider.slug, judged, run.evidence.get("status", run.http_status))
    return blame


def status_of(exchange: Exchange) -> int | None:
    """The status of an exchange's error, else its own."""
    return exchange.error.status if exchange.error else exchange.status


def warm_up() -> None:
    """Load the detectors before requests are timed, so that loading does not look like a slow provider."""
    judge_prose(WARM_UP_TEXT, "en")


def due_by_endpoint(round_: Round) -> list[list[ProbeRun]]:
    """The round's due runs, one list an endpoint."""
    grouped: dict[int, list[ProbeRun]] = {}
    due = ProbeRun.objects.filter(round=round_, state=RunState.DUE).select_related("endpoint__provider")
    for run in due.order_by("endpoint__tag", "pk"):
        grouped.setdefault(run.endpoint_id, []).append(run)
    return list(grouped.values())


def endpoints_of(round_: Round) -> list[int]:
    """Keys of the endpoints the round has asked."""
    return list(
        ProbeRun.objects.filter(round=round_).order_by().values_list("endpoint_id", flat=True).distinct()
    )


def give_up_latency(round_: Round) -> None:
    """Count the latency runs still due as missing: what may be asked of the model is not known."""
    ProbeRun.objects.filter(round=round_, contract=Contract.LATENCY, state=RunState.DUE).update(
        state=RunState.LOST
    )


def serving_tags(model: RoutedModel) -> list[str]:
    """Tags of the model that serve now."""
    return list(model.endpoints.filter(is_serving=True).values_list("tag", flat=True))


def facts_of_endpoint(round_: Round, endpoint_pk: int) -> list[RunFacts]:
    """The endpoint's runs of the round in the words of the domain."""
    return [facts_of(run) for run in ProbeRun.objects.filter(round=round_, endpoint_id=endpoint_pk)]


def facts_of(run: ProbeRun) -> RunFacts:
    """A stored run in the words of the domain; without a result its verdict is missing."""
    is_done = run.state == RunState.DONE
    return RunFacts(
        contract=Contract(run.contract),
        ordinal=run.ordinal,
        verdict=Verdict(run.verdict) if is_done else None,
        reason=Reason(run.reason) if is_done else None,
        begins_corrupt=run.evidence.get("begins_corrupt"),
    )


def add_confirmations(round_: Round, endpoint_pk: int, count: int) -> list[ProbeRun]:
    """Write down the confirmations of the endpoint's language run; those that exist already stay as they are."""
    first = ProbeRun.objects.get(round=round_, endpoint_id=endpoint_pk, contract=Contract.LANGUAGE, ordinal=0)
    ProbeRun.objects.bulk_create(
        [
            ProbeRun(
                round=round_,
                endpoint_id=endpoint_pk,
                contract=first.contract,
                ordinal=ordinal,
                probe_version=first.probe_version,
                language=first.language,
                variant=first.variant,
            )
            for ordinal in range(1, count + 1)
        ],
        ignore_conflicts=True,
    )
    more = ProbeRun.objects.filter(
        round=round_, endpoint_id=endpoint_pk, contract=first.contract, ordinal__gte=1
    )
    return list(more.filter(state=RunState.DUE).select_related("endpoint__provider"))


def mark_sent(run: ProbeRun) -> bool:
    """Write down that a run is about to be sent; False when it was sent before or dropped."""
    due = ProbeRun.objects.filter(pk=run.pk, state=RunState.DUE)
    return bool(due.update(state=RunState.SENT, sent_at=database_now()))


def judge_and_store(
    run: ProbeRun, probe: Probe, request: ProbeRequest, exchange: Exchange, attribution: Attribution
) -> Judgement:
    """Judge an exchange and write everything down in one conditional UPDATE."""
    judged, evidence = _judge(run, probe, request, exchange, attribution)
    try:
        _store(run, request, judged, evidence, exchange)
    except DatabaseError:  # a value no column holds: this run's loss, not everybody's
        logger.exception("the answer of run %s could not be stored", run.pk)
        judged = _stumbled("could not be stored")
        _store(run, request, judged, dict(judged.evidence), Exchange())
    return judged


def _store(
    run: ProbeRun, request: ProbeRequest, judged: Judgement, evidence: dict[str, Any], exchange: Exchange
) -> None:
    text = storable_text(exchange.text[:TEXT_LIMIT])
    with transaction.atomic():
        ProbeRun.objects.filter(pk=run.pk, state=RunState.SENT).update(
            state=RunState.DONE,
            done_at=database_now(),
            prompt_id=request.prompt_id,
            verdict=judged.verdict.value,
            reason=judged.reason.value,
            evidence=storable_json(evidence if settings.STORE_EVIDENCE_TEXT else redact(evidence)),
            text=text if settings.STORE_EVIDENCE_TEXT else "",
            is_redacted=not settings.STORE_EVIDENCE_TEXT,
            cost_usd=_cost(run, exchange),
            **_measurements(exchange),
        )


def _judge(
    run: ProbeRun, probe: Probe, request: ProbeRequest, exchange: Exchange, attribution: Attribution
) -> tuple[Judgement, dict[str, Any]]:
    """The probe's judgement and the run's evidence. A judge that stumbles is our fault: inconclusive, and logged."""
    try:
        judged = probe.judge(exchange, request, attribution=attribution)
        return judged, _evidence(run, judged, exchange)
    except Exception:  # one strange answer must not cost the round everybody else's
        logger.exception("the judge of %s failed on run %s", run.contract, run.pk)
        judged = _stumbled("the judge failed")
        return judged, dict(judged.evidence)


def _stumbled(what: str) -> Judgement:
    return Judgement(verdict=Verdict.INCONCLUSIVE, reason=Reason.AMBIGUOUS, evidence={"our_fault": what})


def _evidence(run: ProbeRun, judged: Judgement, exchange: Exchange) -> dict[str, Any]:
    """The judgement's evidence and, for prose, whether it began corrupted (pooled over the round, C8)."""
    evidence = dict(judged.evidence)
    if run.contract in PROSE and _is_whole_answer(judged, exchange):
        finding = judge_beginning(exchange.text)
        evidence["begins_corrupt"] = finding.outcome is Outcome.FAULTY
        if evidence["begins_corrupt"]:
            evidence["beginning"] = dict(finding.evidence)
    return evidence


def _is_whole_answer(judged: Judgement, exchange: Exchange) -> bool:
    """Whether the text is the endpoint's own, unharmed on the way."""
    is_judged = judged.verdict.is_conclusive or judged.reason in (Reason.TOO_SHORT, Reason.AMBIGUOUS)
    is_unharmed = exchange.error is None and not exchange.malformed_events
    return is_judged and is_unharmed and bool(exchange.text.strip())


def _measurements(exchange: Exchange) -> dict[str, Any]:
    return {
        "http_status": exchange.status,
        "served_by": storable_text(exchange.served_by or "")[:200],
        "generation_id": storable_text(exchange.generation_id or "")[:200],
        "ttft_ms": exchange.first_text_ms,
        "first_token_ms": exchange.first_token_ms,
        "total_ms": exchange.ended_ms,
        "prompt_tokens": exchange.usage.prompt_tokens,
        "completion_tokens": exchange.usage.completion_tokens,
    }


def _cost(run: ProbeRun, exchange: Exchange) -> Decimal | None:
    """The reported cost; by the catalogue's price when an answer came without one; None when nothing did."""
    reported = exchange.usage.cost_usd
    if reported is not None and 0 <= reported <= MOST_USD:
        return reported
    if exchange.first_token_ms is None:
        return None
    capability = Capability.objects.filter(
        endpoint_id=run.endpoint_id, source=CapabilitySource.ADVERTISED.value, valid_until__isnull=True
    ).first()
    if capability is None:
        return None
    prompt = exchange.usage.prompt_tokens or ESTIMATED_PROMPT_TOKENS
    completion = exchange.usage.completion_tokens or max(1, len(exchange.text + exchange.reasoning) // 4)
    return estimated_usd(capability, prompt, completion)
