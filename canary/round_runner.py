"""One round's requests: discovery, every endpoint at once, confirmations, results as they come.

Runs in one event loop with one shared client. Rows are written by the thread that called, through
`sync_to_async`; no transaction is open while a request is under way.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.conf import settings

from canary import run_records
from canary.domain import schedule
from canary.domain.pooling import CONFIRMATIONS, needs_confirmation
from canary.domain.verdicts import Contract
from canary.model_state import policy_of
from canary.models import ProbeRun, Round, RoundStatus
from canary.probes.registry import probe_of
from canary.run_records import OurSide
from routing import catalogue
from routing.clock import database_now
from routing.connections import open_gateway
from routing.domain.matching import siblings
from routing.gateways.attribution import attribute
from routing.gateways.base import (
    DiscoveryUnreadable,
    Gateway,
    GatewayUnavailable,
    KeyRefused,
    ModelFacts,
    ModelNotFound,
)
from routing.selectors import has_good_list

FACTS_FRESH_S = 3600.0
_facts_seen: dict[tuple[str, str], tuple[float, ModelFacts]] = {}


class SkipRound(Exception):
    """The round cannot begin: there is no list of endpoints to trust."""


class LeaseLost(Exception):
    """Another worker has taken the round over; this one must stop without closing it."""


class RoundRunner:
    """Carries out one round. `plan` writes its runs down; `confirms`: whether C9 applies (not to repeats)."""

    def __init__(self, round_: Round, *, owner: str, plan: Callable[[], None], confirms: bool) -> None:
        self.round = round_
        self.model = round_.model
        self.policy = policy_of(round_.model)
        self._owner = owner
        self._plan = plan
        self._confirms = confirms
        self._slots = asyncio.Semaphore(settings.PROBE_CONCURRENCY)
        self._names: Mapping[str, frozenset[str]] = {}
        self._facts: ModelFacts | None = None
        self._tags: Sequence[str] = ()
        self._blame = run_records.Blame()

    async def run(self) -> None:
        """Run what is due. Raises `OurSide`, `SkipRound`, `LeaseLost`."""
        gateway = open_gateway(self.model.gateway)
        heartbeat = asyncio.create_task(self._keep_lease())
        work = asyncio.create_task(self._run(gateway))
        try:
            await asyncio.wait({heartbeat, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await _cancel(work)
                heartbeat.result()
            work.result()
        finally:
            await _cancel(heartbeat)
            await _cancel(work)
            await gateway.aclose()

    async def _keep_lease(self) -> None:
        """Extend the lease while the round is worked on; ends by raising when it is lost."""
        while True:
            await asyncio.sleep(settings.ROUND_LEASE_S / 3)
            if not await sync_to_async(self._extend_lease)():
                raise LeaseLost(f"round {self.round.pk} was taken over")

    def _extend_lease(self) -> bool:
        until = database_now() + timedelta(seconds=settings.ROUND_LEASE_S)
        mine = Round.objects.filter(pk=self.round.pk, status=RoundStatus.RUNNING, lease_owner=self._owner)
        return bool(mine.update(leased_until=until))

    async def _run(self, gateway: Gateway) -> None:
        await sync_to_async(run_records.warm_up)()
        if not self.round.is_planned:
            await self._prepare(gateway)
        self._names = await sync_to_async(catalogue.display_names)(self.model.gateway)
        self._facts = self._facts or await self._model_facts(gateway)
        self._blame = await sync_to_async(run_records.blame_so_far)(self.round)
        due = await sync_to_async(run_records.due_by_endpoint)(self.round)
        self._tags = await sync_to_async(run_records.serving_tags)(self.model)
        delays = schedule.start_delays_s(len(due), self.model.interval_s, settings.ROUND_SPREAD_S)
        async with asyncio.TaskGroup() as group:
            for runs, delay_s in zip(due, delays, strict=True):
                group.create_task(self._probe_endpoint(gateway, runs, delay_s))
        # A worker that died may have left a fail without its confirmations (C9).
        for endpoint_pk in await sync_to_async(run_records.endpoints_of)(self.round):
            await self._confirm(gateway, endpoint_pk)
        if self._blame.sentence:
            raise OurSide(self._blame.sentence)

    async def _prepare(self, gateway: Gateway) -> None:
        """Check the key, read who serves, write down what is owed."""
        try:
            await gateway.check_key()
        except KeyRefused as error:
            raise OurSide(str(error)) from error
        except GatewayUnavailable:
            pass  # Discovery says more about a gateway that is down.
        await self._discover(gateway)
        self._facts = await self._model_facts(gateway)
        await sync_to_async(self._plan)()

    async def _discover(self, gateway: Gateway) -> None:
        try:
            discovery = await gateway.discover(self.model.slug)
        except KeyRefused as error:
            raise OurSide(str(error)) from error
        except ModelNotFound as error:
            await sync_to_async(lambda: catalogue.mark_gone(self.model, now=database_now()))()
            raise SkipRound(str(error)) from error
        except DiscoveryUnreadable as error:
            sentence = str(error)
            await sync_to_async(
                lambda: catalogue.discovery_failed(self.model, sentence, now=database_now())
            )()
            if not await sync_to_async(lambda: has_good_list(self.model, now=self.round.started_at))():
                raise SkipRound(f"{sentence} There is no list of endpoints younger than 24 h.") from error
        else:
            await sync_to_async(
                lambda: catalogue.apply_discovery(self.model, discovery, now=database_now())
            )()

    async def _model_facts(self, gateway: Gateway) -> ModelFacts:
        """What the catalogue says of the model, read at most once an hour.

        Raises `SkipRound` when it was never read: a model that must reason, asked as one that need not, would
        look slow (C4). On a takeover the latency runs are given up instead.
        """
        key = (self.model.gateway.slug, self.model.slug)
        seen = _facts_seen.get(key)
        if seen is not None and time.monotonic() - seen[0] < FACTS_FRESH_S:
            return seen[1]
        try:
            facts = await gateway.model_facts(self.model.slug)
        except ModelNotFound:  # variants are not in the list of models
            facts = ModelFacts(slug=self.model.slug)
        except (GatewayUnavailable, KeyRefused) as error:
            if seen is not None:
                return seen[1]
            if not self.round.is_planned:
                raise SkipRound(f"What the model can do could not be read: {error}") from error
            await sync_to_async(run_records.give_up_latency)(self.round)
            return ModelFacts(slug=self.model.slug)
        _facts_seen[key] = (time.monotonic(), facts)
        return facts

    async def _probe_endpoint(self, gateway: Gateway, runs: Sequence[ProbeRun], delay_s: float) -> None:
        """All due runs of one endpoint: latency alone first, then the others, then confirmations."""
        await asyncio.sleep(delay_s)
        first = [run for run in runs if run.contract == Contract.LATENCY]
        others = [run for run in runs if run.contract != Contract.LATENCY]
        for batch in (first, others):
            await asyncio.gather(*(self._probe(gateway, run) for run in batch))
        await self._confirm(gateway, runs[0].endpoint_id)

    async def _confirm(self, gateway: Gateway, endpoint_pk: int) -> None:
        """Rule C9: a language run that failed, or a single corrupt beginning, is followed by two more runs."""
        if not self._confirms or self._blame.sentence:
            return
        facts = await sync_to_async(run_records.facts_of_endpoint)(self.round, endpoint_pk)
        if not needs_confirmation(facts):
            return
        more = await sync_to_async(run_records.add_confirmations)(self.round, endpoint_pk, CONFIRMATIONS)
        await asyncio.gather(*(self._probe(gateway, run) for run in more))

    async def _probe(self, gateway: Gateway, run: ProbeRun) -> None:
        """Send one pinned request and store what came of it; nothing is sent once our own side is to blame."""
        async with self._slots:
            if self._blame.sentence or not await sync_to_async(run_records.mark_sent)(run):
                return
            probe = probe_of(Contract(run.contract))
            tag = run.endpoint.tag
            request = probe.request(
                self._facts or ModelFacts(slug=self.model.slug),
                language=run.language,
                variant=run.variant,
                limit_s=self.policy.first_text_limit_s,
            )
            body = gateway.pinned_body(
                request.body,
                model=self.model.slug,
                tag=tag,
                siblings=siblings(tag, self._tags),
                preferences=self.model.preferences,
            )
            # Not cut at the first-text limit: an error up to 5 s past it says unreachable, not slow (C4).
            exchange = await gateway.chat(body, limit_s=request.total_limit_s)
            attribution = attribute(exchange, tag=tag, names=self._names)
        judged = await sync_to_async(run_records.judge_and_store)(run, probe, request, exchange, attribution)
        self._blame.note(run.endpoint.provider.slug, judged, run_records.status_of(exchange))


async def _cancel(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait until it is over, whatever it ends with."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
