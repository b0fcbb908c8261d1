"""Which endpoints may serve a request, in which order: the gateway's routing rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random

from sandbox import failures
from sandbox.chat_request import ChatRequest
from sandbox.preferences import Preferences
from sandbox.scenario import SERVICE_TIERS, Endpoint, Model, Reasoning

# A precision covers its variants.
_COVERS = {"fp4": {"fp4", "mxfp4", "nvfp4"}, "fp8": {"fp8", "mxfp8"}}
_PARAMETER_NAMES = {"max_completion_tokens": "max_tokens"}
_UNSUPPORTED = "No endpoints found that can handle the requested parameters."


def matches(entry: str, tag: str) -> bool:
    """Whether a list entry means the endpoint: a full tag itself, a base slug every tag but service tiers."""
    if entry == tag:
        return True
    base, _, variant = tag.partition("/")
    return entry == base and variant not in SERVICE_TIERS


def matches_any(entries: Iterable[str], tag: str) -> bool:
    """Whether one of the entries means the endpoint."""
    return any(matches(entry, tag) for entry in entries)


def select(
    model: Model, serving: Sequence[Endpoint], request: ChatRequest, *, sort: str | None, rng: Random
) -> list[Endpoint]:
    """The endpoints of `serving` that may answer `request`, best first.

    `sort` is what a model suffix such as `:nitro` stands for, or None. Raises GatewayRefusal (404, or 400 for a
    prompt beyond every context) when nothing is left.
    """
    if not serving:
        raise failures.refusal(404, f"No endpoints found for {model.id}.")
    if model.reasoning is Reasoning.MANDATORY and request.reasoning_effort == "none":
        raise failures.bad_request("Reasoning is mandatory for this endpoint and cannot be disabled.")
    allowed = _allowed(model, serving, request)
    able = _able(model, allowed, request)
    ordered = _ordered(able, request, sort=sort or request.preferences.sort, rng=rng)
    if not ordered:
        raise failures.only_miss(model.id, _slugs(serving), request.preferences.order)
    return ordered


def _slugs(endpoints: Iterable[Endpoint]) -> list[str]:
    return list(dict.fromkeys(endpoint.base_slug for endpoint in endpoints))


def _allowed(model: Model, serving: Sequence[Endpoint], request: ChatRequest) -> list[Endpoint]:
    """What `only` and `ignore` leave; service tiers stay only when they are named or asked for."""
    preferences = request.preferences
    allowed = list(serving)
    if preferences.only is not None:
        allowed = [endpoint for endpoint in allowed if matches_any(preferences.only, endpoint.tag)]
        if not allowed:
            raise failures.only_miss(model.id, _slugs(serving), preferences.only)
    else:
        allowed = [endpoint for endpoint in allowed if _is_in_tier(endpoint, request)]
    allowed = [endpoint for endpoint in allowed if not matches_any(preferences.ignore, endpoint.tag)]
    if not allowed:
        raise failures.all_ignored()
    return allowed


def _is_in_tier(endpoint: Endpoint, request: ChatRequest) -> bool:
    """Ordinary endpoints always; a service tier if `service_tier` asks for it or `order` names its tag."""
    if not endpoint.is_service_tier:
        return True
    return endpoint.tag.endswith(f"/{request.service_tier}") or endpoint.tag in request.preferences.order


def _able(model: Model, allowed: list[Endpoint], request: ChatRequest) -> list[Endpoint]:
    """What the request's needs leave, with the refusal that names the need that left nothing."""
    for keeps, refused in (
        *_preference_needs(model, request),
        *_capability_needs(request),
        *_size_needs(request),
    ):
        left = [endpoint for endpoint in allowed if keeps(endpoint)]
        if not left:
            raise refused(allowed)
        allowed = left
    if request.wants_json or request.schema is not None:
        # A soft filter: endpoints that can are preferred, but none is required to.
        able = [endpoint for endpoint in allowed if _can_answer_json(endpoint, request)]
        allowed = able or allowed
    return allowed


_Need = tuple[Callable[[Endpoint], bool], Callable[[list[Endpoint]], failures.GatewayRefusal]]


def _preference_needs(model: Model, request: ChatRequest) -> Iterator[_Need]:
    """The filters of the `provider` object; the documentation gives their `availability`, not their sentence."""
    preferences = request.preferences

    def constraint(what: str, field: str) -> Callable[[list[Endpoint]], failures.GatewayRefusal]:
        message = f"No endpoints found matching your {what}."
        return lambda lost: failures.constraint_filtered(
            message, field=field, model=model.id, slugs=_slugs(lost)
        )

    if preferences.quantizations:
        wanted = {name for entry in preferences.quantizations for name in _COVERS.get(entry, {entry})}
        refused = constraint("quantization preference", "quantization")
        yield lambda endpoint: (endpoint.quantization or "unknown") in wanted, refused
    if preferences.max_price:
        yield lambda endpoint: _is_affordable(endpoint, preferences), constraint("max price", "max_price")
    if preferences.deny_training or preferences.zdr:
        field = "data_policy:zdr" if preferences.zdr else "data_policy:training"
        yield lambda endpoint: _keeps_data_policy(endpoint, preferences), constraint("data policy", field)


