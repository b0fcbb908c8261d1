"""Faults of the text: what is damaged, and that structured answers and tool calls stay as they are."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from sandbox.languages import recognise
from sandbox.prose import count_tokens, library
from sandbox.scenario import LANGUAGES
from tests.sandbox.driver import ROLE_PLAY, STRUCTURED, TOOL, Gateway, with_fault
from tests.sandbox.test_languages import PROMPTS


def told(kind: str, prompt: str = PROMPTS["en"][0], **params: Any) -> str:
    content = Gateway(with_fault(kind, **params)).pinned("acme/fp8", prompt).content
    assert isinstance(content, str)
    return content


HEALTHY = {language: {entry.text(index) for index in range(3)} for language, entry in library().items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_healthy_provider_answers_in_the_prompts_language(language: str) -> None:
    gateway = Gateway(with_fault("empty"))
    answers = {gateway.pinned("globex/fp8", PROMPTS[language][0]).content for _ in range(12)}
    assert answers <= HEALTHY[language]
    assert len(answers) > 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mixing_provider_mixes_in_every_language(language: str) -> None:
    sentences = {sentence for scene in library()[language].scenes for sentence in scene}
    text = told("mixed_languages", PROMPTS[language][0])
    own = [sentence for sentence in sentences if sentence in text]
    others = [
        other
        for other, entry in library().items()
        if other != language and any(sentence in text for scene in entry.scenes for sentence in scene)
    ]
    assert len(own) == 4  # every second of seven sentences, the first one included
    assert len(others) == 1


def test_the_language_mixed_in_can_be_chosen() -> None:
    text = told("mixed_languages", language="ja")
    assert any(sentence in text for scene in library()["ja"].scenes for sentence in scene)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_language_is_another_one_throughout(language: str) -> None:
    text = told("wrong_language", PROMPTS[language][0])
    assert recognise(text) != language
    assert any(text in texts for other, texts in HEALTHY.items() if other != language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_is_in_the_prompts_language(language: str) -> None:
    assert told("refusing", PROMPTS[language][0]) == library()[language].refusal


def test_a_refusal_may_have_a_preamble() -> None:
    assert told("refusing", preamble="What a scene!").startswith("What a scene! I'm sorry, but I can't")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_mojibake_damages_every_language(language: str, encoding: str) -> None:
    text = told("mojibake", PROMPTS[language][0], encoding=encoding)
    assert text not in HEALTHY[language]
    assert any(sign in text for sign in "ÃÂâÄÅÐÑà¸áãæçèéêëìíåäï")


@pytest.mark.parametrize(("params", "count"), [({}, 3), ({"count": 5}, 5), ({"at": "end"}, 1)])
def test_replacement_characters_stand_where_they_are_said_to(params: dict[str, Any], count: int) -> None:
    text = told("replacement_char", **params)
    assert text.count("\ufffd") == count
    assert text.endswith("\ufffd") is ("at" in params)
    assert not text.startswith("\ufffd")


@pytest.mark.parametrize(
    ("variant", "token"),
    [
        ("im_end", "<|im_end|>"),
        ("eot", "<|eot_id|>"),
        ("fullwidth", "<｜end▁of▁sentence｜>"),
        ("inst", "[/INST]"),
        ("unk", "<unk>"),
        ("think_end", "</think>"),
        ("role_line", "\nassistant\n"),
        ("think", "<think>"),
    ],
)
def test_a_special_token_stands_in_the_text(variant: str, token: str) -> None:
    assert token in told("special_token", variant=variant)


@pytest.mark.parametrize("language", LANGUAGES)
def test_bpe_marks_show_in_every_language(language: str) -> None:
    assert "Ġ" in told("bpe_marks", PROMPTS[language][0])


@pytest.mark.parametrize(
    "variant", ["action", "punctuation", "glued", "fragment", "script", "token", "code", "any"]
)
def test_a_corrupted_beginning_stands_before_a_sound_text(variant: str) -> None:
    text = told("corrupted_beginning", variant=variant)
    assert text not in HEALTHY["en"]
    assert any(text.endswith(sound) for sound in HEALTHY["en"])


def test_the_default_corrupted_beginning_is_punctuation_before_an_action() -> None:
    gateway = Gateway(with_fault("corrupted_beginning"))
    for _ in range(10):
        text = gateway.pinned("acme/fp8").content
        assert text[0] in ",.;"
        assert text[1] == "*"


@pytest.mark.parametrize("language", LANGUAGES)
def test_repetition_runs_away_until_the_tokens_end(language: str) -> None:
    reply = Gateway(with_fault("repetition")).pinned("acme/fp8", PROMPTS[language][0], max_tokens=600)
    data = reply.content.encode()
    assert len(zlib.compress(data)) / len(data) < 0.14
    assert reply.json["choices"][0]["finish_reason"] == "length"
    assert reply.json["usage"]["completion_tokens"] <= 600


def test_empty_finishes_with_stop_as_if_all_were_well() -> None:
    gateway = Gateway(with_fault("empty"))
    choice = gateway.pinned("acme/fp8").json["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "stop")
    stream = gateway.pinned("acme/fp8", stream=True)
    assert (stream.streamed_text, stream.finishes) == ("", ["stop", "stop"])


def test_null_content_is_null() -> None:
    choice = Gateway(with_fault("null_content")).pinned("acme/fp8").json["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (None, "stop")


def test_truncated_stops_after_a_few_tokens_with_length() -> None:
    body = Gateway(with_fault("truncated", tokens=6)).pinned("acme/fp8", max_tokens=400).json
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["completion_tokens"] == 6
    assert count_tokens(body["choices"][0]["message"]["content"]) == 6


@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_only_uses_up_all_tokens_without_an_answer(stream: bool) -> None:
    reply = Gateway(with_fault("reasoning_only")).pinned("acme/fp8", stream=stream, max_tokens=80)
    if stream:
        assert reply.streamed_text == ""
        assert any("reasoning" in chunk["choices"][0]["delta"] for chunk in reply.chunks)
        usage = reply.chunks[-1]["usage"]
        assert reply.finishes == ["length", "length"]
    else:
        assert (reply.content, bool(reply.json["choices"][0]["message"]["reasoning"])) == ("", True)
        usage = reply.json["usage"]
    assert usage["completion_tokens"] == usage["completion_tokens_details"]["reasoning_tokens"] == 80


@pytest.mark.parametrize(
    "kind",
    [
        "wrong_language",
        "mixed_languages",
        "mojibake",
        "replacement_char",
        "special_token",
        "bpe_marks",
        "corrupted_beginning",
    ],
)
def test_faults_of_prose_leave_structured_answers_and_tool_calls_alone(kind: str) -> None:
    gateway = Gateway(with_fault(kind))
    assert json.loads(gateway.pinned("acme/fp8", response_format=STRUCTURED).content).keys() == {
        "name",
        "count",
        "mood",
    }
    call = gateway.pinned("acme/fp8", tools=[TOOL]).json["choices"][0]["message"]["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]).keys() == {"city", "days"}


def test_faults_of_prose_damage_role_play_too() -> None:
    assert told("mixed_languages", ROLE_PLAY) not in HEALTHY["en"]


def test_streamed_text_is_damaged_like_whole_text() -> None:
    stream = Gateway(with_fault("mojibake"), seed=5).pinned("acme/fp8", PROMPTS["de"][0], stream=True)
    whole = Gateway(with_fault("mojibake"), seed=5).pinned("acme/fp8", PROMPTS["de"][0])
    assert stream.streamed_text == whole.content
