"""Faults of structured output and tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandbox.answers import Scene
from sandbox.failures import Failure
from sandbox.faults.registry import Params, choice, fault, number
from sandbox.faults.wording import retold
from sandbox.scenario import RequestKind
from sandbox.turn import Opening, ToolCall, Turn


def _fenced(original: str) -> str:
    return f"```json\n{original}\n```"


def _prose_around(original: str) -> str:
    return f"Sure, here is the object you asked for:\n\n{original}\n\nLet me know if you need anything else."


def _trailing_data(original: str) -> str:
    return f"{original}\n{original}"


def _truncated(original: str) -> str:
    return original[: max(1, len(original) * 2 // 3)]


def _duplicate_key(original: str) -> str:
    """The first member twice, with the same value, so only a reader that counts keys can tell."""
    value = json.loads(original)
    if not isinstance(value, dict) or not value:
        return original
    first = next(iter(value.items()))
    member = json.dumps(dict([first]), ensure_ascii=False)[1:-1]
    return "{" + member + ", " + original.lstrip()[1:]


def _nan(original: str) -> str:
    value = json.loads(original)
    if not isinstance(value, dict):
        return "NaN"
    numeric = next(
        (key for key, part in value.items() if type(part) in (int, float)), next(iter(value), "value")
    )
    return json.dumps({**value, numeric: float("nan")}, ensure_ascii=False)


def _think_leak(original: str) -> str:
    return f"<think>The schema wants an object with these fields.</think>\n{original}"


def _single_quotes(original: str) -> str:
    return original.replace('"', "'")


_DAMAGE: dict[str, Callable[[str], str]] = {
    "fenced": _fenced,
    "prose_around": _prose_around,
    "trailing_data": _trailing_data,
    "truncated": _truncated,
    "duplicate_key": _duplicate_key,
    "nan": _nan,
    "think_leak": _think_leak,
    "single_quotes": _single_quotes,
}


def _missing_field(value: dict[str, Any]) -> dict[str, Any]:
    return dict(list(value.items())[1:])


def _extra_field(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "note": "added by the provider"}


def _wrong_type(value: dict[str, Any]) -> dict[str, Any]:
    """The first member with an object in place of its value, which no scalar schema takes."""
    key = next(iter(value), "value")
    return {**value, key: {"value": value.get(key)}}


def _wrong_enum(value: dict[str, Any]) -> dict[str, Any]:
    """Every text replaced by one that no enum holds."""
    return {
        key: "none of the allowed values" if isinstance(part, str) else part for key, part in value.items()
    }


_MISMATCHES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "missing_field": _missing_field,
    "extra_field": _extra_field,
    "wrong_type": _wrong_type,
    "wrong_enum": _wrong_enum,
}


@fault("malformed_json", variant=choice(*_DAMAGE, *_MISMATCHES, "any"))
def malformed_json(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A structured answer is not the object that was asked for."""
    if scene.request.kind is not RequestKind.STRUCTURED or not turn.text:
        return turn
    variant = params.text("variant")
    if variant == "any":
        variant = scene.rng.choice([*_DAMAGE, *_MISMATCHES])
    try:
        value = json.loads(turn.text)
    except ValueError:
        return turn
    if variant in _DAMAGE:
        return retold(turn, scene, _DAMAGE[variant](turn.text))
    changed = _MISMATCHES[variant](value if isinstance(value, dict) else {"value": value})
    return retold(turn, scene, json.dumps(changed, ensure_ascii=False))


@fault("schema_refused", status=number(400, least=400, most=499))
def schema_refused(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The upstream refuses the schema itself."""
    if scene.request.schema is None:
        return turn
    status = params.whole("status")
    raw = json.dumps({"error": {"message": "response_format.json_schema: this schema is not supported."}})
    metadata = {"raw": raw, "provider_name": turn.shown_provider}
    error = {"message": "Provider returned error", "code": status, "metadata": metadata}
    return replace(turn, opening=Opening.FAILURE, failure=Failure(status=status, error=error))


def _unknown_tool(call: ToolCall) -> tuple[ToolCall, ...]:
    return (replace(call, name="tool_that_was_never_offered"),)


_CALL_DAMAGE: dict[str, Callable[[ToolCall], tuple[ToolCall, ...]]] = {
    "empty": lambda call: (replace(call, arguments=""),),
    "missing": lambda call: (replace(call, arguments=None),),
    "invalid_json": lambda call: (replace(call, arguments=(call.arguments or "{}")[:-1]),),
    "schema_mismatch": lambda call: (replace(call, arguments='{"unexpected": []}'),),
    "duplicated": lambda call: (call, call),
    "unknown_tool": _unknown_tool,
}


@fault("tool_arguments", variant=choice(*_CALL_DAMAGE))
def tool_arguments(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A tool call comes with bad arguments, twice, or for a tool that was never offered."""
    if not turn.tool_calls:
        return turn
    return replace(turn, tool_calls=_CALL_DAMAGE[params.text("variant")](turn.tool_calls[0]))
