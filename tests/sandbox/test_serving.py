"""The sandbox on a real port: what a client's transport sees of resets, cuts, silence and streams."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sandbox.app import SandboxApp, create_app
from sandbox.loading import parse
from sandbox.serving import ScriptedServer, listen, server
from tests.sandbox.driver import MODEL, PROMPT, scenario

FAULTS: dict[str, list[dict[str, Any]]] = {
    "healthy": [],
    "reset": [{"kind": "connection_reset"}],
    "closed": [{"kind": "connection_reset", "how": "close"}],
    "cut": [{"kind": "cut_stream"}],
    "cut-reset": [{"kind": "cut_stream", "how": "reset"}],
    "cut-clean": [{"kind": "cut_stream", "how": "end"}],
    "silent": [{"kind": "never_answers"}],
    "stalled": [{"kind": "stalled"}],
    "late": [{"kind": "slow_first_token", "seconds": 0.6}],
    "bomb": [{"kind": "huge", "variant": "gzip_bomb", "megabytes": 2}],
    "endless": [{"kind": "huge", "variant": "endless"}],
}


class Running:
    """The application behind a real port, in a thread with its own loop."""

    def __init__(self) -> None:
        endpoints = [
            {"tag": tag, "ttft_ms": 20, "tokens_per_second": 1000, "faults": faults}
            for tag, faults in FAULTS.items()
        ]
        self.app: SandboxApp = create_app(parse(scenario(*endpoints, gateway={"keep_alive_s": 0.05})))
        self.server: ScriptedServer = server(self.app)
        sock = listen("127.0.0.1", 0)
        sock.listen()
        self.url = f"http://127.0.0.1:{sock.getsockname()[1]}/api/v1"
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve(sockets=[sock])))
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=10)
        assert not self.thread.is_alive()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    gateway = Running()
    yield gateway
    gateway.stop()


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    headers = {"Authorization": "Bearer sk-or-v1-test"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=5) as opened:
        yield opened


def body(tag: str, *, stream: bool = True) -> dict[str, Any]:
    messages = [{"role": "user", "content": PROMPT}]
    return {
        "model": MODEL,
        "messages": messages,
        "stream": stream,
        "provider": {"only": [tag], "allow_fallbacks": False},
    }


def test_a_healthy_answer_comes_over_one_kept_connection(client: httpx.Client) -> None:
    for stream in (True, False, True):
        reply = client.post("/chat/completions", json=body("healthy", stream=stream))
        assert reply.status_code == 200
    assert reply.text.endswith("data: [DONE]\n\n")


def test_a_stream_arrives_in_pieces(client: httpx.Client) -> None:
    with client.stream("POST", "/chat/completions", json=body("late")) as reply:
        began = time.monotonic()
        pieces = [(time.monotonic() - began, data) for data in reply.iter_raw()]
    text_at = next(at for at, data in pieces if b'"content":"' in data and b'"content":""' not in data)
    assert pieces[0][1].startswith(b": OPENROUTER PROCESSING")
    assert pieces[0][0] < 0.3
    assert 0.4 < text_at < 2
    assert len(pieces) > 10


@pytest.mark.parametrize(
    ("tag", "error"),
    [("reset", httpx.ReadError), ("closed", httpx.RemoteProtocolError)],
    ids=["reset", "close"],
)
def test_a_dropped_connection_is_a_transport_error(
    client: httpx.Client, tag: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.post("/chat/completions", json=body(tag))
    assert client.post("/chat/completions", json=body("healthy")).status_code == 200


@pytest.mark.parametrize(
    ("tag", "error"),
    [("cut", httpx.RemoteProtocolError), ("cut-reset", httpx.ReadError)],
    ids=["close", "reset"],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_answer_is_a_transport_error_after_some_text(
    client: httpx.Client, tag: str, error: type[Exception], stream: bool
) -> None:
    received = b""
    with client.stream("POST", "/chat/completions", json=body(tag, stream=stream)) as reply:
        assert reply.status_code == 200
        try:
            for data in reply.iter_raw():
                received += data
        except httpx.TransportError as raised:
            seen: Exception | None = raised
        else:
            seen = None
    assert isinstance(seen, error)
    if tag == "cut":
        assert len(received) > 200


def test_a_cleanly_ended_cut_is_no_transport_error(client: httpx.Client) -> None:
    reply = client.post("/chat/completions", json=body("cut-clean"))
    assert '"finish_reason":"stop"' not in reply.text
    assert "[DONE]" not in reply.text


def test_silence_is_a_read_timeout(client: httpx.Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.post("/chat/completions", json=body("silent"), timeout=0.3)


def test_keep_alives_of_a_stalled_answer_outlast_a_read_timeout(
    client: httpx.Client, running: Running
) -> None:
    began = time.monotonic()
    with client.stream("POST", "/chat/completions", json=body("stalled"), timeout=0.3) as reply:
        for _ in reply.iter_raw():
            if time.monotonic() - began > 1:
                break
    assert time.monotonic() - began < 3
    row = _until_nothing_in_flight(running, "stalled")
    assert row.cancelled == 1


def _until_nothing_in_flight(running: Running, tag: str) -> Any:
    """The endpoint's counter once the server has noticed that the caller left."""
    count = running.app.state.count(MODEL, tag)
    deadline = time.monotonic() + 5
    while count.in_flight and time.monotonic() < deadline:
        time.sleep(0.02)
    assert count.in_flight == 0
    return count


def test_a_bomb_unpacks_at_the_client(client: httpx.Client) -> None:
    reply = client.post("/chat/completions", json=body("bomb"))
    assert len(reply.content) > 2_000_000
    assert int(reply.num_bytes_downloaded) < 20_000


def test_an_endless_answer_leaves_the_server_responsive(client: httpx.Client, running: Running) -> None:
    with client.stream("POST", "/chat/completions", json=body("endless")) as reply:
        size = 0
        for data in reply.iter_raw():
            size += len(data)
            if size > 3_000_000:
                break
        other = httpx.get(f"{running.url}/models", timeout=2)
        assert other.status_code == 200
    _until_nothing_in_flight(running, "endless")


def test_many_streams_at_once_keep_their_times(running: Running) -> None:
    async def first_text_s(opened: httpx.AsyncClient) -> float:
        began = time.monotonic()
        async with opened.stream("POST", "/chat/completions", json=body("late")) as reply:
            async for line in reply.aiter_lines():
                if '"content":"' in line and '"content":""' not in line:
                    return time.monotonic() - began
        raise AssertionError("no text")

    async def all_at_once() -> list[float]:
        headers = {"Authorization": "Bearer sk-or-v1-test"}
        async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=10) as opened:
            return list(await asyncio.gather(*(first_text_s(opened) for _ in range(20))))

    assert all(0.55 < at_s < 3 for at_s in asyncio.run(all_at_once()))


def test_stopping_cuts_off_what_hangs() -> None:
    gateway = Running()
    failures: list[Exception] = []

    def ask() -> None:
        try:
            httpx.post(
                f"{gateway.url}/chat/completions",
                json=body("silent"),
                headers={"Authorization": "Bearer k"},
                timeout=20,
            )
        except httpx.HTTPError as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    count = gateway.app.state.count(MODEL, "silent")
    deadline = time.monotonic() + 5
    while not count.in_flight and time.monotonic() < deadline:
        time.sleep(0.02)
    began = time.monotonic()
    gateway.stop()
    asking.join(timeout=5)
    assert time.monotonic() - began < 4
    assert len(failures) == 1
