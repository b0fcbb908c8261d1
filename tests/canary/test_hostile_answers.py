"""A worker never dies of one bad answer: whatever numbers and names it holds, the run is written down."""

import json
from decimal import Decimal
from typing import Any

import pytest

from canary import run_records
from canary.domain.verdicts import Contract
from canary.models import RunState
from canary.probes.registry import probe_of
from routing.gateways.base import Attribution, ModelFacts
from routing.gateways.openrouter_wire import exchange_from_body
from tests.factories import make_endpoint, make_model, make_round, make_run

pytestmark = pytest.mark.django_db

MOST = 2_147_483_647


def completion(**beside: Any) -> dict[str, Any]:
    choice = {"message": {"content": "The harbour is empty."}, "finish_reason": "stop"}
    return {"provider": "Host", "choices": [choice], **beside}


@pytest.mark.parametrize(
    ("hostile", "tokens", "cost"),
    [
        ({"usage": {"completion_tokens": -1, "cost": -5}}, None, None),
        ({"usage": {"completion_tokens": MOST, "cost": "999.999999999999"}}, MOST, Decimal(1000)),
        ({"usage": {"completion_tokens": MOST + 1, "cost": 1000}}, None, None),
        ({"usage": {"completion_tokens": 10**12, "cost": 10**9}}, None, None),
        ({"usage": {"completion_tokens": 10**400}}, None, None),
        ({"provider": "p\x00" * 300, "id": "\ud800" * 900, "model": "m" * 10**5}, None, None),
    ],
    ids=["negative", "largest", "just too large", "too large", "no number", "names"],
)
def test_c21_a_hostile_answer_is_stored(
    hostile: dict[str, Any], tokens: int | None, cost: Decimal | None
) -> None:
    model = make_model()
    run = make_run(
        make_round(model, status="running"),
        make_endpoint(model),
        state=RunState.SENT,
        verdict="",
        reason="",
    )
    probe = probe_of(Contract.LATENCY)
    request = probe.request(ModelFacts(slug=model.slug), language="en", variant=0, limit_s=1)
    exchange = exchange_from_body(200, {}, json.dumps(completion(**hostile)), ended_ms=5.0)
    run_records.judge_and_store(run, probe, request, exchange, Attribution.PINNED)
    run.refresh_from_db()
    assert (run.state, run.verdict) == (RunState.DONE, "pass")
    assert (run.completion_tokens, run.cost_usd) == (tokens, cost)
