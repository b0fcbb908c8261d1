"""What all contracts share: whose fault (C3), attribution (C2), a stream without an end."""

from typing import Any

import pytest

from canary.domain.verdicts import Contract, Reason, Verdict
from canary.probes.base import (
    failed,
    from_finding,
    inconclusive,
    is_our_side,
)
from canary.probes.screening import screen, unless_text_was_lost
from routing.gateways.base import Attribution, Exchange, TransportFailure
from routing.judges.findings import Fault, faulty, sound, unsure
from tests.canary.probes.exchanges import failed_transport, finished, refused, request_for


def screened(
    exchange: Exchange,
    contract: Contract = Contract.FILTERING,
    attribution: Attribution | None = Attribution.PINNED,
) -> tuple[str, str] | None:
    judged = screen(exchange, attribution=attribution, request=request_for(contract))
    return None if judged is None else (judged.verdict.value, judged.reason.value)


def test_a_finished_answer_from_the_pinned_provider_may_be_judged() -> None:
    assert screened(finished()) is None
    assert screened(finished(), attribution=None) is None


@pytest.mark.parametrize("status", [401, 402, 403, 429])
@pytest.mark.parametrize(
    "who",
    [{"provider": None}, {"reached_upstream": False}, {"provider": None, "reached_upstream": True}],
    ids=["no-provider-named", "no-upstream-reached", "reached-but-unnamed"],
)
def test_account_errors_are_ours_when_no_provider_is_named_or_reached(
    status: int, who: dict[str, Any]
) -> None:
    assert screened(refused(status, **who)) == ("inconclusive", "our_side")


def test_the_gateways_own_rate_limit_is_ours() -> None:
    assert screened(refused(429, is_own_rate_limit=True)) == ("inconclusive", "our_side")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "error_before_text"),
        (402, "error_before_text"),
        (403, "error_before_text"),
        (429, "rate_limited"),
    ],
)
def test_account_errors_of_one_named_provider_make_it_unreachable(status: int, reason: str) -> None:
    assert screened(refused(status)) == ("unreachable", reason)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"provider": None}, "routing_refused"),
        ({"reached_upstream": False}, "routing_refused"),
        ({}, "error_before_text"),
    ],
    ids=["no-provider", "not-reached", "from-the-provider"],
)
def test_a_404_is_a_routing_refusal_unless_the_provider_said_it(fields: dict[str, Any], reason: str) -> None:
    assert screened(refused(404, "No allowed providers are available.", **fields)) == ("unreachable", reason)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_the_other_side_cannot_read_is_our_request(status: int) -> None:
    assert screened(refused(status, "Unrecognized key")) == ("inconclusive", "our_request")


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 524, 529])
@pytest.mark.parametrize("provider", ["Host", None])
def test_server_errors_are_unreachable_whoever_is_named(status: int, provider: str | None) -> None:
    assert screened(refused(status, provider=provider)) == ("unreachable", "server_error")


@pytest.mark.parametrize("status", [None, 400 + 18, 502])
def test_an_error_event_before_text_is_unreachable(status: int | None) -> None:
    assert screened(refused(status, in_stream=True)) == ("unreachable", "error_before_text")


def test_an_error_event_after_text_ended_the_stream_early() -> None:
    exchange = finished("Some text", finish_reason=None, error=refused(502, in_stream=True).error)
    assert screened(exchange) == ("unreachable", "early_end")


@pytest.mark.parametrize("failure", [TransportFailure.CONNECT_FAILED, TransportFailure.NO_STATUS])
def test_no_connection_and_no_status_are_unreachable(failure: TransportFailure) -> None:
    assert screened(failed_transport(failure)) == ("unreachable", "connect_failed")
    assert screened(Exchange()) == ("unreachable", "connect_failed")


def test_an_error_status_without_a_body_is_judged_by_its_status() -> None:
    assert screened(Exchange(status=503)) == ("unreachable", "server_error")
    assert screened(Exchange(status=429)) == ("inconclusive", "our_side")


