"""Is this answer the JSON object that was asked for? Strict: nothing is repaired (rules C7, R13).

Only surrounding white space is taken off. The reasons for a failure are told apart as far as the text allows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from routing.judges.findings import Fault, Finding, faulty, sound

_MAX_CHARS = 1_000_000
_THINK_MARKS = ("<think>", "</think>", "<thinking>", "</thinking>", "◁think▷", "<|channel|>")


class SchemaUnusable(ValueError):
    """The schema itself is wrong: our fault, never the provider's."""


class _Defect(ValueError):
    """A defect of the JSON text that Python's decoder would let pass."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault


def parse_strictly(text: str) -> tuple[Any, Finding]:
    """The JSON value of a text, and what is wrong with the text (sound when it is exactly one JSON value).

    The value is None when the finding is not sound. Evidence: `detail`, and `excerpt` around the place.
    """
    text = text[:_MAX_CHARS]
    body = text.strip()
    if not body:
        return None, faulty(Fault.EMPTY)
    if body.startswith("\ufeff"):
        return None, faulty(Fault.BOM, detail="a byte order mark before the JSON")
    try:
        return _loads(body), sound()
    except _Defect as defect:
        return None, faulty(defect.fault, detail=str(defect))
    except json.JSONDecodeError as error:
        fault = _why_not_json(body, error)
        return None, faulty(fault, detail=error.msg, excerpt=body[max(0, error.pos - 20) : error.pos + 40])
    except (ValueError, RecursionError) as error:
        return None, faulty(Fault.NOT_JSON, detail=type(error).__name__)


def judge_structured(text: str, schema: Mapping[str, Any]) -> Finding:
    """Whether a text is exactly one JSON value that fits `schema` (JSON Schema 2020-12, whatever `$schema` says).

    Raises `SchemaUnusable` for a schema that does not compile. Evidence of a mismatch: `path` in the value and
    `detail`.
    """
    validator = compile_schema(schema)
    value, finding = parse_strictly(text)
    if finding.fault is not None:
        return finding
    return _mismatch(validator, value) or sound()


def compile_schema(schema: Mapping[str, Any]) -> Any:
    """A validator for the schema that never fetches anything. Raises `SchemaUnusable`."""
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise SchemaUnusable(f"the schema does not compile: {error.message}") from None
    except RecursionError:
        raise SchemaUnusable("the schema does not compile: it is nested too deeply") from None
    return Draft202012Validator(schema, registry=Registry())


def _mismatch(validator: Any, value: Any) -> Finding | None:
    from referencing.exceptions import Unresolvable

    try:
        errors = sorted(
            validator.iter_errors(value), key=lambda error: (list(map(str, error.path)), error.message)
        )
    except (Unresolvable, RecursionError) as error:
        raise SchemaUnusable(f"the schema does not compile: {type(error).__name__}") from None
    if not errors:
        return None
    first = errors[0]
    return faulty(
        Fault.SCHEMA_MISMATCH,
        path="/".join(map(str, first.path)),
        rule=str(first.validator),
        detail=first.message[:200],
        count=len(errors),
    )


def _loads(body: str) -> Any:
    return json.loads(body, object_pairs_hook=_object_without_duplicates, parse_constant=_refuse_constant)


def _object_without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise _Defect(Fault.DUPLICATE_KEY, f"the key {key[:80]!r} occurs twice")
        made[key] = value
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise _Defect(Fault.NAN, f"{name} is not JSON")


def _why_not_json(body: str, error: json.JSONDecodeError) -> Fault:
    if any(mark in body for mark in _THINK_MARKS):
        return Fault.THINK_LEAK
    if "```" in body:
        return Fault.FENCED
    if error.msg == "Extra data":
        return Fault.TRAILING_DATA
    if body[0] not in "{[":
        return Fault.PROSE_AROUND if _holds_json(body) else Fault.NOT_JSON
    return Fault.TRUNCATED if _breaks_off(body, error) else Fault.NOT_JSON


def _breaks_off(body: str, error: json.JSONDecodeError) -> bool:
    """Whether the text ends inside a value: more was opened than closed, or the decoder ran out of text."""
    is_open = body.count("{") > body.count("}") or body.count("[") > body.count("]")
    return is_open or error.pos >= len(body) or error.msg.startswith("Unterminated string")


def _holds_json(body: str) -> bool:
    """Whether an object or list stands whole somewhere in prose."""
    starts = [index for index in (body.find("{"), body.find("[")) if index >= 0]
    for start in sorted(starts):
        try:
            json.JSONDecoder().raw_decode(body, start)
        except (ValueError, RecursionError):
            continue
        return True
    return False
