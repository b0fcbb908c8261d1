"""The shipped scenarios and the page that describes the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sandbox.faults import KINDS
from sandbox.gateway_faults import GATEWAY_KINDS
from sandbox.loading import load, parse
from sandbox.scenario import Endpoint, Model, Scenario
from tests.sandbox.driver import ROLE_PLAY, STRUCTURED, Gateway

ROOT = Path(__file__).parent.parent.parent
SCENARIOS = ROOT / "sandbox" / "scenarios"
PAGE = (ROOT / "docs" / "sandbox.md").read_text()
HARMLESS = 5


@pytest.fixture(scope="module")
def demo() -> Scenario:
    return load(SCENARIOS / "demo.toml")


def faulty(model: Model) -> set[str]:
    return {fault.kind for endpoint in model.endpoints for fault in endpoint.faults}


def test_the_demo_has_two_models_with_about_eight_providers(demo: Scenario) -> None:
    assert [model.id for model in demo.models] == ["aurora/prose-large", "meridian/chat-medium"]
    for model in demo.models:
        assert 7 <= len({endpoint.base_slug for endpoint in model.endpoints}) <= 10


def test_the_demos_healthy_providers_keep_a_capacity_floor(demo: Scenario) -> None:
    for model in demo.models:
        assert len(healthy_providers(model)) >= HARMLESS


def healthy_providers(model: Model) -> set[str]:
    return {endpoint.base_slug for endpoint in model.endpoints if is_healthy(endpoint)}


def is_healthy(endpoint: Endpoint) -> bool:
    return not endpoint.faults and endpoint.ttft_ms[1] <= 200 and not endpoint.is_service_tier


def test_the_demo_shows_one_of_everything_it_promises(demo: Scenario) -> None:
    aurora, meridian = demo.models
    assert {"mixed_languages", "slow_first_token"} <= faulty(aurora)
    assert {"mixed_languages", "filtering", "malformed_json", "rate_limited", "gone"} <= faulty(meridian)
    assert any(endpoint.is_service_tier for endpoint in aurora.endpoints)
    tags = [endpoint.tag for endpoint in aurora.endpoints]
    assert {"brightforge/fp8", "brightforge/turbo", "brightforge/flex"} <= set(tags)


def test_a_display_name_in_the_demo_cannot_be_derived_from_its_slug(demo: Scenario) -> None:
    names = {endpoint.base_slug: endpoint.provider for model in demo.models for endpoint in model.endpoints}
    assert names["delta-harbor"] == "Harbor"


def test_all_faults_has_one_endpoint_for_every_kind() -> None:
    scenario = load(SCENARIOS / "all_faults.toml")
    endpoints = {endpoint.tag: endpoint for endpoint in scenario.models[0].endpoints}
    assert {tag for tag in endpoints if "healthy" not in tag} == {kind.replace("_", "-") for kind in KINDS}
    for kind in KINDS:
        assert [fault.kind for fault in endpoints[kind.replace("_", "-")].faults] == [kind]
    assert [fault.kind for fault in scenario.gateway.faults] == list(GATEWAY_KINDS)


def test_every_endpoint_of_all_faults_answers_or_fails_without_harming_the_next() -> None:
    import tomllib

    data = tomllib.loads((SCENARIOS / "all_faults.toml").read_text())
    model = data["models"][0]["id"]
    gateway = Gateway(data)
    for endpoint in parse(data).models[0].endpoints:
        for body in ({"stream": True}, {"response_format": STRUCTURED}):
            gateway.chat(ROLE_PLAY, model=model, provider={"only": [endpoint.tag]}, leave_after_s=100, **body)
        sound = gateway.chat(model=model, provider={"only": ["healthy-three"]})
        assert json.loads(sound.body)["provider"] == "Healthy Three"
    assert all(count.in_flight == 0 for count in gateway.state.counts.values())


def rows(heading: str) -> dict[str, str]:
    """The table rows under a heading, by the kind they describe."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return {match[1]: match[0] for match in re.finditer(r"^\| `(\w+)` \|.*$", section, re.MULTILINE)}


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [
        ("Kinds of faults of an endpoint", {name: kind.params for name, kind in KINDS.items()}),
        ("Kinds of faults of the gateway", GATEWAY_KINDS),
    ],
    ids=["endpoint", "gateway"],
)
def test_the_page_describes_every_kind_with_its_parameters_and_no_other(
    heading: str, kinds: dict[str, dict[str, object]]
) -> None:
    described = rows(heading)
    assert described.keys() == kinds.keys()
    for name, params in kinds.items():
        assert {param for param in params if f"`{param}`" not in described[name]} == set(), name


def test_the_page_names_every_choice_of_every_parameter() -> None:
    described = rows("Kinds of faults of an endpoint")
    for name, kind in KINDS.items():
        for param in kind.params.values():
            if len(param.choices) <= 16 and "shape" not in kind.params:
                missing = [choice for choice in param.choices if f'"{choice}"' not in described[name]]
                assert not missing, (name, missing)


def test_the_pages_example_is_a_valid_scenario() -> None:
    import tomllib

    example = PAGE.split("```toml\n")[1].split("```")[0]
    assert parse(tomllib.loads(example)).models[0].endpoints[1].faults[1].probability == 0.1