@pytest.mark.parametrize("failure", [TransportFailure.CUT, TransportFailure.TIMED_OUT, None])
def test_a_stream_without_a_finish_reason_ended_early(failure: TransportFailure | None) -> None:
    assert screened(finished(finish_reason=None, failure=failure)) == ("unreachable", "early_end")


@pytest.mark.parametrize(("text", "reason"), [("Some", "early_end"), ("", "error_before_text")])
def test_a_stream_that_finished_with_error_broke(text: str, reason: str) -> None:
    assert screened(finished(text, finish_reason="error")) == ("unreachable", reason)


@pytest.mark.parametrize(
    ("attribution", "reason"),
    [(Attribution.OTHER, "served_by_other"), (Attribution.UNKNOWN, "not_attributed")],
)
def test_an_answer_from_elsewhere_or_from_nobody_knows_whom_is_inconclusive(
    attribution: Attribution, reason: str
) -> None:
    assert screened(finished(), attribution=attribution) == ("inconclusive", reason)


def test_silence_and_errors_are_not_held_to_have_come_from_elsewhere() -> None:
    assert screened(refused(429, provider=None), attribution=Attribution.UNKNOWN) == (
        "inconclusive",
        "our_side",
    )
    silent = failed_transport(TransportFailure.CUT, status=200)
    assert screened(silent, attribution=Attribution.UNKNOWN) == ("unreachable", "early_end")


@pytest.mark.parametrize(
    "exchange",
    [
        refused(400, error_type="content_policy_violation"),
        refused(400, "Unrecognized key"),
        refused(429),
        refused(503),
    ],
    ids=["policy", "request", "account", "server"],
)
def test_c2_an_error_of_another_provider_says_nothing_of_the_pinned_one(exchange: Exchange) -> None:
    assert screened(exchange, attribution=Attribution.OTHER) == ("inconclusive", "served_by_other")


def test_c2_text_of_another_provider_is_its_own_whatever_error_follows() -> None:
    own_limit = refused(429, provider=None, is_own_rate_limit=True, in_stream=True).error
    exchange = finished("Some text", finish_reason=None, error=own_limit)
    assert screened(exchange, attribution=Attribution.OTHER) == ("inconclusive", "served_by_other")
    assert screened(exchange, attribution=Attribution.UNKNOWN) == ("inconclusive", "our_side")


@pytest.mark.parametrize("attribution", [*Attribution, None])
def test_c3_an_account_error_before_any_upstream_is_ours_whoever_is_named(
    attribution: Attribution | None,
) -> None:
    assert screened(refused(429, reached_upstream=False), attribution=attribution) == (
        "inconclusive",
        "our_side",
    )


POLICY = [
    {"status": 400, "error_type": "content_policy_violation"},
    {"status": 400, "error_type": "refusal"},
    {"status": 403, "error_type": "content_policy_violation"},
    {"status": 403, "message": 'Your input was flagged for "violence".'},
    {"status": 400, "message": "The response was filtered by the content management policy."},
    {"status": 400, "message": "Provider returned error", "raw": '{"code":"content_filter"}'},
    {"status": None, "message": "blocked", "error_type": "moderation", "in_stream": True},
]


@pytest.mark.parametrize("fields", POLICY, ids=range(len(POLICY)))
@pytest.mark.parametrize(
    ("contract", "verdict"),
    [
        (Contract.FILTERING, "fail"),
        (Contract.LANGUAGE, "inconclusive"),
        (Contract.STRUCTURED_OUTPUT, "inconclusive"),
    ],
)
def test_an_error_that_means_a_content_policy_fails_filtering_only(
    fields: dict[str, Any], contract: Contract, verdict: str
) -> None:
    assert screened(refused(**fields), contract) == (verdict, "policy_error")


FAILS, NOBODYS = ("fail", "policy_error"), ("inconclusive", "not_attributed")


