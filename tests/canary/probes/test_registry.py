"""The registry and what all requests have in common (C2)."""

import pytest

from canary.domain.verdicts import Contract
from canary.probes.base import Sampling, chat_body
from canary.probes.registry import PROBES, probe_of
from routing.gateways.base import ModelFacts
from tests.canary.probes.exchanges import FACTS, request_for

PLAIN = Sampling(max_tokens=100)
ASK = [{"role": "user", "content": "Hello"}]


def test_each_contract_has_exactly_one_probe() -> None:
    assert sorted(probe.contract for probe in PROBES) == sorted(Contract)
    assert all(probe_of(contract).contract is contract for contract in Contract)


def test_every_endpoint_is_asked_for_everything_but_structured_output() -> None:
    bare: frozenset[str] = frozenset()
    assert {probe.contract for probe in PROBES if not probe.applies(bare)} == {Contract.STRUCTURED_OUTPUT}


@pytest.mark.parametrize("contract", Contract)
def test_a_request_is_streamed_sampled_and_names_no_route(contract: Contract) -> None:
    request = request_for(contract)
    assert request.body["stream"] is True
    assert request.body["temperature"] > 0
    assert request.body["max_tokens"] == request.max_tokens >= 16
    assert not {"model", "models", "provider", "plugins", "session_id", "user"} & set(request.body)
    assert (request.contract, request.version) == (contract, probe_of(contract).version)
    assert all(message["content"].strip() for message in request.body["messages"])


def test_only_latency_waits_for_a_first_text() -> None:
    limits = {contract: request_for(contract).first_text_limit_s for contract in Contract}
    assert limits.pop(Contract.LATENCY) == 10.0
    assert set(limits.values()) == {None}
    assert request_for(Contract.LATENCY).total_limit_s == 15.0


@pytest.mark.parametrize(
    ("facts", "reasoning", "max_tokens"),
    [
        (FACTS, None, 100),
        (ModelFacts(slug="a/b", reasoning_efforts=("high", "low")), {"enabled": False}, 100),
        (ModelFacts(slug="a/b", reasoning_efforts=("none", "low")), {"effort": "none"}, 100),
        (ModelFacts(slug="a/b", default_reasoning=True), {"enabled": False}, 100),
        (ModelFacts(slug="a/b", reasoning_mandatory=True), {"effort": "low"}, 2100),
        (
            ModelFacts(slug="a/b", reasoning_mandatory=True, reasoning_efforts=("high", "minimal")),
            {"effort": "minimal"},
            2100,
        ),
        (
            ModelFacts(slug="a/b", reasoning_mandatory=True, reasoning_efforts=("none", "max")),
            {"effort": "max"},
            2100,
        ),
    ],
    ids=["none", "optional", "none-allowed", "default-on", "mandatory", "mandatory-minimal", "mandatory-max"],
)
def test_the_least_reasoning_the_model_allows_is_asked_for(
    facts: ModelFacts, reasoning: dict[str, object] | None, max_tokens: int
) -> None:
    body = chat_body(facts, ASK, PLAIN)
    assert body.get("reasoning") == reasoning
    assert body["max_tokens"] == max_tokens


def test_a_model_that_must_reason_is_timed_to_its_first_token() -> None:
    facts = ModelFacts(slug="a/b", reasoning_mandatory=True)
    assert request_for(Contract.LATENCY, facts=facts).counts_reasoning
    assert not request_for(Contract.LATENCY).counts_reasoning
