"""No word a provider wrote survives the removal of texts, whichever judge quoted it; what the verdict needs does."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.domain.verdicts import Contract, Judgement, Reason
from canary.evidence import CODE_KEYS, REMOVED, TEXT_KEYS, redact
from canary.probes.beginnings import judge_beginnings
from canary.probes.registry import probe_of
from routing.gateways.base import Attribution, Exchange, TransportFailure
from routing.judges.beginnings import judge_beginning
from tests.canary.probes.exchanges import STORY, failed_transport, finished, refused, request_for, used
from tests.routing.judges.texts import PROSE

L, F, S, P = Contract.LATENCY, Contract.FILTERING, Contract.STRUCTURED_OUTPUT, Contract.LANGUAGE
MARK = "xyzzy"
"""A word in everything the provider writes below, at the places from which the judges quote."""
SAID = f"{MARK} {STORY}"
OBJECT = '{"item": "xyzzy", "quantity": 1, "urgent": false, "unit": "box", "tags": ["xyzzy"]}'


def stated(status: int | None, message: str = "", **fields: Any) -> Exchange:
    """An error whose every text and code holds the word."""
    texts = {"raw": MARK, "error_type": f"the {MARK} kind", "retry_after": f"after {MARK}"}
    return refused(status, f"{MARK} {message} {MARK}", **{**texts, **fields})


FILTERED = f"content_filter because of {MARK}"
Case = tuple[Reason, Contract, Exchange, Attribution | None]
CASES: list[Case] = [
    (Reason.OK, L, finished(SAID), None),
    (Reason.OK, F, finished(SAID), None),
    (Reason.OK, S, finished(OBJECT), None),
    (Reason.OK, P, finished(f"{PROSE['en']} “{PROSE['zh'][:24]} {MARK}。” {PROSE['en']} {STORY}"), None),
    (Reason.NO_TEXT_IN_LIMIT, L, finished(SAID, first_text_ms=10_100.0), None),
    (Reason.CONNECT_FAILED, L, failed_transport(TransportFailure.CONNECT_FAILED), None),
    (Reason.RATE_LIMITED, F, stated(429), None),
    (Reason.SERVER_ERROR, F, stated(503), None),
    (Reason.ERROR_BEFORE_TEXT, F, stated(None, in_stream=True), None),
    (Reason.EARLY_END, F, finished(SAID, finish_reason=None), None),
    (Reason.OUR_REQUEST, F, stated(400), None),
    (Reason.OUR_SIDE, F, stated(402, provider=None), None),
    (Reason.SERVED_BY_OTHER, F, stated(400), Attribution.OTHER),
    (Reason.NOT_ATTRIBUTED, F, stated(400, error_type="refusal"), Attribution.UNKNOWN),
    (Reason.ROUTING_REFUSED, F, stated(404, provider=None), None),
    (Reason.OVERLOADED_HERE, L, finished(SAID, loop_lag_ms=900.0), None),
    (Reason.REFUSAL, F, finished(f"I can't {MARK} help with that."), None),
    (Reason.REFUSAL, F, finished("", refusal=f"No, {MARK}."), None),
    (Reason.REFUSAL, P, finished(f"I can't help with that, {MARK}."), None),
    (Reason.REFUSAL, S, finished(f"I can't help with that, {MARK}."), None),
    (Reason.CONTENT_FILTER, F, finished(finish_reason="content_filter", native_finish_reason=FILTERED), None),
    (Reason.POLICY_ERROR, F, stated(400, "moderation", error_type=None), None),
    (Reason.EMPTY, F, finished(" ", finish_reason=f"stop {MARK}"), None),
    (Reason.CUT_OFF, F, finished(SAID, finish_reason="length", usage=used(3)), None),
    (Reason.REASONING_ONLY, F, finished("", reasoning=SAID, finish_reason="length"), None),
    (Reason.FENCED, S, finished(f"```{MARK}\n{OBJECT}\n```"), None),
    (Reason.PROSE_AROUND, S, finished(f"{MARK}: {OBJECT}"), None),
    (Reason.THINK_LEAK, S, finished(f"{MARK}</think>{OBJECT}"), None),
    (Reason.TRAILING_DATA, S, finished(f"{OBJECT} {MARK}"), None),
    (Reason.NOT_JSON, S, finished(MARK), None),
    (Reason.DUPLICATE_KEY, S, finished('{"xyzzy": 1, "xyzzy": 2}'), None),
    (Reason.NAN, S, finished('{"xyzzy": NaN}'), None),
    (Reason.BOM, S, finished(f"\ufeff{OBJECT}"), None),
    (Reason.SCHEMA_MISMATCH, S, finished(OBJECT.replace('"box"', '"xyzzy"')), None),
    (Reason.SCHEMA_MISMATCH, S, finished(OBJECT.replace("urgent", "xyzzy")), None),
    (Reason.SCHEMA_MISMATCH, S, finished(OBJECT.replace('["xyzzy"]', '[{"xyzzy": 1}]')), None),
    (Reason.SCHEMA_MISMATCH, S, finished('["xyzzy"]'), None),
    (Reason.TRUNCATED, S, finished(OBJECT[:-3]), None),
    (Reason.SCHEMA_REFUSED, S, stated(400, "Unsupported schema"), None),
    (Reason.WRONG_LANGUAGE, P, finished(f"{MARK} {PROSE['es']}"), None),
    (Reason.MIXED_LANGUAGES, P, finished(f"{PROSE['en']} {MARK} {PROSE['zh'].replace('，', MARK)}"), None),
    (Reason.MOJIBAKE, P, finished(f"{MARK} SeÃ±or {MARK}, la tempÃ©rature monte."), None),
    (Reason.MOJIBAKE, P, finished(f"{MARK}\x92{MARK}"), None),
    (Reason.REPLACEMENT_CHAR, P, finished(f"{MARK} \ufffd {MARK}"), None),
    (Reason.SPECIAL_TOKEN, P, finished(f"The door.<|{MARK}|>"), None),
    (Reason.REPETITION, P, finished(f"and the {MARK} " * 60), None),
    (Reason.TOO_SHORT, P, finished(f"Come in, {MARK}."), None),
    (Reason.AMBIGUOUS, P, finished(f"{MARK} {PROSE['es']}", malformed_events=1), None),
]


def judged(contract: Contract, exchange: Exchange, attribution: Attribution | None) -> Judgement:
    return probe_of(contract).judge(exchange, request_for(contract), attribution=attribution)


def pooled() -> Judgement:
    return judge_beginnings([f",{SAID}", f"){SAID}"])


def all_evidence() -> list[Mapping[str, Any]]:
    """The evidence of every case, of the pooled beginnings, and of a beginning as it is stored with a run."""
    stored = {"begins_corrupt": True, "beginning": dict(judge_beginning(f",{SAID}").evidence)}
    return [stored, pooled().evidence, *(judged(*case[1:]).evidence for case in CASES)]


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string with the key it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from strings(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner, key)


def test_the_cases_are_of_every_reason_there_is() -> None:
    assert {reason for reason, *_ in CASES} | {pooled().reason} == set(Reason)


@pytest.mark.parametrize(
    ("reason", "contract", "exchange", "attribution"), CASES, ids=[f"{case[1]}-{case[0]}" for case in CASES]
)
def test_no_word_of_the_provider_survives(
    reason: Reason, contract: Contract, exchange: Exchange, attribution: Attribution | None
) -> None:
    judgement = judged(contract, exchange, attribution)
    assert judgement.reason is reason
    assert MARK not in json.dumps(redact(judgement.evidence)).lower()


def test_no_beginning_survives_and_the_sign_and_the_flag_do() -> None:
    stored, *_ = all_evidence()
    assert redact(stored) == {
        "begins_corrupt": True,
        "beginning": {"sign": "punctuation_first", "beginning": REMOVED},
    }
    assert MARK not in json.dumps(redact(pooled().evidence))


def test_every_key_of_the_list_is_one_under_which_some_judge_quotes() -> None:
    quoting = {key for evidence in all_evidence() for key, text in strings(evidence) if MARK in text.lower()}
    assert quoting == TEXT_KEYS.keys() | CODE_KEYS


def test_numbers_positions_languages_and_statuses_stay() -> None:
    evidence = {
        "status": 429,
        "error_type": "rate_limit_exceeded",
        "provider": "Amazon Bedrock",
        "begins_corrupt": False,
        "whole": {"langdetect": {"en": 0.99}},
        "intrusions": [{"language": "zh", "start": 3, "end": 9, "excerpt": "雨"}],
        "share": 0.31,
        "finish_reason": None,
        "retry_after": "7",
    }
    kept = {**evidence, "intrusions": [{"language": "zh", "start": 3, "end": 9, "excerpt": REMOVED}]}
    assert redact(evidence) == kept


KEYS = st.sampled_from([*TEXT_KEYS, *CODE_KEYS, "language", "position"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text())
EVIDENCE = st.dictionaries(
    KEYS,
    st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=8),
)


@given(EVIDENCE)
def test_what_was_redacted_stays_as_it_is(evidence: dict[str, Any]) -> None:
    once = redact(evidence)
    assert redact(once) == once
    assert all(text == REMOVED for key, text in strings(once) if key in TEXT_KEYS)
