"""When a fault strikes: its window, its probability, its times, the requests it is for; and that a seed decides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.driver import ROLE_PLAY, STRUCTURED, TOOL, Gateway, scenario, with_fault
from tests.sandbox.test_languages import PROMPTS


def strikes(gateway: Gateway, now_s: float = 0, **body: Any) -> bool:
    """Whether the fault of acme/fp8 (a 503) strikes at this moment."""
    gateway.time.now_s = 1000 + now_s
    return gateway.pinned("acme/fp8", **body).status == 503


@pytest.mark.parametrize(
    ("window", "moments"),
    [
        ({}, {0: True, 1e6: True}),
        ({"after_s": 30}, {29.9: False, 30: True, 1e6: True}),
        ({"until_s": 30}, {0: True, 29.9: True, 30: False}),
        ({"after_s": 10, "until_s": 20}, {9.9: False, 10: True, 19.9: True, 20: False}),
        (
            {"every_s": 60, "after_s": 40, "until_s": 60},
            {39: False, 40: True, 59: True, 60: False, 99: False, 100: True},
        ),
    ],
    ids=["always", "after", "until", "between", "in every minute"],
)
def test_a_fault_strikes_within_its_window_only(window: dict[str, float], moments: dict[float, bool]) -> None:
    gateway = Gateway(with_fault("server_error", **window))
    assert {now_s: strikes(gateway, now_s) for now_s in moments} == moments


@pytest.mark.parametrize("probability", [0, 0.3, 1])
def test_a_fault_strikes_with_its_probability(probability: float) -> None:
    gateway = Gateway(with_fault("server_error", probability=probability))
    share = sum(strikes(gateway) for _ in range(300)) / 300
    assert share == pytest.approx(probability, abs=0.08 if 0 < probability < 1 else 0)


@pytest.mark.parametrize("times", [1, 3])
def test_a_fault_may_strike_so_many_times_and_then_no_more(times: int) -> None:
    gateway = Gateway(with_fault("server_error", times=times))
    assert [strikes(gateway) for _ in range(6)] == [True] * times + [False] * (6 - times)


def test_requests_a_fault_is_not_for_do_not_use_up_its_times() -> None:
    gateway = Gateway(with_fault("server_error", times=1, when="structured"))
    assert [strikes(gateway), strikes(gateway, response_format=STRUCTURED)] == [False, True]


REQUESTS: dict[str, dict[str, Any]] = {
    "prose": {},
    "role_play": {"prompt": ROLE_PLAY},
    "structured": {"response_format": STRUCTURED},
    "tools": {"tools": [TOOL]},
    "stream": {"stream": True},
}


@pytest.mark.parametrize(
    ("when", "struck"),
    [
        ("all", {"prose", "role_play", "structured", "tools", "stream"}),
        ("prose", {"prose", "stream"}),
        ("role_play", {"role_play"}),
        ("structured", {"structured"}),
        ("tools", {"tools"}),
        ("stream", {"stream"}),
        ("no_stream", {"prose", "role_play", "structured", "tools"}),
        (["structured", "tools"], {"structured", "tools"}),
    ],
)
def test_a_fault_strikes_the_kinds_of_request_it_is_for(when: Any, struck: set[str]) -> None:
    gateway = Gateway(with_fault("server_error", when=when))
    assert {name for name, body in REQUESTS.items() if strikes(gateway, **body)} == struck


def test_a_fault_may_strike_some_languages_only() -> None:
    gateway = Gateway(with_fault("server_error", languages=["tr", "th"]))
    struck = {language for language, prompts in PROMPTS.items() if strikes(gateway, prompt=prompts[0])}
    assert struck == {"tr", "th"}


def test_several_faults_act_together() -> None:
    faults = [
        {"kind": "slow_first_token", "seconds": 4},
        {"kind": "corrupted_beginning"},
        {"kind": "no_done"},
    ]
    reply = Gateway(scenario({"tag": "acme/fp8", "faults": faults})).chat(stream=True)
    assert reply.first_text_s() == pytest.approx(4)
    assert reply.streamed_text[0] in ",.;"
    assert "[DONE]" not in reply.text


def run(seed: int, tags: tuple[str, ...]) -> dict[str, list[tuple[Any, ...]]]:
    """What each endpoint answers, in its own order, when the endpoints are asked in the given order."""
    endpoint = {"ttft_ms": [50, 500], "faults": [{"kind": "server_error", "probability": 0.4}]}
    gateway = Gateway(scenario({"tag": "acme", **endpoint}, {"tag": "globex", **endpoint}), seed=seed)
    answers: dict[str, list[tuple[Any, ...]]] = {}
    for tag in tags:
        reply = gateway.pinned(tag)
        content = reply.content if reply.status == 200 else None
        answers.setdefault(tag, []).append((reply.status, content, round(reply.parts[-1][0], 6)))
    return answers


def test_one_seed_gives_the_same_answers_whatever_the_order_between_endpoints() -> None:
    in_turn, in_blocks = ("acme", "globex") * 12, ("acme",) * 12 + ("globex",) * 12
    assert run(7, in_turn) == run(7, in_turn) == run(7, in_blocks)


def test_another_seed_gives_other_answers() -> None:
    tags = ("acme", "globex") * 12
    assert run(7, tags) != run(8, tags)


def test_open_requests_are_routed_the_same_for_one_seed() -> None:
    def routes(seed: int) -> list[str]:
        gateway = Gateway(scenario({"tag": "acme"}, {"tag": "globex"}, {"tag": "initech"}), seed=seed)
        return [gateway.chat().json["provider"] for _ in range(20)]

    assert routes(7) == routes(7)
    assert routes(7) != routes(8)


@pytest.mark.parametrize(("max_tokens", "finish"), [(400, "stop"), (64, "length")])
def test_a_healthy_answer_keeps_the_token_limit(max_tokens: int, finish: str) -> None:
    body = Gateway(scenario({"tag": "acme"})).chat(max_tokens=max_tokens).json
    assert body["choices"][0]["finish_reason"] == finish
    assert body["usage"]["completion_tokens"] <= max_tokens
    if finish == "length":
        assert body["usage"]["completion_tokens"] == max_tokens


def test_a_healthy_answer_that_fits_is_chosen_where_there_is_one() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    finishes = {gateway.chat(max_tokens=170).json["choices"][0]["finish_reason"] for _ in range(15)}
    assert finishes == {"stop"}


@pytest.mark.parametrize(
    ("reasoning", "wish", "thinks"),
    [
        ("none", {"effort": "high"}, False),
        ("optional", None, False),
        ("optional", {"effort": "none"}, False),
        ("optional", {"effort": "low"}, True),
        ("mandatory", None, True),
    ],
)
def test_a_model_reasons_as_its_kind_and_the_wish_say(reasoning: str, wish: Any, thinks: bool) -> None:
    gateway = Gateway(scenario({"tag": "acme"}, model={"reasoning": reasoning}))
    body = gateway.chat(reasoning=wish).json
    assert bool(body["choices"][0]["message"]["reasoning"]) is thinks
    assert bool(body["usage"]["completion_tokens_details"]["reasoning_tokens"]) is thinks


def test_mandatory_reasoning_uses_up_a_small_limit() -> None:
    body = Gateway(scenario({"tag": "acme"}, model={"reasoning": "mandatory"})).chat(max_tokens=16).json
    assert body["choices"][0]["message"]["content"] == ""
    assert body["choices"][0]["finish_reason"] == "length"


def test_mandatory_reasoning_cannot_be_switched_off() -> None:
    gateway = Gateway(scenario({"tag": "acme"}, model={"reasoning": "mandatory"}))
    assert gateway.chat(reasoning={"effort": "none"}).status == 400


def test_reasoning_may_be_hidden_but_is_paid_for() -> None:
    gateway = Gateway(scenario({"tag": "acme"}, model={"reasoning": "mandatory"}))
    body = gateway.chat(reasoning={"exclude": True}).json
    assert body["choices"][0]["message"]["reasoning"] is None
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


def test_a_model_may_have_one_fixed_language() -> None:
    gateway = Gateway(scenario({"tag": "acme"}, model={"answer_language": "ja"}))
    assert "。" in gateway.chat(PROMPTS["de"][0]).content


def test_a_model_is_listed_and_served_within_its_window_only() -> None:
    gateway = Gateway(scenario({"tag": "acme"}, model={"after_s": 10, "until_s": 20}))
    seen = []
    for now_s in (9, 10, 19, 20):
        gateway.time.now_s = 1000 + now_s
        seen.append((gateway.get("/api/v1/models").json["total_count"], gateway.chat().status))
    assert seen == [(0, 400), (1, 200), (1, 200), (0, 400)]
