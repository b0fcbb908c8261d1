"""Every shape an error takes, recorded or documented, and what is read out of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from routing.gateways.openrouter_errors import read_error

Sample = Callable[[str], str]


def body(error: Any, **beside: Any) -> str:
    return json.dumps({"error": error, **beside})


def test_a_routing_refusal_names_no_provider_and_reached_none(sample: Sample) -> None:
    error = read_error(404, {}, sample("error-404-only-miss-2026-08.json"))
    assert (error.status, error.provider_name, error.reached_upstream) == (404, None, False)
    assert "permits only: azure" in error.message


def test_all_ignored_says_nothing_of_the_upstream(sample: Sample) -> None:
    error = read_error(404, {}, sample("error-404-all-ignored.json"))
    assert error.message.startswith("All providers have been ignored.")
    assert error.reached_upstream is None


def test_an_upstream_rate_limit_names_its_provider(sample: Sample) -> None:
    error = read_error(429, {}, sample("error-429-upstream-2025.json"))
    assert (error.provider_name, error.is_own_rate_limit) == ("Google", False)
    assert error.raw is not None
    assert error.raw.startswith("google/gemini-2.0-flash-exp:free is temporarily")


def test_a_code_may_be_missing_and_the_availability_says_when_to_come_back(sample: Sample) -> None:
    error = read_error(None, {}, sample("error-429-capacity-exhausted-docs-2026-08.json"))
    assert (error.status, error.error_type, error.retry_after) == (429, "rate_limit_exceeded", "40")
    assert error.availability["retryable"] is True
    assert error.is_own_rate_limit is False, "providers are named, if several"
    assert error.provider_name is None


def test_a_null_provider_name_and_previous_errors_are_read(sample: Sample) -> None:
    error = read_error(400, {}, sample("error-400-context-previous_errors-2026-06.json"))
    assert (error.status, error.provider_name) == (400, None)
    assert error.raw is not None
    assert "previous_errors" in error.raw


@pytest.mark.parametrize("name", ["error-400-unknown-provider-key.json", "error-401-2026-06.json"])
def test_a_bare_error_is_its_status_and_message(sample: Sample, name: str) -> None:
    text = sample(name)
    error = read_error(None, {}, text)
    assert (error.status, error.message) == (
        json.loads(text)["error"]["code"],
        json.loads(text)["error"]["message"],
    )


@pytest.mark.parametrize(
    ("status", "payload", "expected_status", "expected_message"),
    [
        pytest.param(500, body("overloaded"), 500, "overloaded", id="the error is a string"),
        pytest.param(
            200, body("overloaded", code=503), 503, "overloaded", id="a string and a code beside it"
        ),
        pytest.param(
            None, body({"code": "429", "message": "m"}), 429, "m", id="the code is a numeric string"
        ),
        pytest.param(
            None, body({"code": "server_error", "message": "m"}), None, "m", id="the code is a word"
        ),
        pytest.param(None, body({"message": "m"}), None, "m", id="no code"),
        pytest.param(None, body({"a": 1}), None, "reported an error without a message", id="nothing at all"),
        pytest.param(None, body({"code": 200, "message": "m"}), None, "m", id="a code that is no error"),
        pytest.param(None, body({"code": 99999, "message": "m"}), None, "m", id="a code that is no status"),
        pytest.param(502, body({"code": 429, "message": "m"}), 502, "m", id="the HTTP status counts first"),
        pytest.param(
            500, body({"message": {"a": 1}}), 500, "error (500) without", id="the message is an object"
        ),
        pytest.param(400, '{"message": "bare"}', 400, "bare", id="no error object"),
        pytest.param(422, '{"detail": "bare"}', 422, "bare", id="a framework's detail"),
        pytest.param(
            502, "<html><title>502</title></html>", 502, "The answer is an HTML page, not JSON.", id="HTML"
        ),
        pytest.param(503, b"", 503, "The answer is empty.", id="empty"),
        pytest.param(500, "upstream timed out", 500, "The answer is not JSON.", id="plain text"),
        pytest.param(500, "[1]", 500, "The answer is not a JSON object.", id="a list"),
        pytest.param(500, "[" * 100_000, 500, "The answer is nested too deeply.", id="nested without end"),
        pytest.param(500, b"\xff\xfe\x00", 500, "The answer is not JSON.", id="no text at all"),
        pytest.param(302, b"", 302, "The answer is empty.", id="a redirect is an error too"),
    ],
)
def test_every_shape_gives_a_status_and_a_sentence(
    status: int | None, payload: bytes | str, expected_status: int | None, expected_message: str
) -> None:
    error = read_error(status, {}, payload)
    assert error.status == expected_status
    assert expected_message in error.message
    assert error.message


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            {"metadata": {"error_type": "provider_overloaded"}}, "provider_overloaded", id="metadata"
        ),
        pytest.param({"error_type": "not_found"}, "not_found", id="beside the message"),
        pytest.param({"type": "invalid_request_error"}, "invalid_request_error", id="as OpenAI writes it"),
        pytest.param({"code": "BAD_REQUEST"}, "bad_request", id="a code in words"),
        pytest.param({"code": "429"}, None, id="a number is no meaning"),
        pytest.param(
            {"metadata": {"reasons": ["sexual"], "flagged_input": "x"}},
            "content_policy_violation",
            id="moderation",
        ),
        pytest.param(
            {"metadata": {"patterns": ["ssn"]}}, None, id="a guardrail of the account is no content policy"
        ),
    ],
)
def test_the_meaning_of_an_error_is_found_where_it_stands(
    error: dict[str, Any], expected: str | None
) -> None:
    assert read_error(403, {}, body(error)).error_type == expected


@pytest.mark.parametrize(
    ("error", "beside", "expected"),
    [
        pytest.param(
            {"metadata": {"provider_name": "Google"}}, {"provider": "Other"}, "Google", id="metadata first"
        ),
        pytest.param(
            {"metadata": {"provider_name": None}}, {"provider": "Minimax"}, "Minimax", id="then the body"
        ),
        pytest.param(
            {"metadata": {"previous_errors": [{"provider": "a"}, {"provider": "a"}]}},
            {},
            "a",
            id="one before",
        ),
        pytest.param(
            {"metadata": {"previous_errors": [{"provider": "a"}, {"provider": "b"}]}},
            {},
            None,
            id="two before",
        ),
        pytest.param({"availability": {"affected_providers": ["deepinfra"]}}, {}, "deepinfra", id="affected"),
        pytest.param(
            {}, {"openrouter_metadata": {"attempts": [{"provider": "X"}]}}, "X", id="the router's attempt"
        ),
        pytest.param({"metadata": "text"}, {"provider": {"a": 1}}, None, id="hostile types"),
    ],
)
def test_the_provider_is_the_one_that_is_named(
    error: dict[str, Any], beside: dict[str, Any], expected: str | None
) -> None:
    assert read_error(502, {}, body(error, **beside)).provider_name == expected


@pytest.mark.parametrize(
    ("status", "headers", "error", "beside", "expected"),
    [
        pytest.param(429, {"X-RateLimit-Reset": "1"}, {}, {}, True, id="its headers tell"),
        pytest.param(
            429, {}, {"metadata": {"headers": {"X-RateLimit-Limit": "20"}}}, {}, True, id="also in metadata"
        ),
        pytest.param(429, {}, {}, {}, True, id="nobody is named"),
        pytest.param(429, {}, {"metadata": {"provider_name": "Google"}}, {}, False, id="a provider is named"),
        pytest.param(
            429, {}, {"metadata": {"limit_source": "upstream_provider_shared_pool"}}, {}, False, id="its pool"
        ),
        pytest.param(
            429, {}, {}, {"openrouter_metadata": {"attempt": 1}}, False, id="an upstream was reached"
        ),
        pytest.param(429, {}, {}, {"openrouter_metadata": {"attempt": 0}}, True, id="none was reached"),
        pytest.param(503, {"X-RateLimit-Reset": "1"}, {}, {}, False, id="no 429 at all"),
    ],
)
def test_whose_429_it_is(
    status: int, headers: dict[str, str], error: dict[str, Any], beside: dict[str, Any], expected: bool
) -> None:
    assert (
        read_error(status, headers, body({"message": "m", **error}, **beside)).is_own_rate_limit is expected
    )


def test_an_html_page_with_429_is_the_gateways_own_and_its_beginning_is_kept() -> None:
    error = read_error(429, {}, "<html>" + "x" * 10_000)
    assert error.is_own_rate_limit is True
    assert error.raw is not None
    assert (error.raw[:7], len(error.raw)) == ("<html>x", 2000)


@pytest.mark.parametrize("raw", ["", None, {}])
def test_an_upstream_that_said_nothing_leaves_nothing_raw(raw: object) -> None:
    assert (
        read_error(502, {}, body({"message": "m", "metadata": {"provider_name": "X", "raw": raw}})).raw
        is None
    )


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"attempt": 0}, False),
        ({"attempt": 1}, True),
        ({"attempts": [{"provider": "x", "status": 500}]}, True),
        ({"endpoints": {"available": [{"selected": True}]}}, True),
        ({"endpoints": {"available": [{"selected": False}]}}, None),
        ({"attempt": "many"}, None),
        ([], None),
        (None, None),
    ],
)
def test_whether_an_upstream_was_reached_is_what_the_router_says(
    metadata: Any, expected: bool | None
) -> None:
    assert (
        read_error(502, {}, body({"message": "m"}, openrouter_metadata=metadata)).reached_upstream is expected
    )


@pytest.mark.parametrize(
    ("headers", "error", "expected"),
    [
        pytest.param({"Retry-After": "7"}, {"availability": {"retry_after": 40}}, "7", id="header first"),
        pytest.param({"retry-after": ["7"]}, {}, "7", id="a recorded header list"),
        pytest.param(
            {"Retry-After": "Mon, 08 Jun 2026 18:46:03 GMT"}, {}, "Mon, 08 Jun 2026 18:46:03 GMT", id="a date"
        ),
        pytest.param({}, {"availability": {"retry_after": 40}}, "40", id="availability"),
        pytest.param({}, {"metadata": {"retry_after": "12"}}, "12", id="metadata"),
        pytest.param({}, {"metadata": {"headers": {"Retry-After": "3"}}}, "3", id="headers in metadata"),
        pytest.param(
            {},
            {"metadata": {"headers": {"X-RateLimit-Reset": "1780944363000"}}},
            "Mon, 08 Jun 2026 18:46:03 GMT",
            id="reset",
        ),
        pytest.param({"X-RateLimit-Reset": "17"}, {}, None, id="a reset that is no epoch in milliseconds"),
        pytest.param({}, {"availability": {"retry_after": {"a": 1}}}, None, id="hostile"),
        pytest.param({}, {}, None, id="none"),
    ],
)
def test_when_to_come_back_is_kept_as_it_was_said(
    headers: dict[str, Any], error: dict[str, Any], expected: str | None
) -> None:
    assert read_error(429, headers, body({"message": "m", **error})).retry_after == expected


def test_hostile_text_is_cut_cleaned_and_holds_no_key() -> None:
    said = "\x1b[31mred\u202e sk-or-v1-0123456789abcdef " + "x" * 100_000
    error = read_error(400, {}, body({"message": said, "metadata": {"raw": {"deep": [[[[[[[[said]]]]]]]]}}}))
    assert len(error.message) == 1000
    assert "\x1b" not in error.message
    assert "\u202e" not in error.message
    assert "0123456789abcdef" not in error.message
    assert error.raw is not None
    assert len(error.raw) <= 2000
    assert "sk-telecom" in read_error(400, {}, body({"message": "sk-telecom-provider is down"})).message


def test_a_raw_object_is_kept_as_json() -> None:
    error = read_error(
        400, {}, body({"message": "m", "metadata": {"provider_name": "X", "raw": {"error": {"a": 1.5}}}})
    )
    assert json.loads(error.raw or "") == {"error": {"a": 1.5}}
