"""OpenRouter's error bodies and error events, decoded permissively into `GatewayError`.

`error` may be an object or a string, `code` a number, a string or missing, `metadata` one of half a dozen
shapes, and the whole body an HTML page or nothing (facts/openrouter.md, section 5).
"""

import json
import re
from collections.abc import Iterable, Mapping
from email.utils import formatdate
from typing import Any

from routing.gateways.base import GatewayError
from routing.gateways.hostile_json import (
    Unreadable,
    as_int,
    as_list,
    as_mapping,
    as_name,
    bounded,
    clean,
    decode,
    load_object,
)

MESSAGE_CHARS = 1000
RAW_CHARS = 2000
OWN_LIMIT_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
"""Headers OpenRouter sets on its own 429 only, never on an upstream's."""

_SECRET = re.compile(r"\bsk-(?=[\w-]*\d)[\w-]{16,}")


def read_error(status: int | None, headers: Mapping[str, Any], payload: bytes | str) -> GatewayError:
    """What an HTTP error answer says, whatever its shape; never raises.

    `headers` may hold lists of values, as recordings do; their names are compared without case.
    """
    try:
        document = load_object(payload)
    except Unreadable as reason:
        return _unreadable_error(status, headers, payload, reason)
    bare = {"message": document.get("message") or document.get("detail")}
    return error_in(document, status=status, headers=headers) or _decode(bare, document, status, headers)


def error_in(
    document: Mapping[str, Any], *, status: int | None, headers: Mapping[str, Any], in_stream: bool = False
) -> GatewayError | None:
    """The error a body or stream event carries at its top or in its first choice; None when it carries none.

    `status` is the HTTP status; when it is not an error itself, the error's own code counts.
    """
    first_choice = as_mapping(next(iter(as_list(document.get("choices"))), None))
    error = document.get("error") or first_choice.get("error")
    if not error:
        return None
    return _decode(error, document, status, headers, in_stream=in_stream)


def lowered(headers: Mapping[str, Any]) -> dict[str, str]:
    """Headers by lower-case name, the first value of each."""
    firsts = {
        name: value[0] if isinstance(value, list) and value else value for name, value in headers.items()
    }
    return {name.lower(): value for name, value in firsts.items() if isinstance(value, str)}


def is_http_status(status: int) -> bool:
    """Whether a number is an HTTP status at all; what answers with another does not speak HTTP."""
    return 100 <= status <= 599


def is_error_status(status: int | None) -> bool:
    """Whether an HTTP status is anything but a success."""
    return status is not None and not 200 <= status < 300


def _decode(
    error: object,
    document: Mapping[str, Any],
    status: int | None,
    headers: Mapping[str, Any],
    *,
    in_stream: bool = False,
) -> GatewayError:
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {**document, "message": error}
    metadata = as_mapping(fields.get("metadata"))
    known = {**lowered(as_mapping(metadata.get("headers"))), **lowered(headers)}
    code = status if is_error_status(status) else _own_status(fields)
    names = _named_providers(document, fields, metadata)
    reached = reached_upstream(as_mapping(document.get("openrouter_metadata")))
    return GatewayError(
        status=code,
        message=_message(fields, code),
        error_type=_error_type(fields, metadata),
        provider_name=next(iter(names)) if len(names) == 1 else None,
        raw=_raw(metadata),
        availability=bounded(as_mapping(fields.get("availability"))),
        retry_after=_retry_after(known, fields, metadata),
        is_own_rate_limit=code == 429 and _is_own(known, metadata, names, reached),
        reached_upstream=reached,
        in_stream=in_stream,
    )


def _unreadable_error(
    status: int | None, headers: Mapping[str, Any], payload: bytes | str, reason: Unreadable
) -> GatewayError:
    known = lowered(headers)
    return GatewayError(
        status=status if is_error_status(status) else None,
        message=f"The answer {reason}.",
        raw=_safe(decode(payload[: RAW_CHARS * 4]), RAW_CHARS) or None,
        retry_after=_retry_after(known, {}, {}),
        is_own_rate_limit=status == 429,
    )


