"""Discovery, providers, model facts and key check over HTTP: which fault is which."""

import asyncio
import gzip
import json
from collections.abc import Callable

import httpx
import pytest

from routing.gateways import openrouter
from routing.gateways.base import (
    DiscoveryUnreadable,
    GatewayUnavailable,
    KeyRefused,
    ModelNotFound,
)
from routing.gateways.openrouter import OpenRouter

pytestmark = pytest.mark.anyio

KEY = "key-of-a-test"
Sample = Callable[[str], str]
ENDPOINTS = json.dumps({"data": {"endpoints": [{"tag": "deepinfra/fp8", "provider_name": "DeepInfra"}]}})


def gateway(*answers: httpx.Response | Exception, seen: list[httpx.Request] | None = None) -> OpenRouter:
    """A client whose requests get `answers` one after the other."""
    waiting = iter(answers)

    async def handler(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        answer = next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return OpenRouter(
        base_url="http://gateway.test/api/v1/", api_key=KEY, transport=httpx.MockTransport(handler)
    )


def error(status: int, message: str = "m") -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": status, "message": message}})


async def test_discovery_asks_for_the_models_own_list() -> None:
    seen: list[httpx.Request] = []
    found = await gateway(httpx.Response(200, text=ENDPOINTS), seen=seen).discover("z-ai/glm-5.2:free")
    assert [endpoint.tag for endpoint in found.endpoints] == ["deepinfra/fp8"]
    assert found.model == "z-ai/glm-5.2:free"
    assert str(seen[0].url) == "http://gateway.test/api/v1/models/z-ai/glm-5.2:free/endpoints"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "model", ["", "gpt-4", "a/b/c", "../../key", "a/b?x=1", "a/b c", "a/b\n", "ä/b", "a/" + "b" * 10 + "#"]
)
async def test_a_bad_model_name_is_refused_before_anything_is_sent(model: str) -> None:
    seen: list[httpx.Request] = []
    with pytest.raises(ModelNotFound, match=r"^[^\n]+ is not a model name; one looks like author/model\.$"):
        await gateway(seen=seen).discover(model)
    assert seen == []


async def test_a_readable_not_found_is_a_model_that_is_gone() -> None:
    with pytest.raises(ModelNotFound, match="knows no model a/b: No such model"):
        await gateway(error(404, "No such model")).discover("a/b")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            httpx.Response(404, text="<html>nginx</html>"), id="a page with 404 is no model that is gone"
        ),
        pytest.param(httpx.Response(200, text="<html>"), id="a page"),
        pytest.param(httpx.Response(200, text='{"data":{"endpoints":[]}}'), id="an empty list"),
        pytest.param(error(429), id="429"),
        pytest.param(error(500), id="500"),
        pytest.param(httpx.Response(302, headers={"location": "http://elsewhere.test"}), id="a redirect"),
        pytest.param(
            httpx.Response(403, text="<html>challenge</html>"), id="a page with 403 says nothing of the key"
        ),
        pytest.param(httpx.ConnectError("refused"), id="no connection"),
        pytest.param(httpx.ReadError(""), id="a broken transfer"),
        pytest.param(
            httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"x")),
            id="no gzip",
        ),
        pytest.param(
            httpx.Response(
                200,
                headers={"content-encoding": "gzip"},
                stream=httpx.ByteStream(gzip.compress(ENDPOINTS.encode())[:40]),
            ),
            id="half a gzip",
        ),
    ],
)
async def test_everything_else_leaves_discovery_unreadable_with_one_sentence(
    answer: httpx.Response | Exception,
) -> None:
    with pytest.raises(DiscoveryUnreadable) as refusal:
        await gateway(answer).discover("a/b")
    assert str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_refused_key_is_ours(status: int) -> None:
    def refusing() -> OpenRouter:
        return gateway(error(status, "User not found"))

    asked = (
        refusing().discover("a/b"),
        refusing().check_key(),
        refusing().providers(),
        refusing().model_facts("a/b"),
    )
    for asking in asked:
        with pytest.raises(KeyRefused, match=rf"refused the key \({status}\): User not found"):
            await asking


async def test_a_gateway_that_repeats_our_key_does_not_get_it_into_a_message() -> None:
    with pytest.raises(KeyRefused) as refusal:
        await gateway(error(401, f"Bad key {KEY}")).check_key()
    assert KEY not in str(refusal.value)


