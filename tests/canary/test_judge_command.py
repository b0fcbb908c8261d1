"""`manage.py judge`: rows in, verdicts out in the same order, bad rows named, no database."""

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from canary.judging import judge_line
from tests.canary.probes.exchanges import STORY
from tests.routing.judges.texts import PROSE

OBJECT = '{"item": "lamp", "quantity": 1, "urgent": false, "unit": "box", "tags": []}'
REFUSAL = "I'm sorry, but I can't help with that request."
TEXT_EVENT = 'data: {"choices":[{"delta":{"content":"The storm"}}]}'
STOP_EVENT = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}'
BODY = {"choices": [{"message": {"content": STORY}, "finish_reason": "stop"}]}


def judged(contract: str, **fields: Any) -> dict[str, Any]:
    return judge_line(json.dumps({"id": 7, "contract": contract, **fields}))


def outcome(contract: str, **fields: Any) -> tuple[Any, Any]:
    answer = judged(contract, **fields)
    return answer.get("verdict"), answer.get("reason")


def run(tmp_path: Path, lines: Sequence[str], *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    path, out = tmp_path / "rows.jsonl", io.StringIO()
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        call_command("judge", "--input", str(path), *arguments, stdout=out)
    except SystemExit as exit_:
        return int(exit_.code or 0), [json.loads(line) for line in out.getvalue().splitlines()]
    return 0, [json.loads(line) for line in out.getvalue().splitlines()]


def row(identity: Any, **fields: Any) -> str:
    return json.dumps({"id": identity, "contract": "filtering", **fields})


def test_answers_come_in_the_order_of_the_rows_with_all_four_keys(tmp_path: Path) -> None:
    code, answers = run(tmp_path, [row("b", text=STORY), row(1, text=REFUSAL), row("a", text="")])
    assert code == 0
    assert [(a["id"], a["verdict"], a["reason"]) for a in answers] == [
        ("b", "pass", "ok"),
        (1, "fail", "refusal"),
        ("a", "fail", "empty"),
    ]
    assert all(set(answer) == {"id", "verdict", "reason", "evidence"} for answer in answers)


def test_a_malformed_row_is_named_the_rest_goes_on_and_the_exit_is_one(tmp_path: Path) -> None:
    lines = ["nonsense", "", row(2, contract="taste", text="x"), row(3, text=STORY), "[1]", row(4)]
    code, answers = run(tmp_path, lines, "--json")
    assert code == 1
    assert [answer["id"] for answer in answers] == [None, 2, 3, None, 4]
    assert [("error" in answer) for answer in answers] == [True, True, False, True, True]
    assert all(set(answer) == {"id", "error"} for answer in answers if "error" in answer)


def test_rows_may_come_on_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = b"\xef\xbb\xbf" + row(1, text=STORY).encode() + b"\n\xff\xfe\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    with pytest.raises(SystemExit, match="1"):
        call_command("judge")
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [("verdict" in answer) for answer in answers] == [True, False]


def test_an_unreadable_file_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.jsonl cannot be read: No such file or directory\."):
        call_command("judge", "--input", str(tmp_path / "none.jsonl"))


def test_output_is_ascii_whatever_was_judged(tmp_path: Path) -> None:
    out = io.StringIO()
    path = tmp_path / "rows.jsonl"
    path.write_text(
        row(1, contract="language", expected_language="zh", text="雨\ud83d中 " * 60), encoding="utf-8"
    )
    call_command("judge", "--input", str(path), stdout=out)
    assert out.getvalue().isascii()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"contract": None}, "the row has no contract"),
        ({"contract": 3}, "contract must be str"),
        ({"contract": "taste"}, "contract 'taste' is unknown; known are: latency filtering"),
        ({"text": 5}, "text must be str"),
        ({"text": "x", "max_tokens": True}, "max_tokens must be int"),
        ({"events": ["data: x"]}, "events must be a list of {at_ms, line}"),
        ({"events": [{"at_ms": "1", "line": ""}]}, "at_ms must be a number"),
        ({"events": [{"at_ms": float("nan"), "line": ""}]}, "at_ms must be a number"),
        ({"events": [{"at_ms": 10**400, "line": ""}]}, "at_ms must be a number"),
        ({}, "the row holds no answer"),
        ({"contract": "language", "text": STORY}, "language needs expected_language"),
        ({"contract": "language", "text": STORY, "expected_language": "xx"}, "language 'xx' is not judged"),
        ({"contract": "latency", "text": STORY}, "latency needs events with their times"),
        ({"contract": "beginnings", "text": STORY}, "beginnings needs answers, a list of texts"),
        ({"contract": "beginnings", "answers": [1]}, "beginnings needs answers, a list of texts"),
        (
            {"contract": "structured_output", "text": "{}", "schema": {"type": 1}},
            "the schema does not compile",
        ),
    ],
)
def test_a_row_that_cannot_be_judged_says_why(fields: dict[str, Any], message: str) -> None:
    answer = judge_line(json.dumps({"id": 7, "contract": "filtering", **fields}))
    assert answer["id"] == 7
    assert message in answer["error"]


