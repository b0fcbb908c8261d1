"""Values under a schema: always valid, always the same for one seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sandbox.schemas import example

SCHEMAS: dict[str, dict[str, Any]] = {
    "flat": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "share": {"type": "number"},
            "is_open": {"type": "boolean"},
        },
        "required": ["name", "age", "share", "is_open"],
        "additionalProperties": False,
    },
    "enum and const": {
        "type": "object",
        "properties": {
            "unit": {"enum": ["box", "pallet"]},
            "version": {"const": 3},
            "none": {"type": "null"},
        },
        "required": ["unit", "version", "none"],
    },
    "nested": {
        "type": "object",
        "properties": {
            "owner": {
                "type": "object",
                "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
            },
            "rows": {
                "type": "array",
                "minItems": 3,
                "items": {
                    "type": "object",
                    "properties": {"id": {"type": "integer", "minimum": 10, "maximum": 12}},
                    "required": ["id"],
                },
            },
        },
        "required": ["owner", "rows"],
    },
    "bounds": {
        "type": "object",
        "properties": {
            "low": {"type": "integer", "exclusiveMinimum": 4, "maximum": 5},
            "high": {"type": "integer", "maximum": -3},
            "step": {"type": "integer", "minimum": 1, "multipleOf": 7},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "short": {"type": "string", "maxLength": 3},
            "long": {"type": "string", "minLength": 60},
        },
    },
    "types in a list": {
        "type": "object",
        "properties": {"x": {"type": ["string", "null"]}},
        "required": ["x"],
    },
    "references": {
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
        "type": "object",
        "properties": {"from": {"$ref": "#/$defs/point"}, "to": {"$ref": "#/$defs/point"}},
        "required": ["from", "to"],
    },
    "recursive": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
                },
                "required": ["value", "next"],
            }
        },
        "$ref": "#/$defs/node",
    },
    "recursive list": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 1}
                },
                "required": ["children"],
            }
        },
        "$ref": "#/$defs/node",
    },
    "alternatives": {
        "anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]
    },
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    },
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
    "tuple": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
        "minItems": 2,
        "maxItems": 2,
    },
    "formats": {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "mail": {"type": "string", "format": "email"},
        },
        "required": ["day", "mail"],
    },
    "patterns": {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "year": {"type": "string", "pattern": r"^\d{4}$"},
        },
        "required": ["code", "year"],
    },
    "free object": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    "anything": {},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_value_is_valid_under_its_schema(schema: dict[str, Any]) -> None:
    for seed in range(20):
        value = example(schema, Random(seed))
        Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(value)
        json.dumps(value, allow_nan=False)


def test_a_value_is_the_same_for_one_seed_and_differs_between_seeds() -> None:
    values = [json.dumps(example(SCHEMAS["flat"], Random(seed))) for seed in (1, 1, 2, 3, 4)]
    assert values[0] == values[1]
    assert len(set(values)) > 1


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["a", 1, None]},
        {"const": "x"},
        {"type": "integer", "minimum": 3, "maximum": 9},
        {"type": "string", "minLength": 5, "maxLength": 8},
    ]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner, "minItems": st.integers(0, 3)}),
        st.dictionaries(st.sampled_from("abcde"), inner, min_size=1).map(
            lambda parts: {
                "type": "object",
                "properties": parts,
                "required": list(parts),
                "additionalProperties": False,
            }
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(schema=TREES, seed=st.integers(0, 1000))
def test_any_tree_of_types_gets_a_valid_value(schema: dict[str, Any], seed: int) -> None:
    Draft202012Validator(schema).validate(example(schema, Random(seed)))
