"""Judging recorded answers: one row in, one judgement out, by the very functions the probes use.

A row is what `manage.py judge` reads (a JSON object); what a row means as an exchange is decided here. Nothing
is pinned in a recording, so who served it is not judged.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from canary.domain.verdicts import Contract, Judgement, Reason
from canary.probes.base import TOTAL_LIMIT_S, Probe, ProbeRequest, inconclusive
from canary.probes.beginnings import judge_beginnings
from canary.probes.latency import DEFAULT_LIMIT_S
from canary.probes.registry import probe_of
from canary.probes.structured_output import SCHEMA
from routing.gateways.base import Exchange, TimedLine, Usage
from routing.gateways.openrouter_wire import exchange_from_body, exchange_from_events
from routing.judges.languages import language_of
from routing.judges.structured import compile_schema

LONGEST_STREAM_MS = 1e9
"""Latest time of a recorded line; NaN and numbers without an end are no times."""
BEGINNINGS = "beginnings"
"""The pooled contract of a round's prose answers; as a contract verdict it is part of `language`."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "contract": (str,),
    "expected_language": (str,),
    "text": (str,),
    "answers": (list,),
    "finish_reason": (str,),
    "native_finish_reason": (str,),
    "refusal": (str,),
    "reasoning": (str,),
    "max_tokens": (int,),
    "completion_tokens": (int,),
    "schema": (dict,),
    "advertised": (bool,),
    "http_status": (int,),
    "headers": (dict,),
    "body": (str, dict, list),
    "events": (list,),
}


class BadRow(ValueError):
    """A row that cannot be judged; the message is one sentence for whoever wrote it."""


def judge_line(line: str) -> dict[str, Any]:
    """One line's answer: `{id, verdict, reason, evidence}`, or `{id, error}` for a row that cannot be judged."""
    row: object = None
    try:
        row = _object_of(line)
        judgement = judge_row(row)
    except ValueError as error:
        return {"id": row.get("id") if isinstance(row, dict) else None, "error": str(error)}
    return {
        "id": row["id"],
        "verdict": str(judgement.verdict),
        "reason": str(judgement.reason),
        "evidence": dict(judgement.evidence),
    }


def judge_row(row: Mapping[str, Any]) -> Judgement:
    """The judgement of one row. Raises `BadRow` (or `ValueError` for a language or schema that cannot be used)."""
    _check(row)
    if row["contract"] == BEGINNINGS:
        return judge_beginnings(_answers(row))
    probe = probe_of(Contract(row["contract"]))
    request = _request(row, probe)
    if not _is_advertised(row):
        # Asking an endpoint for what it does not offer is our mistake; the contract does not apply to it.
        return inconclusive(Reason.OUR_REQUEST, applies=False)
    return probe.judge(_exchange(row), request)


def _object_of(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRow(f"the line is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadRow("the line is not a JSON object")
    return row


def _check(row: Mapping[str, Any]) -> None:
    for name in ("id", "contract"):
        if row.get(name) is None:
            raise BadRow(f"the row has no {name}")
    for name, types in _TYPES.items():
        value = row.get(name)
        if value is not None and (
            not isinstance(value, types) or (types == (int,) and isinstance(value, bool))
        ):
            raise BadRow(f"{name} must be {' or '.join(kind.__name__ for kind in types)}")
    contracts = [*Contract, BEGINNINGS]
    if row["contract"] not in contracts:
        raise BadRow(f"contract {row['contract']!r} is unknown; known are: {' '.join(contracts)}")


def _answers(row: Mapping[str, Any]) -> Sequence[str]:
    answers = row.get("answers")
    if answers is None or not all(isinstance(answer, str) for answer in answers):
        raise BadRow("beginnings needs answers, a list of texts")
    return list(answers)


def _is_advertised(row: Mapping[str, Any]) -> bool:
    return row["contract"] != Contract.STRUCTURED_OUTPUT or row.get("advertised") is not False


def _request(row: Mapping[str, Any], probe: Probe) -> ProbeRequest:
    language = row.get("expected_language")
    if language is not None:
        language_of(language)
    elif probe.contract is Contract.LANGUAGE:
        raise BadRow("language needs expected_language")
    schema = row.get("schema")
    if schema is not None:
        compile_schema(schema)
    return ProbeRequest(
        contract=probe.contract,
        version=probe.version,
        prompt_id="recorded",
        language=language,
        body={},
        first_text_limit_s=DEFAULT_LIMIT_S,
        total_limit_s=TOTAL_LIMIT_S,
        # Without the limit nothing can be said of an answer's share of it.
        max_tokens=row.get("max_tokens") or row.get("completion_tokens") or 1,
        schema=SCHEMA if schema is None else schema,
    )


def _exchange(row: Mapping[str, Any]) -> Exchange:
    """What the row recorded: a stream, a body, or an answer's fields."""
    status = 200 if row.get("http_status") is None else row["http_status"]
    headers = row.get("headers") or {}
    if row.get("events") is not None:
        return exchange_from_events(_timed_lines(row["events"]), status=status, headers=headers)
    body = row.get("body")
    if body is not None or (row.get("http_status") is not None and "text" not in row):
        text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
        return exchange_from_body(status, headers, text)
    return _plain_exchange(row, status)


def _timed_lines(events: Sequence[Any]) -> list[TimedLine]:
    lines = []
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("line"), str):
            raise BadRow("events must be a list of {at_ms, line}")
        at_ms = event.get("at_ms")
        if not _is_time(at_ms):
            raise BadRow("at_ms must be a number of milliseconds")
        lines.append(TimedLine(at_ms=float(at_ms), line=event["line"]))
    return lines


def _is_time(at_ms: object) -> TypeGuard[float]:
    if isinstance(at_ms, bool) or not isinstance(at_ms, int | float):
        return False
    return abs(at_ms) <= LONGEST_STREAM_MS


def _plain_exchange(row: Mapping[str, Any], status: int) -> Exchange:
    """An answer given by its fields; without a finish reason it finished normally."""
    if not {"text", "refusal", "reasoning", "finish_reason"} & set(row):
        raise BadRow("the row holds no answer: give text, body or events")
    if row["contract"] == Contract.LATENCY:
        raise BadRow("latency needs events with their times")
    return Exchange(
        status=status,
        text=row.get("text") or "",
        reasoning=row.get("reasoning") or "",
        refusal=row.get("refusal"),
        finish_reason=row.get("finish_reason") or "stop",
        native_finish_reason=row.get("native_finish_reason"),
        has_done=True,
        usage=Usage(completion_tokens=row.get("completion_tokens")),
    )