async def test_a_compressed_list_is_read() -> None:
    packed = httpx.Response(
        200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(gzip.compress(ENDPOINTS.encode()))
    )
    assert len((await gateway(packed).discover("a/b")).endpoints) == 1


@pytest.mark.parametrize("packed", [True, False], ids=["compressed", "plain"])
async def test_a_list_beyond_the_size_limit_is_refused(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(ENDPOINTS)

    def answer() -> httpx.Response:
        body = gzip.compress(ENDPOINTS.encode()) if packed else ENDPOINTS.encode()
        return httpx.Response(
            200, headers={"content-encoding": "gzip"} if packed else {}, stream=httpx.ByteStream(body)
        )

    monkeypatch.setattr(openrouter, "MAX_CATALOGUE_BYTES", size)
    assert (await gateway(answer()).discover("a/b")).endpoints
    monkeypatch.setattr(openrouter, "MAX_CATALOGUE_BYTES", size - 1)
    with pytest.raises(DiscoveryUnreadable, match=f"longer than {size - 1} bytes"):
        await gateway(answer()).discover("a/b")


async def test_a_list_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(5)
        raise AssertionError

    monkeypatch.setattr(openrouter, "CATALOGUE_LIMIT_S", 0.1)
    client = OpenRouter(base_url="http://gateway.test", api_key=KEY, transport=httpx.MockTransport(handler))
    with pytest.raises(DiscoveryUnreadable, match=r"did not answer within 0.1 s"):
        await client.discover("a/b")


async def test_providers_are_read_and_their_faults_are_the_gateways(sample: Sample) -> None:
    names = await gateway(
        httpx.Response(200, text=sample("providers-name-slug-pairs-measured.json"))
    ).providers()
    assert names["z-ai"] == "Z.AI"
    with pytest.raises(GatewayUnavailable, match="answered 500: m"):
        await gateway(error(500)).providers()


async def test_the_list_of_models_is_read_once_for_all_who_ask_and_again_when_it_is_old(
    sample: Sample,
) -> None:
    seen: list[httpx.Request] = []
    text = sample("models-excerpt-2026-08-04.json")

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, text=text)

    now = [0.0]
    client = OpenRouter(
        base_url="http://gateway.test",
        api_key=KEY,
        transport=httpx.MockTransport(handler),
        clock=lambda: now[0],
    )
    await asyncio.gather(*(client.model_facts("anthropic/claude-sonnet-4") for _ in range(5)))
    with pytest.raises(ModelNotFound):
        await client.model_facts("a/nothing")
    now[0] = openrouter.MODELS_FRESH_S - 1
    await client.model_facts("openai/gpt-4.1-mini")
    assert len(seen) == 1
    now[0] = openrouter.MODELS_FRESH_S
    await client.model_facts("openai/gpt-4.1-mini")
    assert len(seen) == 2


async def test_a_list_of_models_that_failed_is_asked_for_again(sample: Sample) -> None:
    client = gateway(error(503), httpx.Response(200, text=sample("models-excerpt-2026-08-04.json")))
    with pytest.raises(GatewayUnavailable):
        await client.model_facts("openai/gpt-4.1-mini")
    assert (await client.model_facts("openai/gpt-4.1-mini")).slug == "openai/gpt-4.1-mini"


@pytest.mark.parametrize(("remaining", "is_refused"), [(0.01, False), (0, True), (-1, True), (None, False)])
async def test_a_key_without_credit_left_is_refused(remaining: float | None, is_refused: bool) -> None:
    client = gateway(httpx.Response(200, json={"data": {"label": "l", "limit_remaining": remaining}}))
    if is_refused:
        with pytest.raises(KeyRefused, match="used up its limit"):
            await client.check_key()
    else:
        assert (await client.check_key()).label == "l"


async def test_nothing_is_asked_without_a_key() -> None:
    client = OpenRouter(
        base_url="http://gateway.test", api_key="", transport=httpx.MockTransport(lambda _: error(500))
    )
    for ask in (client.check_key(), client.providers(), client.discover("a/b"), client.model_facts("a/b")):
        with pytest.raises(KeyRefused, match="set OPENROUTER_API_KEY"):
            await ask
