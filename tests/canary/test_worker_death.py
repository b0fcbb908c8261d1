"""SIGKILL of the worker at seeded moments of a round (R5): nothing paid for twice, no decision lost or doubled."""

import random
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from kombu import Connection

from canary import rounds
from canary.backtest import UNWRITTEN
from canary.domain import suspension
from canary.domain.capacity import ModelState
from canary.domain.decision import RoundFacts
from canary.domain.scoring import EndpointFacts
from canary.domain.verdicts import Contract, Verdict
from canary.model_state import policy_of
from canary.models import ProbeRun, Round, RoundStatus, RunState
from canary.tasks import work_round
from incidents.models import Decision
from routing.domain.modes import Mode
from routing.models import RoutedModel
from tests.canary.conftest import MODEL, SandboxGateway
from tests.factories import make_model
from tests.services.workers import Worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

MOMENTS = 10
LEASE_S = "1.5"
WAIT_S = 60.0
INTERVAL_S = 2


def claim(model: RoutedModel) -> Round:
    """Claim the next slot as soon as a round is due."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        round_ = rounds.claim_due(model, now=datetime.now(UTC))
        if round_ is not None:
            return round_
        time.sleep(0.1)
    pytest.fail("no round became due")


def hand_out(broker: str) -> None:
    """What beat's tick does besides claiming: find rounds nobody holds and send them."""
    with Connection(broker) as link:
        for round_pk in rounds._hand_out(datetime.now(UTC)):
            work_round.app.send_task(work_round.name, args=(str(round_pk),), connection=link)


def last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def wait_until_taken(round_: Round, log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        round_.refresh_from_db()
        if round_.takeovers:
            return
        time.sleep(0.02)
    pytest.fail(f"no worker took the round: {last_words(log)}")


def wait_until_closed(round_: Round, broker: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        round_.refresh_from_db()
        if round_.status != RoundStatus.RUNNING:
            return
        hand_out(broker)
        time.sleep(0.1)
    pytest.fail(f"the round is still running: {ProbeRun.objects.filter(round=round_).values_list('state')}")


def replayed(model: RoutedModel) -> list[tuple[str, str | None, datetime]]:
    """The decisions the pure rules take on the rounds as they were recorded."""
    state, decided = ModelState(model=model.slug, mode=Mode.ENFORCE), []
    for round_ in Round.objects.filter(model=model, status=RoundStatus.CLOSED).order_by("started_at"):
        facts = tuple(
            EndpointFacts(
                tag=row.endpoint.tag,
                provider=row.endpoint.provider.slug,
                language=row.language or None,
                verdicts={Contract(name): Verdict(verdict) for name, verdict in row.raw.items()},
            )
            for row in round_.endpoint_rounds.select_related("endpoint__provider")
        )
        outcome = suspension.apply_round(
            state,
            RoundFacts(at=round_.started_at, finished_at=round_.closed_at, endpoints=facts),
            policy_of(model),
        )
        state = outcome.state
        decided += [
            (str(one.action), one.endpoint, one.at)
            for one in outcome.decisions
            if one.action not in UNWRITTEN
        ]
    return decided


def logged(model: RoutedModel) -> list[tuple[str, str | None, datetime]]:
    aside = ("joined", "unproved")
    rows = Decision.objects.filter(model_slug=model.slug).exclude(action__in=aside).order_by("pk")
    return [(row.action, row.endpoint_tag or None, row.at) for row in rows]


def test_a_worker_killed_at_any_moment_loses_and_doubles_nothing(
    sandbox: SandboxGateway, valkey_url: str, tmp_path: Path
) -> None:
    rng = random.Random(20260504)
    policy = {"first_text_limit_s": 2, "max_gap": 1000}
    model = make_model(MODEL, mode="enforce", interval_s=INTERVAL_S, policy=policy)
    sandbox.faults("faulty/fp4", {"kind": "mixed_languages"})
    broker = valkey_url.replace("unix://", "redis+socket://", 1)
    variables = {
        "REDIS_URL": valkey_url,
        "OPENROUTER_BASE_URL": sandbox.url,
        "OPENROUTER_API_KEY": "sk-test",
        "ROUND_LEASE_S": LEASE_S,
        "ROUND_SPREAD_S": "0.5",
    }
    log = tmp_path / "worker.log"
    worker = Worker(variables, log)
    killed_open = 0
    try:
        longest_s = 0.0
        for moment in range(MOMENTS + 1):
            round_ = claim(model)
            hand_out(broker)
            wait_until_taken(round_, log)
            began = time.monotonic()
            if moment:  # the first round is undisturbed: it says how long one takes
                time.sleep(rng.uniform(0, longest_s))
                worker.kill()
                round_.refresh_from_db()
                killed_open += round_.status == RoundStatus.RUNNING
                worker = Worker(variables, log)
            wait_until_closed(round_, broker)
            longest_s = longest_s or time.monotonic() - began
    finally:
        worker.kill()
    assert killed_open >= MOMENTS // 2, "the moments must fall into the rounds"
    assert Round.objects.filter(model=model, status=RoundStatus.CLOSED).count() == MOMENTS + 1
    assert not ProbeRun.objects.filter(state__in=[RunState.DUE, RunState.SENT]).exists()
    sent = Counter(ProbeRun.objects.filter(sent_at__isnull=False).values_list("endpoint__tag", flat=True))
    served = Counter(line["tag"] for line in sandbox.served() if line.get("tag"))
    assert all(served[tag] <= sent[tag] for tag in served), (served, sent)
    generations = ProbeRun.objects.filter(state=RunState.DONE).exclude(generation_id="")
    assert generations.count() == generations.values("generation_id").distinct().count()
    assert logged(model) == replayed(model)
    assert ("suspend", "faulty/fp4") in [(action, tag) for action, tag, _ in logged(model)], connection.vendor
