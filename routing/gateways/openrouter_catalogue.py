"""OpenRouter's catalogue answers: which endpoints serve a model, providers, models, the key.

Permissive per field (a bad price is None, a bad row is left out), strict on what matters: an answer that is
unreadable, of another shape, too large or empty raises `DiscoveryUnreadable` with one sentence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from routing.domain.matching import MAX_SLUG_LENGTH, base_slug, normalise
from routing.gateways.base import (
    DiscoveredEndpoint,
    Discovery,
    DiscoveryUnreadable,
    KeyState,
    ModelFacts,
    ModelNotFound,
)
from routing.gateways.hostile_json import (
    Unreadable,
    as_decimal,
    as_int,
    as_list,
    as_mapping,
    as_name,
    as_names,
    as_price,
    load_object,
)
from routing.gateways.openrouter_errors import error_in

MAX_ENDPOINT_ROWS = 2_000
"""Rows read of one model's endpoint list; no model has had more than some dozens."""
MAX_CATALOGUE_ROWS = 20_000
"""Rows read of the lists of providers and models, which had about 100 and 500."""
MAX_STATUS = 2**31 - 1
"""Largest status number read, of either sign: its column has 32 bits."""

_Value = TypeVar("_Value")


def read_discovery(payload: bytes | str, *, model: str) -> Discovery:
    """The endpoints of `model` in a discovery answer; two rows with one tag are one endpoint (rule C1).

    Raises `ModelNotFound` when the answer says so, else `DiscoveryUnreadable` for what cannot be believed.
    """
    document = _document(payload, of="discovery answer", not_found=ModelNotFound)
    data = document.get("data")
    rows = as_mapping(data).get("endpoints")
    if not isinstance(data, dict) or not isinstance(rows, list):
        raise DiscoveryUnreadable("The discovery answer has no list of endpoints.")
    endpoints = _endpoints(_bounded_rows(rows, MAX_ENDPOINT_ROWS, of="discovery answer"))
    if not endpoints:
        raise DiscoveryUnreadable(
            "The discovery answer lists no endpoint."
            if not rows
            else "No row of the discovery answer is readable."
        )
    modalities = as_names(as_mapping(data.get("architecture")).get("input_modalities"))
    return Discovery(model=model, endpoints=endpoints, input_modalities=modalities)


def read_providers(payload: bytes | str) -> dict[str, str]:
    """Display names by base slug. Raises `DiscoveryUnreadable` when the list is unreadable or empty."""
    names: dict[str, str] = {}
    for row in _rows(payload, of="list of providers"):
        slug, name = _tag(row.get("slug")), as_name(row.get("name"))
        if slug and name:
            names.setdefault(slug, name)
    if not names:
        raise DiscoveryUnreadable("The list of providers is empty.")
    return names


def read_models(payload: bytes | str) -> dict[str, ModelFacts]:
    """What a probe depends on, by model name, of every model listed. Raises `DiscoveryUnreadable`."""
    facts = {
        slug: _model_facts(slug, row)
        for row in _rows(payload, of="list of models")
        if (slug := as_name(row.get("id")))
    }
    if not facts:
        raise DiscoveryUnreadable("The list of models is empty.")
    return facts


def read_model_facts(payload: bytes | str, *, model: str) -> ModelFacts:
    """The facts of one model out of the list of models. Raises `ModelNotFound` and `DiscoveryUnreadable`."""
    return facts_of(read_models(payload), model)


def facts_of(models: Mapping[str, ModelFacts], model: str) -> ModelFacts:
    """The facts of `model`; a variant without a row of its own (`:nitro`) has those of its base model."""
    facts = models.get(model) or models.get(model.partition(":")[0])
    if facts is None:
        raise ModelNotFound(f"The gateway lists no model {model}.")
    return replace(facts, slug=model)


def read_key(payload: bytes | str) -> KeyState:
    """The account behind the key. Raises `DiscoveryUnreadable` when the answer is no key answer."""
    data = _document(payload, of="key answer").get("data")
    if not isinstance(data, dict):
        raise DiscoveryUnreadable("The key answer has no data.")
    return KeyState(
        label=as_name(data.get("label")) or "",
        limit_remaining_usd=as_decimal(data.get("limit_remaining")),
        usage_daily_usd=as_decimal(data.get("usage_daily")),
        usage_monthly_usd=as_decimal(data.get("usage_monthly")),
        expires_at=_instant(data.get("expires_at")),
    )


