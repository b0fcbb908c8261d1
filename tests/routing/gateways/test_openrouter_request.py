"""The pinned body reaches one endpoint and nothing else (rule C2)."""

from typing import Any

import pytest

from routing.gateways.openrouter_request import chat_headers, pinned_body


def pin(
    body: dict[str, Any] | None = None,
    *,
    tag: str = "deepinfra/fp8",
    siblings: tuple[str, ...] = (),
    **preferences: Any,
) -> dict[str, Any]:
    return pinned_body(body or {}, model="a/b", tag=tag, siblings=siblings, preferences=preferences)


def test_a_pin_names_its_tag_alone_and_has_no_fallback() -> None:
    assert pin()["provider"] == {"only": ["deepinfra/fp8"], "allow_fallbacks": False}
    assert pin()["model"] == "a/b"


def test_siblings_that_the_tag_would_reach_too_are_ignored() -> None:
    assert pin(tag="fireworks", siblings=("fireworks/fast",))["provider"]["ignore"] == ["fireworks/fast"]


@pytest.mark.parametrize("sibling", ["deepinfra", "deepinfra/fp8"], ids=["its base slug", "itself"])
def test_what_would_empty_the_pin_is_never_ignored(sibling: str) -> None:
    assert "ignore" not in pin(siblings=(sibling,))["provider"]


@pytest.mark.parametrize(
    "preferences",
    [
        {"only": ["openai"]},
        {"order": ["openai", "deepinfra"]},
        {"ignore": ["deepinfra"]},
        {"sort": "price"},
        {"allow_fallbacks": True},
        {"only": [], "order": [], "ignore": [], "sort": None},
    ],
    ids=["only", "order", "ignore", "sort", "fallbacks", "all of them, empty"],
)
def test_preferences_neither_widen_nor_empty_the_pin(preferences: dict[str, Any]) -> None:
    assert pin(**preferences)["provider"] == {"only": ["deepinfra/fp8"], "allow_fallbacks": False}


def test_the_other_production_preferences_are_sent_with_the_probe() -> None:
    kept: dict[str, Any] = {
        "data_collection": "deny",
        "quantizations": ["fp8"],
        "max_price": {"prompt": 1},
        "require_parameters": True,
        "zdr": True,
    }
    assert pin(**kept)["provider"] == kept | {"only": ["deepinfra/fp8"], "allow_fallbacks": False}


@pytest.mark.parametrize(
    "field",
    ["models", "route", "preset", "transforms", "service_tier", "session_id", "prompt_cache_key", "user"],
)
def test_nothing_is_sent_that_names_another_model_or_makes_routing_stick(field: str) -> None:
    assert field not in pin({field: "x"})


def test_the_plugins_that_alter_prompt_or_answer_are_switched_off() -> None:
    plugins = pin({"plugins": [{"id": "response-healing"}, {"id": "web"}]})["plugins"]
    assert plugins == [
        {"id": "response-healing", "enabled": False},
        {"id": "context-compression", "enabled": False},
    ]


def test_the_body_itself_is_kept_and_not_changed() -> None:
    body = {
        "messages": [{"role": "user", "content": "x"}],
        "stream": True,
        "provider": {"only": ["x"]},
        "model": "z/z",
    }
    before = dict(body)
    pinned = pin(body)
    assert (pinned["messages"], pinned["stream"], pinned["model"]) == (body["messages"], True, "a/b")
    assert body == before


def test_probes_ask_for_no_cached_answer_and_for_router_metadata() -> None:
    headers = chat_headers(None)
    assert (headers["x-openrouter-cache"], headers["x-openrouter-metadata"]) == ("false", "enabled")
    assert chat_headers({"x-openrouter-cache": "true"})["X-OpenRouter-Cache"] == "true"
