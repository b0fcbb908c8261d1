"""What the gateway takes as a request, and what kind of request it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.chat_request import read
from sandbox.failures import GatewayRefusal
from sandbox.scenario import RequestKind
from tests.sandbox.driver import PROMPT, ROLE_PLAY, STRUCTURED, TOOL

USER = [{"role": "user", "content": PROMPT}]


def body(**parts: Any) -> bytes:
    return json.dumps({"model": "a/b", "messages": USER, **parts}).encode()


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({}, RequestKind.PROSE),
        ({"messages": [{"role": "user", "content": ROLE_PLAY}]}, RequestKind.ROLE_PLAY),
        (
            {"messages": [{"role": "system", "content": "Bleibe im Rollenspiel."}, *USER]},
            RequestKind.ROLE_PLAY,
        ),
        ({"messages": [{"role": "user", "content": "*waves* Hello there"}]}, RequestKind.ROLE_PLAY),
        ({"messages": [{"role": "user", "content": "This is **bold** and 2 * 3 * 4"}]}, RequestKind.PROSE),
        ({"response_format": STRUCTURED}, RequestKind.STRUCTURED),
        ({"response_format": {"type": "json_object"}}, RequestKind.STRUCTURED),
        ({"response_format": {"type": "text"}}, RequestKind.PROSE),
        ({"tools": [TOOL]}, RequestKind.TOOLS),
        ({"tools": [TOOL], "tool_choice": "none"}, RequestKind.PROSE),
        ({"tools": [TOOL], "response_format": STRUCTURED}, RequestKind.TOOLS),
        (
            {"tools": [TOOL], "messages": [*USER, {"role": "tool", "content": "18 degrees"}]},
            RequestKind.PROSE,
        ),
    ],
    ids=[
        "prose",
        "role-play",
        "role-play in the system prompt",
        "an action",
        "bold and sums",
        "schema",
        "json",
        "text format",
        "tools",
        "tools switched off",
        "tools before schema",
        "after a tool's result",
    ],
)
def test_a_request_has_one_kind(parts: dict[str, Any], kind: RequestKind) -> None:
    assert read(body(**parts)).kind is kind


def test_a_scenario_may_add_words_that_mark_role_play() -> None:
    assert read(body(), markers=("the keeper",)).kind is RequestKind.ROLE_PLAY


@pytest.mark.parametrize(
    "word",
    [
        "role-play",
        "Rollenspiel",
        "juego de rol",
        "jeu de rôle",
        "gioco di ruolo",
        "rollenspel",
        "jogo de interpretação",
        "gry fabularnej",
        "ролевой игре",
        "рольовій грі",
        "rol oyununun",
        "nhập vai",
        "permainan peran",
        "สวมบทบาท",
        "ロールプレイ",
        "역할극",
        "角色扮演",
    ],
)
def test_role_play_is_known_by_its_word_in_every_language(word: str) -> None:
    assert read(body(messages=[{"role": "user", "content": f"… {word} …"}])).kind is RequestKind.ROLE_PLAY


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"{", "The request body is not valid JSON."),
        (b"[" * 100_000, "The request body is not valid JSON."),
        (b"[]", "The request body must be a JSON object."),
        (b'{"messages":[{"role":"user","content":"x"}]}', "No models provided"),
        (body(model=3), "model must be a string"),
        (body(messages=[]), 'Input required: specify "prompt" or "messages"'),
        (body(max_tokens=0), "max_tokens must be a positive integer"),
        (body(tools=[{"type": "function"}]), "every tool must have a function with a name"),
        (
            body(response_format={"type": "json_schema"}),
            "response_format must be text, json_object, or json_schema with a json_schema.schema",
        ),
        (
            body(messages=[{"role": "robot"}]),
            "messages must be objects with a role of system, developer, user, assistant or tool",
        ),
    ],
)
def test_a_wrong_body_is_refused_with_one_sentence(data: bytes, told: str) -> None:
    with pytest.raises(GatewayRefusal) as refused:
        read(data)
    assert refused.value.failure.status == 400
    assert refused.value.failure.body()["error"]["message"] == told


@pytest.mark.parametrize(
    ("parts", "effort"),
    [
        ({}, None),
        ({"reasoning": {"effort": "low"}}, "low"),
        ({"reasoning": {"enabled": True}}, "medium"),
        ({"reasoning": {"enabled": False}}, "none"),
        ({"reasoning_effort": "high"}, "high"),
    ],
)
def test_the_wish_for_reasoning_is_read_in_all_its_forms(parts: dict[str, Any], effort: str | None) -> None:
    assert read(body(**parts)).reasoning_effort == effort


def test_text_parts_count_as_the_message() -> None:
    parts = [
        {"type": "text", "text": "Erzähle bitte von dem alten Hafen und dem Regen."},
        {"type": "image_url"},
    ]
    assert read(body(messages=[{"role": "user", "content": parts}])).language == "de"


def test_the_users_latest_text_decides_the_language() -> None:
    messages = [
        {"role": "system", "content": "You are a calm narrator who always keeps to the facts of the story."},
        {
            "role": "user",
            "content": "Tell me how the day began for you and what you saw from the window then.",
        },
        {"role": "assistant", "content": "It began with rain."},
        {
            "role": "user",
            "content": "Cuéntame ahora cómo terminó la noche y qué hiciste con la lámpara del puerto.",
        },
    ]
    assert read(body(messages=messages)).language == "es"