def _safe(text: str, limit: int) -> str:
    """Foreign words for a log or page: one clean line, without anything that looks like an API key."""
    return clean(_SECRET.sub("sk-…", text[: limit * 4]), limit)


def _message(fields: Mapping[str, Any], status: int | None) -> str:
    said = fields.get("message")
    if isinstance(said, str) and said.strip():
        return _safe(said, MESSAGE_CHARS)
    return (
        f"The gateway reported an error ({status}) without a message."
        if status
        else "The gateway reported an error without a message."
    )


def _own_status(fields: Mapping[str, Any]) -> int | None:
    for key in ("code", "http_status", "status"):
        number = as_int(fields.get(key))
        if number is not None and 400 <= number <= 599:
            return number
    return None


def _error_type(fields: Mapping[str, Any], metadata: Mapping[str, Any]) -> str | None:
    """The error's meaning: `error_type` first, then OpenAI's `type`, then a code in words.

    A moderation answer has no type, only the reasons and the flagged input; its meaning is a content policy.
    """
    for value in (metadata.get("error_type"), fields.get("error_type"), fields.get("type")):
        name = as_name(value)
        if name:
            return name.lower()
    if "flagged_input" in metadata:
        return "content_policy_violation"
    code = as_name(fields.get("code"))
    return code.lower() if code and not code.isdigit() else None


def _named_providers(
    document: Mapping[str, Any], fields: Mapping[str, Any], metadata: Mapping[str, Any]
) -> list[str]:
    """The providers of the first place that names any: display names, or slugs in the newer lists."""
    router = as_mapping(document.get("openrouter_metadata"))
    places: tuple[Iterable[object], ...] = (
        [metadata.get("provider_name")],
        [document.get("provider")],
        [as_mapping(entry).get("provider") for entry in as_list(metadata.get("previous_errors"))],
        as_list(as_mapping(fields.get("availability")).get("affected_providers")),
        [as_mapping(entry).get("provider") for entry in as_list(router.get("attempts"))],
    )
    for place in places:
        names = list(dict.fromkeys(name for name in map(as_name, place) if name))
        if names:
            return names
    return []


def _raw(metadata: Mapping[str, Any]) -> str | None:
    """The upstream's own words; without them what else the metadata says (reasons, patterns)."""
    raw = metadata.get("raw")
    if raw is None:
        known = {"provider_name", "error_type", "headers", "raw"}
        raw = {key: value for key, value in metadata.items() if key not in known}
    if not raw:
        return None
    return _safe(raw if isinstance(raw, str) else json.dumps(bounded(raw), ensure_ascii=False), RAW_CHARS)


def _retry_after(
    known: Mapping[str, str], fields: Mapping[str, Any], metadata: Mapping[str, Any]
) -> str | None:
    """Seconds or an HTTP date, as text; a rate limit's reset (epoch milliseconds) is written as a date."""
    availability = as_mapping(fields.get("availability"))
    for value in (known.get("retry-after"), availability.get("retry_after"), metadata.get("retry_after")):
        text = (
            as_name(value)
            if isinstance(value, str)
            else str(as_int(value))
            if as_int(value) is not None
            else None
        )
        if text:
            return text
    reset_ms = as_int(known.get("x-ratelimit-reset"))
    return formatdate(reset_ms / 1000, usegmt=True) if reset_ms and 10**12 < reset_ms < 10**13 else None


def _is_own(
    known: Mapping[str, str], metadata: Mapping[str, Any], names: list[str], reached: bool | None
) -> bool:
    """Whether a 429 is OpenRouter's own: by its headers, else when no provider is named or was reached."""
    if any(name in known for name in OWN_LIMIT_HEADERS):
        return True
    if "upstream" in (as_name(metadata.get("limit_source")) or ""):
        return False
    return not names and reached is not True


def reached_upstream(router: Mapping[str, Any]) -> bool | None:
    """Whether the router's metadata says that a provider was reached; None when it does not say."""
    attempt = as_int(router.get("attempt"))
    if attempt is not None:
        return attempt > 0
    available = as_list(as_mapping(router.get("endpoints")).get("available"))
    if as_list(router.get("attempts")) or any(
        as_mapping(entry).get("selected") is True for entry in available
    ):
        return True
    return None
