"""A sandbox gateway on a port of its own, for tests that run whole rounds."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from canary import round_runner
from canary.probes import latency
from sandbox import loading
from sandbox.app import create_app
from sandbox.serving import listen, server

# Five healthy hosts besides those a test adds: room for suspensions above the floor.
HEALTHY = ("north/fp8", "south", "east/bf16", "west/fp8", "centre")
MODEL = "acme/prose"


class SandboxGateway:
    """A running sandbox. `faults` replaces an endpoint's; `served` counts requests by endpoint and kind."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._control = url.removesuffix("/api/v1") + "/sandbox"

    def faults(self, tag: str, *faults: dict[str, Any]) -> None:
        """Replace the faults of one endpoint of `MODEL`."""
        self._post({"model": MODEL, "tag": tag, "faults": list(faults)})

    def gateway(self, *faults: dict[str, Any]) -> None:
        """Replace the gateway's own faults."""
        self._post({"gateway": list(faults)})

    def keys(self, *keys: dict[str, Any]) -> None:
        """Replace the known keys and their states."""
        self._post({"keys": list(keys)})

    def served(self) -> list[dict[str, Any]]:
        """One line for each request that was served."""
        return list(httpx.get(f"{self._control}/log").json()["data"])

    def _post(self, body: dict[str, Any]) -> None:
        httpx.post(f"{self._control}/faults", json=body).raise_for_status()


def scenario(*tags: str) -> dict[str, Any]:
    """A scenario with one model and these endpoints, all healthy and quick."""
    return {
        "gateway": {"seed": 3, "keep_alive_s": 0.2},
        "endpoint_defaults": {"ttft_ms": [1, 5], "tokens_per_second": 20000},
        "models": [
            {
                "id": MODEL,
                "name": "Acme: Prose",
                "endpoints": [
                    {
                        "tag": tag,
                        "provider": f"{tag.partition('/')[0].capitalize()} AI",
                        "price_prompt": 1.0,
                        "price_completion": 2.0,
                    }
                    for tag in tags
                ],
            }
        ],
    }


@pytest.fixture
def sandbox(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxGateway]:
    """A sandbox with `HEALTHY` and `faulty/fp4`; the settings point to it.

    It shares its process with the prober and a busy machine with other tests, so a late event loop is no news.
    """
    monkeypatch.setattr(latency, "LOOP_LAG_LIMIT_MS", 60_000.0)
    app = create_app(loading.parse(scenario(*HEALTHY, "faulty/fp4")))
    sock = listen("127.0.0.1", 0)
    running = server(app)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[sock])), daemon=True)
    sock.listen(64)
    thread.start()
    settings.OPENROUTER_BASE_URL = f"http://127.0.0.1:{sock.getsockname()[1]}/api/v1"
    settings.OPENROUTER_API_KEY = "sk-test"
    settings.ROUND_SPREAD_S = 0
    round_runner._facts_seen.clear()
    yield SandboxGateway(settings.OPENROUTER_BASE_URL)
    running.should_exit = True
    thread.join(timeout=10)
