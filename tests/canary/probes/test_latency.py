"""Latency (C4): the clock from the request written to the first non-blank answer text."""

from collections.abc import Sequence
from typing import Any

import pytest

from canary.domain.verdicts import Contract
from canary.probes.latency import LatencyProbe
from routing.gateways.base import Attribution, Exchange, ModelFacts, TimedLine, TransportFailure
from routing.gateways.openrouter_wire import exchange_from_events
from tests.canary.probes.exchanges import failed_transport, finished, refused, request_for

PROBE = LatencyProbe()
KEEP_ALIVE = ": OPENROUTER PROCESSING"
ROLE = 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}'
BLANK = 'data: {"choices":[{"delta":{"content":" \\n"}}]}'
TEXT = 'data: {"choices":[{"delta":{"content":"The"}}]}'
REASONING = 'data: {"choices":[{"delta":{"content":"","reasoning":"Let me see."}}]}'
STOP = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}'
ERROR = 'data: {"error":{"code":502,"message":"upstream"},"choices":[{"delta":{},"finish_reason":"error"}]}'
DONE = "data: [DONE]"


def judged(exchange: Exchange, **fields: Any) -> tuple[str, str]:
    facts = ModelFacts(slug="a/b", reasoning_mandatory=fields.pop("reasoning_mandatory", False))
    judgement = PROBE.judge(exchange, request_for(Contract.LATENCY, facts=facts), **fields)
    return judgement.verdict.value, judgement.reason.value


def stream(*events: tuple[float, str]) -> Exchange:
    return exchange_from_events([TimedLine(at_ms=at, line=line) for at, line in events])


@pytest.mark.parametrize(
    ("at_ms", "outcome"),
    [
        (1.0, ("pass", "ok")),
        (9_900.0, ("pass", "ok")),
        (10_000.0, ("pass", "ok")),
        (10_100.0, ("fail", "no_text_in_limit")),
    ],
)
@pytest.mark.parametrize(
    "before",
    [[], [KEEP_ALIVE], [ROLE], [BLANK], [KEEP_ALIVE, ROLE, BLANK, REASONING]],
    ids=["nothing", "comment", "role", "blank", "all"],
)
def test_the_first_answer_text_decides_and_nothing_before_it_counts(
    at_ms: float, outcome: tuple[str, str], before: Sequence[str]
) -> None:
    early = [(at_ms / 2, line) for line in before]
    assert judged(stream(*early, (at_ms, TEXT), (at_ms + 50, STOP), (at_ms + 50, DONE))) == outcome


@pytest.mark.parametrize(
    ("at_ms", "outcome"), [(9_900.0, ("pass", "ok")), (10_100.0, ("fail", "no_text_in_limit"))]
)
def test_where_reasoning_is_mandatory_the_first_token_of_any_kind_decides(
    at_ms: float, outcome: tuple[str, str]
) -> None:
    exchange = stream((at_ms, REASONING), (14_000, TEXT), (14_100, STOP), (14_100, DONE))
    assert judged(exchange, reasoning_mandatory=True) == outcome
    judgement = PROBE.judge(exchange, request_for(Contract.LATENCY))
    assert judgement.evidence["ttft_ms"] == 14_000
    assert judgement.evidence["first_token_ms"] == at_ms


def test_a_text_in_time_passes_though_the_stream_breaks_later() -> None:
    assert judged(stream((3_000, TEXT), (4_000, ERROR))) == ("pass", "ok")
    assert judged(stream((3_000, TEXT))) == ("pass", "ok")


@pytest.mark.parametrize(
    ("at_ms", "outcome"),
    [
        (4_000, ("unreachable", "error_before_text")),
        (12_000, ("unreachable", "error_before_text")),
        (15_000, ("unreachable", "error_before_text")),
        (15_100, ("fail", "no_text_in_limit")),
    ],
)
def test_an_error_event_up_to_five_seconds_past_the_limit_is_unreachable(
    at_ms: float, outcome: tuple[str, str]
) -> None:
    assert judged(stream((100, KEEP_ALIVE), (at_ms, ERROR))) == outcome


