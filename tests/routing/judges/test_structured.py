"""The structured-output judge: strict JSON, the reasons told apart, nothing repaired."""

import json
from pathlib import Path
from typing import Any

import pytest

from routing.judges.findings import Fault, Outcome
from routing.judges.structured import SchemaUnusable, compile_schema, judge_structured, parse_strictly

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "size": {"enum": ["small", "large"]},
    },
    "required": ["name", "count"],
    "additionalProperties": False,
}
GOOD = '{"name": "lamp", "count": 2}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\t\n",
        '{"name":"a b c","count":0,"size":"small"}',
        '{"count": 2, "name": "lamp"}',
        GOOD + "\u00a0",
    ],
)
def test_a_fitting_object_is_sound_whatever_white_space_surrounds_it(text: str) -> None:
    assert judge_structured(text, SCHEMA).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", Fault.EMPTY),
        (" \n\t", Fault.EMPTY),
        (f"```json\n{GOOD}\n```", Fault.FENCED),
        (f"```{GOOD}```", Fault.FENCED),
        (f"{GOOD}\n```", Fault.FENCED),
        (f"Here it is:\n```json\n{GOOD}\n```", Fault.FENCED),
        (f"Here is the order: {GOOD}", Fault.PROSE_AROUND),
        (f"Sure! {GOOD} Anything else?", Fault.PROSE_AROUND),
        (f"<think>two lamps</think>{GOOD}", Fault.THINK_LEAK),
        (f"two lamps</think>\n{GOOD}", Fault.THINK_LEAK),
        (f"{GOOD} Hope this helps!", Fault.TRAILING_DATA),
        (f"{GOOD}{GOOD}", Fault.TRAILING_DATA),
        ("Two lamps, please.", Fault.NOT_JSON),
        ("{'name': 'lamp', 'count': 2}", Fault.NOT_JSON),
        ('{"name": "lamp", "count": 2,}', Fault.NOT_JSON),
        ('{"name": "lamp" "count": 2}', Fault.NOT_JSON),
        ('{"name": "lamp", "count": 2 // two\n}', Fault.NOT_JSON),
        ('{"name": "lamp", "count": 02}', Fault.NOT_JSON),
        ('{"name": "la\nmp", "count": 2}', Fault.NOT_JSON),
        ("\u200b" + GOOD, Fault.PROSE_AROUND),
        ('{"name": "lamp", "cou', Fault.TRUNCATED),
        ('{"name": "lamp", "count": 2', Fault.TRUNCATED),
        ('{"name": "lamp", "count":', Fault.TRUNCATED),
        ("{", Fault.TRUNCATED),
        ('{"name": "lamp", "count": 2, "count": 2}', Fault.DUPLICATE_KEY),
        ('{"name": "lamp", "count": NaN}', Fault.NAN),
        ('{"name": "lamp", "count": -Infinity}', Fault.NAN),
        ("\ufeff" + GOOD, Fault.BOM),
        ("\n\ufeff" + GOOD, Fault.BOM),
        ('{"name": "lamp"}', Fault.SCHEMA_MISMATCH),
        ('{"name": "lamp", "count": "2"}', Fault.SCHEMA_MISMATCH),
        ('{"name": "lamp", "count": 2.5}', Fault.SCHEMA_MISMATCH),
        ('{"name": "lamp", "count": true}', Fault.SCHEMA_MISMATCH),
        ('{"name": null, "count": 2}', Fault.SCHEMA_MISMATCH),
        ('{"name": "lamp", "count": 2, "more": 1}', Fault.SCHEMA_MISMATCH),
        ('{"name": "lamp", "count": 2, "size": "huge"}', Fault.SCHEMA_MISMATCH),
        (f"[{GOOD}]", Fault.SCHEMA_MISMATCH),
        (json.dumps(GOOD), Fault.SCHEMA_MISMATCH),
        ("null", Fault.SCHEMA_MISMATCH),
    ],
    ids=ascii,
)
def test_anything_else_is_a_fault_with_its_own_reason(text: str, fault: Fault) -> None:
    finding = judge_structured(text, SCHEMA)
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, fault)


def test_a_mismatch_says_where_and_why() -> None:
    evidence = judge_structured('{"name": "lamp", "count": "2"}', SCHEMA).evidence
    assert (evidence["path"], evidence["rule"], evidence["count"]) == ("count", "type", 1)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "9" * 5_000, "[" * 100_000 + "]" * 100_000]
)
def test_hostile_json_is_rejected_and_harms_nobody(text: str) -> None:
    assert parse_strictly(text)[1].outcome is Outcome.FAULTY


def test_the_value_comes_only_with_a_sound_finding() -> None:
    assert parse_strictly(GOOD)[0] == {"name": "lamp", "count": 2}
    assert parse_strictly(GOOD + "x")[0] is None


@pytest.mark.parametrize(
    "schema",
    [{"type": "nonsense"}, {"required": "name"}, {"properties": []}, {"pattern": "("}],
    ids=["type", "required", "properties", "pattern"],
)
def test_a_schema_that_does_not_compile_is_our_fault(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaUnusable, match="the schema does not compile"):
        judge_structured(GOOD, schema)


def test_a_schema_never_fetches_anything() -> None:
    with pytest.raises(SchemaUnusable, match="does not compile"):
        judge_structured(GOOD, {"$ref": "https://schemas.invalid/order.json"})


def test_a_schema_that_refers_to_itself_for_ever_is_our_fault() -> None:
    with pytest.raises(SchemaUnusable, match="does not compile"):
        judge_structured(GOOD, {"$ref": "#"})


def test_the_draft_is_pinned_whatever_the_schema_says() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "exclusiveMinimum": 1}
    assert type(compile_schema(schema)).__name__ == "Draft202012Validator"


DATA = Path(__file__).parents[4] / "shared" / "data" / "json_inputs_dev.jsonl"


def test_the_recorded_inputs_are_parsed_as_they_are_labelled() -> None:
    if not DATA.exists():
        pytest.skip("../shared/data is absent: the recorded JSON inputs are not tried")
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        finding = parse_strictly(row["input"])[1]
        assert (finding.outcome is Outcome.SOUND) == (row["strict"] == "valid"), row
        if row["strict"] == "invalid":
            assert (finding.fault is Fault.FENCED) == row["fence"], row
            assert (finding.fault is Fault.TRUNCATED) == (row["truncated"] and not row["fence"]), row
