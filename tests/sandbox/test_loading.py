"""The scenario file: what it may say, and the one sentence for each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox.faults import KINDS
from sandbox.loading import load, parse
from sandbox.scenario import Reasoning, When, Window
from sandbox.tables import ScenarioError

ENDPOINT: dict[str, Any] = {"tag": "acme/fp8", "provider": "Acme"}
M = "models.a/b"
E = f"{M}.endpoints.acme/fp8"


def data(endpoint: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    return {"models": [{"id": "a/b", "endpoints": [{**ENDPOINT, **(endpoint or {})}], **model}]}


def fault(**parts: Any) -> dict[str, Any]:
    return data({"faults": [parts]})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "scenario: `models` needs at least one entry."),
        ({"models": {}}, "scenario: `models` must be a list of tables, not {}."),
        ({"models": [3]}, "scenario.models[0]: a table is needed here, not 3."),
        ({"models": [{"endpoints": []}]}, "scenario.models[0]: `id` is missing (a text)."),
        ({"models": [{"id": "ab"}]}, "scenario.models[0]: `id` must look like author/slug, not 'ab'."),
        (
            {**data(), "modles": 1},
            "scenario: `modles` is not a key here; known are endpoint_defaults, gateway, keys, models.",
        ),
        (
            {**data(), "gateway": {"sede": 1}},
            "gateway: `sede` is not a key here; known are faults, keep_alive_s, region, role_play_markers, seed.",
        ),
        ({**data(), "gateway": {"seed": 1.5}}, "gateway: `seed` must be a whole number, not 1.5."),
        ({**data(), "gateway": {"keep_alive_s": 0}}, "gateway: `keep_alive_s` must be at least 0.01, not 0."),
        (
            {**data(), "gateway": {"faults": [{"kind": "gone"}]}},
            "gateway.faults[0]: `kind` must be one of discovery_unreadable,",
        ),
        ({**data(), "gateway": 7}, "scenario: `gateway` must be a table, not 7."),
        (
            {**data(), "keys": [{"state": "lost"}]},
            "scenario.keys[0]: `state` must be one of ok, out_of_credit, revoked, limit_reached, not 'lost'.",
        ),
        ({"models": data()["models"] * 2}, "scenario: the id 'a/b' occurs twice in `models`."),
        (data(reasoning="some"), f"{M}: `reasoning` must be one of none, optional, mandatory, not 'some'."),
        (data(answer_language="xx"), f"{M}: `answer_language` must be one of auto, en,"),
        (data(endpoints=[ENDPOINT, ENDPOINT]), f"{M}: the tag 'acme/fp8' occurs twice in `endpoints`."),
        (
            data(endpoints=[ENDPOINT, {"tag": "acme", "provider": "ACME"}]),
            f"{M}.endpoints.acme: `provider` is 'ACME', but acme was called 'Acme' before.",
        ),
        (
            data({"tag": "Acme"}),
            f"{M}.endpoints[0]: `tag` must be a lower-case slug such as provider/fp8, not 'Acme'.",
        ),
        (data({"tag": 7}), f"{M}.endpoints[0]: `tag` must be a text, not 7."),
        (
            data({"ttft_ms": [200, 50]}),
            f"{E}: `ttft_ms` must be a number or [smaller, larger], not [200, 50].",
        ),
        (data({"ttft_ms": "fast"}), f"{E}: `ttft_ms` must be a number or [smaller, larger], not 'fast'."),
        (data({"price_prompt": -1}), f"{E}: `price_prompt` must be at least 0, not -1."),
        (data({"price_prompt": True}), f"{E}: `price_prompt` must be a number, not True."),
        (data({"context_length": 0}), f"{E}: `context_length` must be at least 1, not 0."),
        (
            data({"supported_parameters": [1]}),
            f"{E}: `supported_parameters` must be a list of texts, not [1].",
        ),
        (data({"zdr": "yes"}), f"{E}: `zdr` must be true or false, not 'yes'."),
        (data({"pirce": 1}), f"{E}: `pirce` is not a key here; known are"),
        (fault(), f"{E}.faults[0]: `kind` is missing (a text)."),
        (fault(kind="mean"), f"{E}.faults[0]: `kind` must be one of"),
        (
            fault(kind="slow", seconds=3),
            f"{E}.faults[0]: `seconds` is not a key here; known are after_s, every_s, factor,",
        ),
        (fault(kind="slow", factor="x"), f"{E}.faults[0]: `factor` must be a number, not 'x'."),
        (fault(kind="stalled", at=1.5), f"{E}.faults[0]: `at` must be between 0 and 1, not 1.5."),
        (
            fault(kind="server_error", status=200),
            f"{E}.faults[0]: `status` must be between 400 and 599, not 200.",
        ),
        (
            fault(kind="malformed_json", variant="x"),
            f"{E}.faults[0]: `variant` must be one of fenced, prose_around,",
        ),
        (fault(kind="stalled", keep_alives=1), f"{E}.faults[0]: `keep_alives` must be true or false, not 1."),
        (
            fault(kind="empty", probability=1.1),
            f"{E}.faults[0]: `probability` must be between 0 and 1, not 1.1.",
        ),
        (fault(kind="empty", times=0.5), f"{E}.faults[0]: `times` must be a whole number, not 0.5."),
        (
            fault(kind="empty", when="never"),
            f"{E}.faults[0]: `when` must hold only all, prose, role_play, structured, tools, stream, no_stream, not",
        ),
        (fault(kind="empty", languages=["xx"]), f"{E}.faults[0]: `languages` must hold only en, es,"),
        (
            fault(kind="empty", after_s=5, until_s=5),
            f"{E}.faults[0]: `until_s` must be later than `after_s`.",
        ),
        (
            fault(kind="empty", until_s=90, every_s=60),
            f"{E}.faults[0]: `after_s` and `until_s` must lie within `every_s`.",
        ),
    ],
)
def test_a_mistake_is_one_sentence_that_names_table_and_key(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse(wrong)
    message = str(raised.value)
    assert message.startswith(told)
    assert message.endswith(".")
    assert "\n" not in message


def test_a_file_says_everything_a_scenario_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(
        """
        [gateway]
        seed = 9
        keep_alive_s = 0.5
        role_play_markers = ["tavern"]
        faults = [{ kind = "discovery_shrunk", keep = 2, model = "a/b", after_s = 5, until_s = 9 }]

        [[keys]]
        token = "sk-one"
        state = "revoked"
        until_s = 30

        [endpoint_defaults]
        ttft_ms = 80

        [[models]]
        id = "a/b"
        name = "A: B"
        reasoning = "optional"
        until_s = 600

        [[models.endpoints]]
        tag = "acme/fp8"
        provider = "Acme Cloud"
        ttft_ms = [10, 20]
        uptime = 71.5
        status = -2

        [[models.endpoints.faults]]
        kind = "rate_limited"
        retry_after = 7
        when = ["stream", "tools"]
        languages = ["tr"]
        probability = 0.5
        times = 3
        every_s = 60
        after_s = 10
        until_s = 20

        [[models.endpoints]]
        tag = "globex"
        """
    )
    scenario = load(path)
    assert (scenario.gateway.seed, scenario.gateway.role_play_markers) == (9, ("tavern",))
    assert scenario.gateway.faults[0].params == {"keep": 2}
    assert scenario.keys[0].window == Window(until_s=30)
    model = scenario.models[0]
    assert (model.name, model.reasoning, model.window) == ("A: B", Reasoning.OPTIONAL, Window(until_s=600))
    first, second = model.endpoints
    assert (first.ttft_ms, second.ttft_ms) == ((10, 20), (80, 80))
    assert (first.provider, first.status, first.uptime) == ("Acme Cloud", -2, 71.5)
    fault_ = first.faults[0]
    assert fault_.params == {"whose": "upstream", "retry_after": "7", "shape": "raw"}
    assert fault_.when == {When.STREAM, When.TOOLS}
    assert (fault_.probability, fault_.times, fault_.languages) == (0.5, 3, frozenset({"tr"}))
    assert fault_.window == Window(after_s=10, until_s=20, every_s=60)


def test_a_file_that_is_missing_or_no_toml_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"The scenario file .*none\.toml cannot be read: .*\.$"):
        load(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("[[models]\n")
    with pytest.raises(ScenarioError, match=r"The scenario file .*broken\.toml is not valid TOML: .*\.$"):
        load(broken)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match=r"The scenario file .*binary\.toml cannot be read: .*\.$"):
        load(binary)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_can_be_written_with_its_name_alone(kind: str) -> None:
    assert parse(fault(kind=kind)).models[0].endpoints[0].faults[0].kind == kind
    assert KINDS[kind].summary.endswith(".")