@pytest.mark.parametrize("in_stream", [False, True], ids=["body", "event"])
@pytest.mark.parametrize(
    ("attribution", "named", "expected"),
    [
        (Attribution.PINNED, {}, FAILS),
        (Attribution.PINNED, {"reached_upstream": True}, FAILS),
        (Attribution.PINNED, {"reached_upstream": False}, NOBODYS),
        (Attribution.UNKNOWN, {"provider": None}, NOBODYS),
        (Attribution.UNKNOWN, {"provider": None, "reached_upstream": True}, NOBODYS),
        (Attribution.UNKNOWN, {"provider": "Nobody knows"}, NOBODYS),
        (Attribution.UNKNOWN, {"reached_upstream": False}, NOBODYS),
        (None, {"provider": None}, FAILS),
        (None, {"provider": None, "reached_upstream": False}, NOBODYS),
    ],
)
def test_c2_a_policy_error_that_nobody_can_be_held_to_fails_nobody(
    attribution: Attribution | None, named: dict[str, Any], expected: tuple[str, str], in_stream: bool
) -> None:
    exchange = refused(400, "blocked", error_type="content_policy_violation", in_stream=in_stream, **named)
    assert screened(exchange, attribution=attribution) == expected


def test_an_error_that_nobody_can_be_held_to_shows_what_was_said() -> None:
    exchange = refused(400, "blocked by moderation", provider=None)
    judged = screen(exchange, attribution=Attribution.UNKNOWN, request=request_for(Contract.FILTERING))
    assert judged is not None
    assert (judged.evidence["status"], judged.evidence["message"]) == (400, "blocked by moderation")


@pytest.mark.parametrize(
    "fields",
    [
        {"status": 403, "message": "flagged by moderation", "provider": None},
        {"status": 403, "error_type": "content_policy_violation", "reached_upstream": False},
    ],
    ids=["no-provider-named", "no-upstream-reached"],
)
def test_a_403_that_no_provider_gave_is_ours_whatever_it_says(fields: dict[str, Any]) -> None:
    assert screened(refused(**fields)) == ("inconclusive", "our_side")


@pytest.mark.parametrize(
    ("contract", "reason"),
    [(Contract.STRUCTURED_OUTPUT, "schema_refused"), (Contract.LANGUAGE, "our_request")],
)
@pytest.mark.parametrize(
    ("status", "message", "raw"),
    [
        (400, "Invalid schema for response_format", None),
        (422, "Provider returned error", "json_schema is not supported"),
    ],
)
def test_a_refused_schema_is_told_apart_for_structured_output(
    contract: Contract, reason: str, status: int, message: str, raw: str | None
) -> None:
    assert screened(refused(status, message, raw=raw), contract) == ("inconclusive", reason)


def test_evidence_of_an_error_shows_what_was_said_and_by_whom() -> None:
    judged = screen(
        refused(429, "Slow\x00 down", retry_after="7"),
        attribution=None,
        request=request_for(Contract.FILTERING),
    )
    assert judged is not None
    assert judged.evidence["message"] == "Slow\\x00 down"
    assert (judged.evidence["provider"], judged.evidence["retry_after"]) == ("Host", "7")


def test_only_our_side_stops_the_round() -> None:
    assert is_our_side(inconclusive(Reason.OUR_SIDE))
    assert not is_our_side(inconclusive(Reason.OUR_REQUEST))


def test_a_text_fault_is_no_fault_when_a_piece_of_the_text_was_lost() -> None:
    lossy = finished(malformed_events=1)
    judged = unless_text_was_lost(failed(Reason.NOT_JSON), lossy)
    assert (judged.verdict, judged.reason) == (Verdict.INCONCLUSIVE, Reason.AMBIGUOUS)
    assert unless_text_was_lost(failed(Reason.NOT_JSON), finished()).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("finding", "verdict", "reason"),
    [
        (sound(a=1), Verdict.PASS, Reason.OK),
        (faulty(Fault.NAN), Verdict.FAIL, Reason.NAN),
        (unsure(Fault.TOO_SHORT), Verdict.INCONCLUSIVE, Reason.TOO_SHORT),
    ],
)
def test_a_finding_becomes_a_judgement(finding: Any, verdict: Verdict, reason: Reason) -> None:
    judged = from_finding(finding)
    assert (judged.verdict, judged.reason) == (verdict, reason)


def test_every_fault_of_the_judges_is_a_reason() -> None:
    assert {fault.value for fault in Fault} <= {reason.value for reason in Reason}
