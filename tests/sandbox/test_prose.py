"""The texts of healthy and refusing providers."""

from __future__ import annotations

import re

import pytest
from langdetect import DetectorFactory, detect

from sandbox.prose import count_tokens, cut_to_tokens, library
from sandbox.scenario import LANGUAGES

TEXTS = [
    pytest.param(language, entry.text(index), id=f"{language}-{index}")
    for language, entry in library().items()
    for index in range(len(entry.scenes))
]


def test_every_language_has_several_scenes_of_equal_length_in_sentences() -> None:
    assert set(library()) == set(LANGUAGES)
    lengths = {len(scene) for entry in library().values() for scene in entry.scenes}
    assert lengths == {7}
    assert {len(entry.scenes) for entry in library().values()} == {3}


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_a_scene_is_in_its_language_for_an_independent_detector(language: str, text: str) -> None:
    DetectorFactory.seed = 0
    assert detect(text).split("-")[0] == language


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_a_scene_has_the_length_of_a_paragraph(language: str, text: str) -> None:
    if language in ("ja", "ko", "th", "zh"):
        assert 200 <= sum(1 for character in text if character.isalpha()) <= 600
    else:
        assert 85 <= len(text.split()) <= 170


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_a_scene_has_no_quotes_digits_actions_or_stray_signs(language: str, text: str) -> None:
    assert not re.search(r"[\"“”„«»「」『』*<>\[\]{}|\d_#]", text)
    assert "\ufffd" not in text
    assert text[0].isalpha()


def test_tokens_are_a_quarter_of_plain_letters_and_a_sixth_of_other_bytes() -> None:
    assert count_tokens("") == 0
    assert count_tokens("abcd") == 1
    assert count_tokens("abcde") == 2
    assert count_tokens("дождь") == 2  # ten bytes


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_a_cut_text_is_a_beginning_within_the_limit(limit: int) -> None:
    for language in ("en", "ru", "th", "zh"):
        text = library()[language].text(0)
        cut = cut_to_tokens(text, limit)
        assert text.startswith(cut)
        assert count_tokens(cut) <= limit
        assert count_tokens(text[: len(cut) + 1]) >= limit


def test_a_text_below_the_limit_is_not_cut() -> None:
    assert cut_to_tokens("abcd", 1) == "abcd"
