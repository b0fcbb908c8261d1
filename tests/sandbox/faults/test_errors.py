"""Faults that are errors before the answer."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.sandbox.driver import ROLE_PLAY, WALL_S, Gateway, Reply, with_fault

METADATA = {"X-OpenRouter-Metadata": "enabled"}


def failed(kind: str, **params: Any) -> Reply:
    return Gateway(with_fault(kind, **params)).pinned("acme/fp8", headers=METADATA)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 524, 529])
def test_a_server_error_has_the_chosen_status_and_names_the_provider(status: int) -> None:
    reply = failed("server_error", status=status)
    assert reply.status == reply.json["error"]["code"] == status
    assert reply.json["error"]["metadata"]["provider_name"] == "Acme"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_a_client_error_has_the_chosen_status_and_says_that_an_upstream_was_reached(status: int) -> None:
    reply = failed("client_error", status=status)
    assert reply.status == status
    assert reply.json["openrouter_metadata"]["attempt"] == 1
    assert reply.json["openrouter_metadata"]["attempts"][0]["status"] == status


def test_an_error_500_carries_no_metadata() -> None:
    assert "openrouter_metadata" not in failed("server_error", status=500).json


@pytest.mark.parametrize(
    ("shape", "check"),
    [
        ("raw", lambda error: isinstance(error["metadata"]["raw"], str)),
        ("raw_object", lambda error: isinstance(error["metadata"]["raw"], dict)),
        ("typed", lambda error: error["metadata"]["error_type"] == "provider_overloaded"),
        ("string_code", lambda error: error["code"] == "server_error"),
        ("no_code", lambda error: "code" not in error and error["http_status"] == 503),
        ("string_error", lambda error: error == "Acme: The model is overloaded"),
    ],
)
def test_an_errors_body_comes_in_every_known_shape(shape: str, check: Any) -> None:
    reply = failed("server_error", shape=shape)
    assert reply.status == 503
    assert check(reply.json["error"])


@pytest.mark.parametrize(
    ("given", "sent"), [(None, None), (7, "7"), ("7", "7"), ("99999999", "99999999"), ("soon", "soon")]
)
def test_retry_after_is_sent_as_it_is_written(given: Any, sent: str | None) -> None:
    params = {} if given is None else {"retry_after": given}
    assert failed("rate_limited", **params).headers.get("retry-after") == sent


@pytest.mark.parametrize("seconds", [12, -30], ids=["to come", "past"])
def test_retry_after_may_be_a_date(seconds: int) -> None:
    sent = failed("rate_limited", retry_after=f"date:{seconds}").headers["retry-after"]
    assert parsedate_to_datetime(sent).timestamp() == pytest.approx(WALL_S + seconds, abs=1)


def test_an_upstreams_429_names_the_provider_and_has_no_rate_limit_headers() -> None:
    reply = failed("rate_limited")
    assert reply.json["error"]["metadata"]["provider_name"] == "Acme"
    assert not [name for name in reply.headers if name.startswith("x-ratelimit")]


def test_the_gateways_own_429_has_rate_limit_headers_and_names_nobody() -> None:
    reply = failed("rate_limited", whose="own", retry_after=3)
    assert reply.status == 429
    assert reply.headers["x-ratelimit-remaining"] == "0"
    assert reply.headers["retry-after"] == "3"
    metadata = reply.json["error"]["metadata"]
    assert metadata["provider_name"] is None
    assert int(metadata["headers"]["X-RateLimit-Reset"]) > WALL_S * 1000
    assert "openrouter_metadata" not in reply.json


@pytest.mark.parametrize(
    ("shape", "key"), [("typed", "error_type"), ("pool", "limit_source")], ids=["typed", "pool"]
)
def test_an_upstreams_429_comes_in_newer_shapes_too(shape: str, key: str) -> None:
    assert key in failed("rate_limited", shape=shape).json["error"]["metadata"]


@pytest.mark.parametrize(
    ("how", "finish", "native", "refuses"),
    [
        ("finish", "content_filter", "content_filter", False),
        ("native", "stop", "PROHIBITED_CONTENT", False),
        ("refusal_field", "stop", "stop", True),
        ("empty", "stop", "stop", False),
    ],
)
def test_a_filter_empties_the_answer(how: str, finish: str, native: str, refuses: bool) -> None:
    choice = failed("filtering", how=how).json["choices"][0]
    assert (choice["finish_reason"], choice["native_finish_reason"]) == (finish, native)
    assert choice["message"]["content"] == ""
    assert bool(choice["message"]["refusal"]) is refuses


def test_a_refusal_field_comes_in_a_streams_delta_too() -> None:
    gateway = Gateway(with_fault("filtering", how="refusal_field"))
    chunks = gateway.pinned("acme/fp8", stream=True).chunks
    assert any(chunk["choices"][0]["delta"].get("refusal") for chunk in chunks)


def test_moderation_is_a_403_with_reasons() -> None:
    reply = failed("filtering", how="moderation_403")
    assert reply.status == 403
    metadata = reply.json["error"]["metadata"]
    assert metadata.keys() == {"reasons", "flagged_input", "provider_name", "model_slug"}
    assert len(metadata["flagged_input"]) <= 100


def test_a_content_policy_is_a_400_with_its_error_type() -> None:
    reply = failed("filtering", how="policy_400")
    assert reply.status == 400
    assert reply.json["error"]["metadata"]["error_type"] == "content_policy_violation"


def test_a_filter_may_strike_role_play_only() -> None:
    gateway = Gateway(with_fault("filtering", when="role_play"))
    assert gateway.pinned("acme/fp8").json["choices"][0]["finish_reason"] == "stop"
    assert gateway.pinned("acme/fp8", ROLE_PLAY).json["choices"][0]["finish_reason"] == "content_filter"


@pytest.mark.parametrize("shape", ["recorded", "typed"])
def test_a_context_overflow_is_a_400(shape: str) -> None:
    reply = failed("context_overflow", shape=shape, limit=4096)
    assert reply.status == 400
    if shape == "recorded":
        assert "maximum context length is 4096 tokens" in reply.json["error"]["message"]
    else:
        assert reply.json["error"]["metadata"]["error_type"] == "context_length_exceeded"


def test_a_prefill_may_be_rejected() -> None:
    gateway = Gateway(with_fault("prefill_rejected"))
    messages = [{"role": "user", "content": "Say hello."}, {"role": "assistant", "content": "Hel"}]
    assert gateway.pinned("acme/fp8", messages=messages).status == 400
    assert gateway.pinned("acme/fp8").status == 200


@pytest.mark.parametrize("status", [502, 200])
def test_an_html_page_comes_in_place_of_json(status: int) -> None:
    reply = failed("html_error", status=status)
    assert reply.status == status
    assert reply.headers["content-type"].startswith("text/html")
    assert reply.text.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("server_error", {}),
        ("rate_limited", {}),
        ("filtering", {"how": "moderation_403"}),
        ("html_error", {}),
    ],
)
def test_an_error_costs_nothing_and_leaves_no_generation(kind: str, params: dict[str, Any]) -> None:
    gateway = Gateway(with_fault(kind, **params))
    reply = gateway.pinned("acme/fp8")
    assert gateway.state.spent_usd == 0
    assert gateway.get(f"/api/v1/generation?id={reply.headers['x-generation-id']}").status == 404
    assert gateway.state.log[-1].outcome == "failed"