def _capability_needs(request: ChatRequest) -> Iterator[_Need]:
    """The filters on what an endpoint supports."""
    if request.preferences.require_parameters:
        asked = {_PARAMETER_NAMES.get(name, name) for name in request.parameters}
        if request.schema is not None:
            asked.add("structured_outputs")
        yield lambda endpoint: _supports(endpoint, asked), lambda _: failures.refusal(404, _UNSUPPORTED)
    if request.tools:
        message = f'No endpoints found that support tool use. Try disabling "{request.tools[0]["name"]}".'
        yield (
            lambda endpoint: "tools" in endpoint.supported_parameters,
            lambda _: failures.refusal(404, message),
        )


def _size_needs(request: ChatRequest) -> Iterator[_Need]:
    """The filters on the answer's and the prompt's size."""
    max_tokens, prompt_tokens = request.max_tokens, request.prompt_tokens
    if max_tokens is not None:
        yield (
            lambda endpoint: max_tokens <= _most_tokens(endpoint),
            lambda _: failures.refusal(404, _UNSUPPORTED),
        )
    yield (
        lambda endpoint: prompt_tokens <= endpoint.context_length,
        lambda lost: failures.too_long(
            max(endpoint.context_length for endpoint in lost), prompt_tokens, previous=len(lost)
        ),
    )


def _most_tokens(endpoint: Endpoint) -> int:
    return endpoint.max_completion_tokens or endpoint.context_length


def _is_affordable(endpoint: Endpoint, preferences: Preferences) -> bool:
    prices = {"prompt": endpoint.price_prompt, "completion": endpoint.price_completion}
    return all(prices[key] <= limit for key, limit in preferences.max_price.items() if key in prices)


def _keeps_data_policy(endpoint: Endpoint, preferences: Preferences) -> bool:
    trains = preferences.deny_training and endpoint.trains_on_prompts
    return not trains and (endpoint.zdr or not preferences.zdr)


def _supports(endpoint: Endpoint, asked: set[str]) -> bool:
    return asked <= {_PARAMETER_NAMES.get(name, name) for name in endpoint.supported_parameters}


def _can_answer_json(endpoint: Endpoint, request: ChatRequest) -> bool:
    needed = "structured_outputs" if request.schema is not None else "response_format"
    return needed in endpoint.supported_parameters


def _ordered(able: list[Endpoint], request: ChatRequest, *, sort: str | None, rng: Random) -> list[Endpoint]:
    """`order` first, then the sort, else a draw weighted by the inverse square of the price."""
    preferences = request.preferences
    if preferences.order:
        by_tag = {
            endpoint.tag: endpoint
            for entry in preferences.order
            for endpoint in able
            if matches(entry, endpoint.tag)
        }
        named = list(by_tag.values())
        if not preferences.allow_fallbacks:
            return named
        return named + _sorted([endpoint for endpoint in able if endpoint.tag not in by_tag], sort, rng)
    ordered = _sorted(able, sort, rng)
    ordered.sort(key=lambda endpoint: _is_deprioritised(endpoint, preferences))
    return ordered if preferences.allow_fallbacks else ordered[:1]


def _sorted(endpoints: list[Endpoint], sort: str | None, rng: Random) -> list[Endpoint]:
    match sort:
        case "price":
            return sorted(endpoints, key=_price)
        case "throughput":
            return sorted(endpoints, key=lambda endpoint: -endpoint.tokens_per_second)
        case "latency" | "exacto":
            return sorted(endpoints, key=lambda endpoint: endpoint.ttft_ms[0] + endpoint.ttft_ms[1])
        case _:
            return _drawn(endpoints, rng)


def _price(endpoint: Endpoint) -> float:
    """A blend of both prices, so that neither alone decides."""
    return endpoint.price_prompt + endpoint.price_completion


def _drawn(endpoints: list[Endpoint], rng: Random) -> list[Endpoint]:
    """A random order in which the chance to come first is the inverse square of the price.

    Exponential keys give a weighted draw without replacement in one pass.
    """
    keyed = [(rng.expovariate(1.0 / max(_price(endpoint), 1e-6) ** 2), endpoint) for endpoint in endpoints]
    return [endpoint for _, endpoint in sorted(keyed, key=lambda pair: pair[0])]


def _is_deprioritised(endpoint: Endpoint, preferences: Preferences) -> bool:
    slow = preferences.min_throughput is not None and endpoint.tokens_per_second < preferences.min_throughput
    median_s = sum(endpoint.ttft_ms) / 2 / 1000
    late = preferences.max_latency_s is not None and median_s > preferences.max_latency_s
    return slow or late
