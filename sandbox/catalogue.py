"""The discovery answers: models, endpoints, providers, in the recorded shapes."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from sandbox.scenario import Endpoint, Model, Reasoning

_CREATED = 1_772_323_200
_ARCHITECTURE = {
    "tokenizer": "Other",
    "instruct_type": None,
    "modality": "text->text",
    "input_modalities": ["text"],
    "output_modalities": ["text"],
}
# The two answers were recorded with these keys in different orders.
_MODELS_ORDER = ("modality", "input_modalities", "output_modalities", "tokenizer", "instruct_type")


def per_token(price: float) -> str:
    """A price per million tokens as the catalogue writes it: USD per token, no exponent."""
    text = format(Decimal(str(price)) / 1_000_000, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def endpoints_body(model: Model, endpoints: Iterable[Endpoint], *, is_authenticated: bool) -> dict[str, Any]:
    """The answer of /models/{author}/{slug}/endpoints; latency and throughput only for those with a key."""
    return {
        "data": {
            "id": model.id,
            "name": model.name,
            "created": _CREATED,
            "description": f"{model.name} is a model of the sandbox gateway.",
            "architecture": _ARCHITECTURE,
            "endpoints": [_endpoint(model, endpoint, is_authenticated) for endpoint in endpoints],
        }
    }


def _endpoint(model: Model, endpoint: Endpoint, is_authenticated: bool) -> dict[str, Any]:
    return {
        "name": f"{endpoint.provider} | {model.permaslug}",
        "model_id": model.id,
        "model_name": model.name,
        "context_length": endpoint.context_length,
        "pricing": {
            "prompt": per_token(endpoint.price_prompt),
            "completion": per_token(endpoint.price_completion),
            "discount": 0,
        },
        "provider_name": endpoint.provider,
        "tag": endpoint.tag,
        "quantization": endpoint.quantization,
        "max_completion_tokens": endpoint.max_completion_tokens,
        "max_prompt_tokens": None,
        "supported_parameters": list(endpoint.supported_parameters),
        "status": endpoint.status,
        "uptime_last_30m": endpoint.uptime,
        "uptime_last_5m": endpoint.uptime,
        "uptime_last_1d": endpoint.uptime,
        "supports_implicit_caching": False,
        "supports_voice_cloning": False,
        "latency_last_30m": _latency(endpoint) if is_authenticated else None,
        "throughput_last_30m": _throughput(endpoint) if is_authenticated else None,
    }


def _latency(endpoint: Endpoint) -> dict[str, float]:
    """Milliseconds to the first token."""
    low, high = endpoint.ttft_ms
    return {"p50": (low + high) / 2, "p75": (low + 3 * high) / 4, "p90": (low + 9 * high) / 10, "p99": high}


def _throughput(endpoint: Endpoint) -> dict[str, float]:
    rate = endpoint.tokens_per_second
    return {"p50": rate, "p75": rate, "p90": rate, "p99": rate}


def models_body(models: Iterable[tuple[Model, list[Endpoint]]]) -> dict[str, Any]:
    """The answer of /models; a model without endpoints is still listed."""
    rows = [_model(model, endpoints) for model, endpoints in models]
    return {"data": rows, "total_count": len(rows), "links": {"next": None}}


def _model(model: Model, endpoints: list[Endpoint]) -> dict[str, Any]:
    cheapest = min(endpoints, key=lambda endpoint: endpoint.price_prompt, default=None)
    parameters = sorted({name for endpoint in endpoints for name in endpoint.supported_parameters})
    return {
        "id": model.id,
        "canonical_slug": model.permaslug,
        "hugging_face_id": "",
        "name": model.name,
        "created": _CREATED,
        "description": f"{model.name} is a model of the sandbox gateway.",
        "context_length": model.context_length,
        "architecture": {key: _ARCHITECTURE[key] for key in _MODELS_ORDER},
        "pricing": {
            "prompt": per_token(cheapest.price_prompt if cheapest else 0),
            "completion": per_token(cheapest.price_completion if cheapest else 0),
        },
        "top_provider": {
            "context_length": cheapest.context_length if cheapest else None,
            "max_completion_tokens": cheapest.max_completion_tokens if cheapest else None,
            "is_moderated": False,
        },
        "per_request_limits": None,
        "supported_parameters": parameters,
        "default_parameters": {},
        "supported_voices": None,
        "knowledge_cutoff": None,
        "expiration_date": None,
        "links": {"details": f"/api/v1/models/{model.permaslug}/endpoints"},
        "reasoning": {"mandatory": model.reasoning is Reasoning.MANDATORY},
    }


def providers_body(models: Iterable[Model]) -> dict[str, Any]:
    """The answer of /providers: one row for each base slug, whether it serves now or not."""
    names = {endpoint.base_slug: endpoint.provider for model in models for endpoint in model.endpoints}
    rows = [
        {
            "name": name,
            "slug": slug,
            "privacy_policy_url": f"https://{slug}.example/privacy",
            "terms_of_service_url": f"https://{slug}.example/terms",
            "status_page_url": None,
            "headquarters": None,
            "datacenters": None,
        }
        for slug, name in sorted(names.items())
    ]
    return {"data": rows}
