"""A deterministic value for a JSON schema, as a provider with strict structured output would produce it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

_WORDS = ("lantern", "harbour", "bread", "river", "orchard", "window", "market", "forest", "kettle", "valley")
_FORMATS = {
    "date": "2026-03-14",
    "date-time": "2026-03-14T09:26:53Z",
    "time": "09:26:53Z",
    "email": "keeper@example.org",
    "uri": "https://example.org/harbour",
    "uuid": "3f2c9d1e-7a54-4b8e-9c60-5d1f0e8a2b47",
    "ipv4": "192.0.2.17",
    "hostname": "example.org",
}
# Tried in turn for a `pattern`; a general generator from regular expressions is not worth its size here.
_CODES = "EUR AB A a en 7 42 123 2026 12345 A1 a1 AB12 AB-123 ABC-1234 ab_cd #a1b2c3 +12025550147"
_PATTERN_CANDIDATES = (*_FORMATS.values(), "harbour", "Harbour", "HARBOUR", *_CODES.split())
_DEPTH_LIMIT = 12


def example(schema: Any, rng: Random) -> Any:
    """A value valid under `schema` for the keywords providers' strict modes accept.

    Handles types, enum, const, nested objects and arrays, local $ref, anyOf/oneOf/allOf, bounds and formats.
    """
    root = schema if isinstance(schema, Mapping) else {}
    return _value(schema, root, rng, depth=0)


def _value(schema: Any, root: Mapping[str, Any], rng: Random, *, depth: int) -> Any:
    if not isinstance(schema, Mapping):
        return {} if schema is not False else None
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return rng.choice(list(schema["enum"]))
    kind = _kind(schema, rng, depth)
    if kind == "object":
        return _object(schema, root, rng, depth=depth)
    if kind == "array":
        return _array(schema, root, rng, depth=depth)
    return _scalar(kind, schema, rng)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with local references followed, allOf merged and the first alternative taken."""
    for _ in range(_DEPTH_LIMIT):
        if "$ref" in schema:
            schema = {
                **_pointed(root, str(schema["$ref"])),
                **{k: v for k, v in schema.items() if k != "$ref"},
            }
            continue
        alternatives = schema.get("anyOf") or schema.get("oneOf")
        if alternatives:
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            schema = _merged(rest, [alternatives[0]])
            continue
        if schema.get("allOf"):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            schema = _merged(rest, schema["allOf"])
            continue
        break
    return schema


def _merged(base: Mapping[str, Any], parts: Sequence[Any]) -> dict[str, Any]:
    merged = dict(base)
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        for key, value in part.items():
            if key == "properties":
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required":
                merged[key] = list(dict.fromkeys([*merged.get(key, []), *value]))
            else:
                merged[key] = value
    return merged


def _pointed(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    """What a local JSON pointer names, or an empty schema."""
    target: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part and isinstance(target, Mapping):
            target = target.get(part.replace("~1", "/").replace("~0", "~"), {})
    return target if isinstance(target, Mapping) else {}


def _kind(schema: Mapping[str, Any], rng: Random, depth: int) -> str:
    """One type name; of several, null is taken only where nesting must end."""
    kind = schema.get("type")
    if isinstance(kind, list):
        if "null" in kind and depth >= _DEPTH_LIMIT:
            return "null"
        return str(next((name for name in kind if name != "null"), "null"))
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], rng: Random, *, depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = list(schema.get("required") or ())
    names = list(properties) if depth < _DEPTH_LIMIT else [name for name in properties if name in required]
    names += [name for name in required if name not in properties]
    value = {name: _value(properties.get(name, {}), root, rng, depth=depth + 1) for name in names}
    extra = schema.get("additionalProperties")
    for index in range(len(value), int(schema.get("minProperties", 0))):
        value[f"item_{index}"] = _value(
            extra if isinstance(extra, Mapping) else {}, root, rng, depth=depth + 1
        )
    return value


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], rng: Random, *, depth: int) -> list[Any]:
    fixed = schema.get("prefixItems") or []
    items = schema.get("items", {})
    least = int(schema.get("minItems", len(fixed)))
    most = int(schema.get("maxItems", max(least, 3)))
    wanted = least if depth >= _DEPTH_LIMIT else min(most, max(least, 2))
    values: list[Any] = []
    for _ in range(wanted * 20):
        if len(values) == wanted:
            break
        part = fixed[len(values)] if len(values) < len(fixed) else items
        value = _value(part, root, rng, depth=depth + 1)
        if not schema.get("uniqueItems") or value not in values:
            values.append(value)
    return values


def _scalar(kind: str, schema: Mapping[str, Any], rng: Random) -> Any:
    match kind:
        case "integer":
            return _integer(schema, rng)
        case "number":
            return _number(schema, rng)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return _string(schema, rng)


def _bounds(schema: Mapping[str, Any], step: float) -> tuple[float, float]:
    low = schema.get("minimum")
    if isinstance(schema.get("exclusiveMinimum"), int | float):
        low = max(low if low is not None else -math.inf, schema["exclusiveMinimum"] + step)
    high = schema.get("maximum")
    if isinstance(schema.get("exclusiveMaximum"), int | float):
        high = min(high if high is not None else math.inf, schema["exclusiveMaximum"] - step)
    if low is None:
        low = 1 if high is None or high >= 1 else high - 10
    return float(low), float(high) if high is not None else float(low) + 99


def _integer(schema: Mapping[str, Any], rng: Random) -> int:
    low, high = _bounds(schema, 1)
    step = int(schema.get("multipleOf") or 1) or 1
    first, last = math.ceil(low / step), math.floor(high / step)
    return rng.randint(first, max(first, last)) * step


def _number(schema: Mapping[str, Any], rng: Random) -> float:
    step = schema.get("multipleOf")
    if step:
        low, high = _bounds(schema, step)
        return float(math.ceil(low / step) * step)
    low, high = _bounds(schema, 1e-3)
    return min(high, max(low, round(rng.uniform(low, high), 2)))


def _string(schema: Mapping[str, Any], rng: Random) -> str:
    pattern = schema.get("pattern")
    low, high = int(schema.get("minLength", 0)), int(schema.get("maxLength", 1 << 20))
    if isinstance(pattern, str):
        return _patterned(pattern, low, high)
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    text = " ".join(rng.choice(_WORDS) for _ in range(2))
    while len(text) < low:
        text += f" {rng.choice(_WORDS)}"
    return text[:high]


def _patterned(pattern: str, low: int, high: int) -> str:
    """The first candidate the pattern takes; a plain word when none fits."""
    try:
        compiled = re.compile(pattern)
    except re.error:
        return _WORDS[0]
    fitting = (text for text in _PATTERN_CANDIDATES if low <= len(text) <= high and compiled.search(text))
    return next(fitting, _WORDS[0])
