"""The whole recordings, where they lie beside the project, go through the same readers as the copies here."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from routing.domain.matching import base_slug, normalise
from routing.gateways import openrouter_wire as wire
from routing.gateways.base import TimedLine

RECORDINGS = Path(__file__).parents[4] / "shared" / "samples" / "openrouter"


def check_stream(name: str, text: str) -> None:
    exchange = wire.exchange_from_events(
        TimedLine(at_ms=float(n), line=line) for n, line in enumerate(text.split("\n"))
    )
    assert exchange.text or exchange.tool_calls or exchange.error
    assert exchange.malformed_events == 0
    assert exchange.failure is None
    assert exchange.served_by
    assert exchange.generation_id
    assert bool(exchange.error) is ("error" in name)


def check_body(name: str, text: str) -> None:
    exchange = wire.exchange_from_body(200, {}, text, ended_ms=1.0)
    assert exchange.text or exchange.tool_calls
    assert exchange.malformed_events == 0
    assert bool(exchange.error) is ("error" in name)


def check_error(name: str, text: str) -> None:
    found = re.match(r"error-(\d+)-", name)
    assert found is not None
    status = int(found[1])
    error = wire.read_error(status, {}, text)
    assert error == wire.read_error(None, {}, text), "the body says the same status as the answer's head"
    assert error.status == status
    assert error.message in json.loads(text)["error"]["message"]


def check_discovery(_name: str, text: str) -> None:
    found = wire.read_discovery(text, model="a/b")
    rows = json.loads(text)["data"]["endpoints"]
    assert [endpoint.tag for endpoint in found.endpoints] == [row["tag"] for row in rows]
    assert all(
        str(endpoint.prompt_price) == row["pricing"]["prompt"] or endpoint.prompt_price is not None
        for endpoint, row in zip(found.endpoints, rows, strict=True)
    )


def check_providers(_name: str, text: str) -> None:
    assert wire.read_providers(text) == {row["slug"]: row["name"] for row in json.loads(text)["data"]}


def check_models(_name: str, text: str) -> None:
    assert list(wire.read_models(text)) == [row["id"] for row in json.loads(text)["data"]]


def check_key(_name: str, text: str) -> None:
    assert wire.read_key(text).limit_remaining_usd is not None


def check_slugs(_name: str, text: str) -> None:
    assert all(normalise(slug) == slug == base_slug(slug) for slug in json.loads(text))


def check_headers(_name: str, text: str) -> None:
    body = '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'
    exchange = wire.exchange_from_body(200, json.loads(text), body)
    assert exchange.generation_id == next(iter(json.loads(text).get("X-Generation-Id", [])), None)


def check_display_names(_name: str, text: str) -> None:
    rows = [{"name": name, "slug": f"slug-{number}"} for number, name in enumerate(json.loads(text))]
    assert list(wire.read_providers(json.dumps({"data": rows})).values()) == json.loads(text)


CHECKS: list[tuple[str, Callable[[str, str], None]]] = [
    (r"stream-.*\.sse", check_stream),
    (r"(chat|choice)-.*", check_body),
    (r"error-.*", check_error),
    (r"endpoints-.*", check_discovery),
    (r"providers-.*", check_providers),
    (r"models-excerpt.*", check_models),
    (r"key-.*", check_key),
    (r"provider-slugs-.*", check_slugs),
    (r"provider-display-names-.*", check_display_names),
    (r"(headers|models-response-headers)-.*", check_headers),
]
NOT_READ = {"generation-openapi-example-2026-08-22.json": "the adapter asks for no generation record"}


def recordings() -> list[str]:
    return sorted(path.name for path in RECORDINGS.iterdir()) if RECORDINGS.is_dir() else []


@pytest.mark.skipif(
    not recordings(), reason="The recordings are not beside the project (../shared/samples/openrouter)."
)
@pytest.mark.parametrize("name", recordings() or ["none"])
def test_every_recording_goes_through_the_adapter(name: str) -> None:
    checks = [check for pattern, check in CHECKS if re.fullmatch(pattern, name)]
    assert len(checks) == (0 if name in NOT_READ else 1), "each recording has exactly one reader"
    text = (RECORDINGS / name).read_bytes().decode()
    for check in checks:
        check(name, text)