def test_a_row_without_an_id_is_malformed() -> None:
    assert judge_line('{"contract": "filtering", "text": "x"}') == {"id": None, "error": "the row has no id"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"text": STORY}, ("pass", "ok")),
        ({"text": None}, ("fail", "empty")),
        ({"text": STORY, "finish_reason": "content_filter"}, ("fail", "content_filter")),
        ({"text": STORY, "native_finish_reason": "SAFETY"}, ("fail", "content_filter")),
        ({"text": "", "refusal": "No."}, ("fail", "refusal")),
        ({"text": "", "reasoning": "Hm.", "finish_reason": "length"}, ("inconclusive", "reasoning_only")),
        (
            {"text": STORY, "finish_reason": "length", "max_tokens": 300, "completion_tokens": 100},
            ("fail", "cut_off"),
        ),
        (
            {"text": STORY, "finish_reason": "length", "max_tokens": 300, "completion_tokens": 299},
            ("pass", "ok"),
        ),
        ({"text": STORY, "finish_reason": "length", "completion_tokens": 100}, ("pass", "ok")),
        ({"body": BODY}, ("pass", "ok")),
        ({"body": json.dumps(BODY), "http_status": 200}, ("pass", "ok")),
        ({"http_status": 503}, ("unreachable", "server_error")),
        ({"http_status": 10**12}, ("unreachable", "connect_failed")),
        ({"http_status": 429, "body": ""}, ("inconclusive", "our_side")),
        (
            {"http_status": 429, "body": {"error": {"code": 429, "metadata": {"provider_name": "Host"}}}},
            ("unreachable", "rate_limited"),
        ),
        (
            {"http_status": 404, "body": {"error": {"code": 404, "message": "ignored"}}},
            ("unreachable", "routing_refused"),
        ),
        ({"events": [{"at_ms": 5, "line": TEXT_EVENT}]}, ("unreachable", "early_end")),
        ({"events": [{"at_ms": 5, "line": TEXT_EVENT}, {"at_ms": 6, "line": STOP_EVENT}]}, ("pass", "ok")),
    ],
)
def test_a_row_may_hold_fields_a_body_or_a_stream(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert outcome("filtering", **fields) == expected


@pytest.mark.parametrize(
    ("at_ms", "expected"), [(9_900, ("pass", "ok")), (10_100.0, ("fail", "no_text_in_limit"))]
)
def test_latency_reads_the_times_of_a_stream(at_ms: float, expected: tuple[str, str]) -> None:
    events = [
        {"at_ms": 100, "line": ": OPENROUTER PROCESSING"},
        {"at_ms": at_ms, "line": TEXT_EVENT},
        {"at_ms": at_ms + 10, "line": STOP_EVENT},
        {"at_ms": at_ms + 10, "line": "data: [DONE]"},
    ]
    assert outcome("latency", events=events) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"text": OBJECT}, ("pass", "ok")),
        ({"text": OBJECT, "advertised": True}, ("pass", "ok")),
        ({"text": "{}", "advertised": False}, ("inconclusive", "our_request")),
        ({"text": '{"a": 1}', "schema": {"required": ["a"]}}, ("pass", "ok")),
        ({"text": '{"b": 1}', "schema": {"required": ["a"]}}, ("fail", "schema_mismatch")),
        ({"text": "x", "schema": {}}, ("fail", "not_json")),
        (
            {"http_status": 400, "body": {"error": {"message": "bad json_schema"}}},
            ("inconclusive", "schema_refused"),
        ),
    ],
)
def test_structured_output_takes_the_rows_schema(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert outcome("structured_output", **fields) == expected


def test_an_endpoint_that_does_not_advertise_the_mode_is_outside_the_contract() -> None:
    assert judged("structured_output", text="{}", advertised=False)["evidence"] == {"applies": False}


def test_language_and_beginnings_are_judged_by_the_probes_own_functions() -> None:
    assert outcome("language", expected_language="pt", text=PROSE["pt"]) == ("pass", "ok")
    assert outcome("language", expected_language="pt", text=PROSE["es"]) == ("fail", "wrong_language")
    assert outcome("beginnings", answers=[STORY, f",{STORY}", f"]{STORY}"]) == ("fail", "corrupted_beginning")


@pytest.mark.parametrize(
    "line", ['{"id": 1, "contract": "filtering", "text": "' + "[" * 10_000, "[" * 100_000, "\x00", "{}"]
)
def test_hostile_lines_give_an_error_and_no_exception(line: str) -> None:
    assert "error" in judge_line(line)
