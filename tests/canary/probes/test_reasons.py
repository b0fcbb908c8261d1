"""Every reason of the closed list, produced by the probe that gives it from a short exchange written for it."""

from typing import Any

import pytest

from canary.domain.verdicts import Contract, Judgement, Reason
from canary.probes.beginnings import judge_beginnings
from canary.probes.registry import probe_of
from routing.gateways.base import Attribution, Exchange, TransportFailure
from tests.canary.probes.exchanges import STORY, failed_transport, finished, refused, request_for, used
from tests.routing.judges.texts import PROSE

L, F, S, P = Contract.LATENCY, Contract.FILTERING, Contract.STRUCTURED_OUTPUT, Contract.LANGUAGE
OBJECT = '{"item": "lamp", "quantity": 1, "urgent": false, "unit": "box", "tags": []}'


def judged(contract: Contract, exchange: Exchange, attribution: Attribution | None = None) -> Judgement:
    return probe_of(contract).judge(exchange, request_for(contract), attribution=attribution)


CASES: dict[Reason, tuple[str, Any]] = {
    Reason.OK: ("pass", (F, finished())),
    Reason.NO_TEXT_IN_LIMIT: ("fail", (L, finished(first_text_ms=10_100.0))),
    Reason.CONNECT_FAILED: ("unreachable", (L, failed_transport(TransportFailure.CONNECT_FAILED))),
    Reason.RATE_LIMITED: ("unreachable", (F, refused(429))),
    Reason.SERVER_ERROR: ("unreachable", (F, refused(503))),
    Reason.ERROR_BEFORE_TEXT: ("unreachable", (F, refused(None, in_stream=True))),
    Reason.EARLY_END: ("unreachable", (F, finished(finish_reason=None))),
    Reason.OUR_REQUEST: ("inconclusive", (F, refused(400))),
    Reason.OUR_SIDE: ("inconclusive", (F, refused(402, provider=None))),
    Reason.SERVED_BY_OTHER: ("inconclusive", (F, finished(), Attribution.OTHER)),
    Reason.NOT_ATTRIBUTED: ("inconclusive", (F, finished(), Attribution.UNKNOWN)),
    Reason.ROUTING_REFUSED: ("unreachable", (F, refused(404, provider=None))),
    Reason.OVERLOADED_HERE: ("inconclusive", (L, finished(loop_lag_ms=900.0))),
    Reason.REFUSAL: ("fail", (F, finished("I can't help with that."))),
    Reason.CONTENT_FILTER: ("fail", (F, finished(finish_reason="content_filter"))),
    Reason.POLICY_ERROR: ("fail", (F, refused(400, error_type="content_policy_violation"))),
    Reason.EMPTY: ("fail", (F, finished(""))),
    Reason.CUT_OFF: ("fail", (F, finished(finish_reason="length", usage=used(3)))),
    Reason.REASONING_ONLY: ("inconclusive", (F, finished("", reasoning="Hm.", finish_reason="length"))),
    Reason.FENCED: ("fail", (S, finished(f"```\n{OBJECT}\n```"))),
    Reason.PROSE_AROUND: ("fail", (S, finished(f"Here: {OBJECT}"))),
    Reason.THINK_LEAK: ("fail", (S, finished(f"</think>{OBJECT}"))),
    Reason.TRAILING_DATA: ("fail", (S, finished(f"{OBJECT}."))),
    Reason.NOT_JSON: ("fail", (S, finished("one lamp"))),
    Reason.DUPLICATE_KEY: ("fail", (S, finished('{"item": "a", "item": "b"}'))),
    Reason.NAN: ("fail", (S, finished('{"quantity": NaN}'))),
    Reason.BOM: ("fail", (S, finished(f"\ufeff{OBJECT}"))),
    Reason.SCHEMA_MISMATCH: ("fail", (S, finished("{}"))),
    Reason.TRUNCATED: ("fail", (S, finished(OBJECT[:-2]))),
    Reason.SCHEMA_REFUSED: ("inconclusive", (S, refused(400, "Unsupported schema"))),
    Reason.WRONG_LANGUAGE: ("fail", (P, finished(PROSE["es"]))),
    Reason.MIXED_LANGUAGES: ("fail", (P, finished(PROSE["en"] + PROSE["zh"]))),
    Reason.MOJIBAKE: ("fail", (P, finished("SeÃ±or, la tempÃ©rature monte."))),
    Reason.REPLACEMENT_CHAR: ("fail", (P, finished("The d\ufffdor."))),
    Reason.SPECIAL_TOKEN: ("fail", (P, finished("The door.<|end|>"))),
    Reason.CORRUPTED_BEGINNING: ("fail", None),
    Reason.REPETITION: ("fail", (P, finished("and the wind " * 60))),
    Reason.TOO_SHORT: ("inconclusive", (P, finished("Come in."))),
    Reason.AMBIGUOUS: ("inconclusive", (P, finished(PROSE["es"], malformed_events=1))),
}


def test_the_table_holds_the_whole_closed_list() -> None:
    assert set(CASES) == set(Reason)


@pytest.mark.parametrize("reason", [reason for reason in CASES if reason is not Reason.CORRUPTED_BEGINNING])
def test_each_reason_is_given_by_a_probe(reason: Reason) -> None:
    verdict, case = CASES[reason]
    judgement = judged(*case)
    assert (judgement.verdict.value, judgement.reason) == (verdict, reason)


def test_a_corrupted_beginning_is_given_by_the_pool() -> None:
    judgement = judge_beginnings([f",{STORY}", f"){STORY}"])
    assert (judgement.verdict.value, judgement.reason) == ("fail", Reason.CORRUPTED_BEGINNING)