@pytest.mark.parametrize(
    ("status", "reason"),
    [(408, "server_error"), (429, "rate_limited"), (500, "server_error"), (529, "server_error")],
)
def test_an_error_status_is_unreachable(status: int, reason: str) -> None:
    assert judged(refused(status)) == ("unreachable", reason)


def test_whose_fault_counts_here_too() -> None:
    assert judged(refused(429, provider=None)) == ("inconclusive", "our_side")
    assert judged(refused(400)) == ("inconclusive", "our_request")
    assert judged(refused(404, provider=None)) == ("unreachable", "routing_refused")


@pytest.mark.parametrize("failure", [TransportFailure.CONNECT_FAILED, TransportFailure.NO_STATUS])
def test_no_connection_or_no_status_is_unreachable(failure: TransportFailure) -> None:
    assert judged(failed_transport(failure, ended_ms=15_000)) == ("unreachable", "connect_failed")


@pytest.mark.parametrize(
    ("status_ms", "outcome"),
    [(10_000, ("fail", "no_text_in_limit")), (10_001, ("unreachable", "connect_failed"))],
)
def test_a_status_within_the_limit_and_no_text_fails(status_ms: float, outcome: tuple[str, str]) -> None:
    exchange = failed_transport(TransportFailure.TIMED_OUT, status=200, status_ms=status_ms, ended_ms=15_000)
    assert judged(exchange) == outcome


@pytest.mark.parametrize(
    ("at_ms", "outcome"), [(4_000, ("inconclusive", "empty")), (12_000, ("fail", "no_text_in_limit"))]
)
def test_an_end_without_text_is_inconclusive_when_it_comes_in_time(
    at_ms: float, outcome: tuple[str, str]
) -> None:
    assert judged(stream((100, ROLE), (at_ms, STOP), (at_ms, DONE))) == outcome


def test_an_end_with_reasoning_only_has_its_own_reason() -> None:
    assert judged(stream((100, REASONING), (4_000, STOP), (4_000, DONE))) == (
        "inconclusive",
        "reasoning_only",
    )


@pytest.mark.parametrize(
    ("at_ms", "outcome"), [(4_000, ("unreachable", "early_end")), (12_000, ("fail", "no_text_in_limit"))]
)
def test_a_stream_cut_before_any_text(at_ms: float, outcome: tuple[str, str]) -> None:
    assert judged(stream((100, KEEP_ALIVE), (at_ms, KEEP_ALIVE))) == outcome


@pytest.mark.parametrize(
    ("lag_ms", "outcome"), [(500.0, ("pass", "ok")), (500.1, ("inconclusive", "overloaded_here"))]
)
def test_an_overloaded_machine_concludes_nothing(lag_ms: float, outcome: tuple[str, str]) -> None:
    assert judged(finished(loop_lag_ms=lag_ms)) == outcome


@pytest.mark.parametrize(
    ("attribution", "outcome"),
    [
        (Attribution.PINNED, ("pass", "ok")),
        (Attribution.OTHER, ("inconclusive", "served_by_other")),
        (Attribution.UNKNOWN, ("inconclusive", "not_attributed")),
    ],
)
def test_only_the_pinned_providers_time_counts(attribution: Attribution, outcome: tuple[str, str]) -> None:
    assert judged(finished(), attribution=attribution) == outcome


def test_c2_the_time_of_a_text_that_nobody_signed_counts_for_nobody_also_when_an_error_follows() -> None:
    broken = stream((100, TEXT), (200, ERROR))
    assert judged(broken, attribution=Attribution.UNKNOWN) == ("inconclusive", "not_attributed")
    assert judged(broken, attribution=Attribution.PINNED) == ("pass", "ok")


def test_silence_that_names_nobody_still_fails() -> None:
    silent = failed_transport(TransportFailure.TIMED_OUT, status=200, ended_ms=15_000)
    assert judged(silent, attribution=Attribution.UNKNOWN) == ("fail", "no_text_in_limit")


def test_a_text_without_times_is_ambiguous() -> None:
    assert judged(Exchange(status=200, text="Hello", finish_reason="stop")) == ("inconclusive", "ambiguous")