def _document(
    payload: bytes | str, *, of: str, not_found: type[Exception] = DiscoveryUnreadable
) -> dict[str, Any]:
    try:
        document = load_object(payload)
    except Unreadable as reason:
        raise DiscoveryUnreadable(f"The {of} {reason}.") from None
    error = error_in(document, status=None, headers={})
    if error is None:
        return document
    refusal = not_found if error.status == 404 else DiscoveryUnreadable
    raise refusal(f"The gateway answered with an error instead of a {of}: {error.message}")


def _rows(payload: bytes | str, *, of: str) -> Iterator[Mapping[str, Any]]:
    data = _document(payload, of=of).get("data")
    if not isinstance(data, list):
        raise DiscoveryUnreadable(f"The {of} has no list.")
    return (row for row in _bounded_rows(data, MAX_CATALOGUE_ROWS, of=of) if isinstance(row, dict))


def _bounded_rows(rows: list[Any], limit: int, *, of: str) -> list[Any]:
    if len(rows) > limit:
        raise DiscoveryUnreadable(f"The {of} has {len(rows)} rows; more than {limit} are not believed.")
    return rows


def _endpoints(rows: Sequence[object]) -> tuple[DiscoveredEndpoint, ...]:
    found: dict[str, DiscoveredEndpoint] = {}
    for row in rows:
        endpoint = _endpoint(as_mapping(row))
        if endpoint is not None:
            known = found.get(endpoint.tag)
            found[endpoint.tag] = endpoint if known is None else _merged(known, endpoint)
    return tuple(found.values())


def _endpoint(row: Mapping[str, Any]) -> DiscoveredEndpoint | None:
    tag = _tag(row.get("tag"))
    if tag is None:
        return None
    pricing = as_mapping(row.get("pricing"))
    return DiscoveredEndpoint(
        tag=tag,
        provider_slug=base_slug(tag),
        provider_name=as_name(row.get("provider_name")) or base_slug(tag),
        quantization=as_name(row.get("quantization")),
        context_length=_count(row.get("context_length")),
        max_completion_tokens=_count(row.get("max_completion_tokens")),
        supported_parameters=as_names(row.get("supported_parameters")),
        prompt_price=as_price(pricing.get("prompt")),
        completion_price=as_price(pricing.get("completion")),
        request_price=as_price(pricing.get("request")),
        status=_status(row.get("status")),
    )


def _merged(first: DiscoveredEndpoint, second: DiscoveredEndpoint) -> DiscoveredEndpoint:
    """Two rows of one tag as one: the first's values, gaps filled from the second, only what both can do.

    A request pinned to the tag may reach either, so a parameter that one of them lacks is not relied on.
    """
    return replace(
        first,
        quantization=_either(first.quantization, second.quantization),
        context_length=_smaller(first.context_length, second.context_length),
        max_completion_tokens=_smaller(first.max_completion_tokens, second.max_completion_tokens),
        supported_parameters=first.supported_parameters & second.supported_parameters,
        prompt_price=_either(first.prompt_price, second.prompt_price),
        completion_price=_either(first.completion_price, second.completion_price),
        request_price=_either(first.request_price, second.request_price),
        status=_either(first.status, second.status),
    )


def _either(first: _Value | None, second: _Value | None) -> _Value | None:
    return second if first is None else first


def _smaller(first: int | None, second: int | None) -> int | None:
    return min((value for value in (first, second) if value is not None), default=None)


def _tag(value: object) -> str | None:
    try:
        tag = normalise(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return tag if tag is not None and len(base_slug(tag)) <= MAX_SLUG_LENGTH else None


def _status(value: object) -> int | None:
    number = as_int(value)
    return number if number is not None and abs(number) <= MAX_STATUS else None


def _count(value: object) -> int | None:
    number = as_int(value)
    return number if number is not None and number > 0 else None


def _model_facts(slug: str, row: Mapping[str, Any]) -> ModelFacts:
    reasoning = as_mapping(row.get("reasoning"))
    efforts = [name for name in map(as_name, as_list(reasoning.get("supported_efforts"))) if name]
    return ModelFacts(
        slug=slug,
        reasoning_mandatory=reasoning.get("mandatory") is True,
        reasoning_efforts=tuple(efforts),
        default_reasoning=reasoning.get("default_enabled") is True,
    )


def _instant(value: object) -> datetime | None:
    """An ISO 8601 time; one without a zone is UTC. None when it is neither."""
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return instant.replace(tzinfo=UTC) if instant is not None and instant.tzinfo is None else instant
