"""Scripts, weights and the characters that one language alone writes."""

import pytest

from routing.judges.scripts import (
    Script,
    chinese_variants,
    is_japanese_han,
    letters_of,
    script_of,
    shares,
    weigh,
)


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("a", Script.LATIN), ("é", Script.LATIN), ("ệ", Script.LATIN), ("ж", Script.CYRILLIC), ("ї", Script.CYRILLIC),
        ("ก", Script.THAI), ("雨", Script.HAN), ("ひ", Script.KANA), ("カ", Script.KANA), ("한", Script.HANGUL),
        ("ω", Script.GREEK), ("ع", Script.ARABIC), ("ა", Script.OTHER),
        ("1", None), ("*", None), ("ー", None), ("😊", None),
    ],
)  # fmt: skip
def test_a_letter_has_one_script_and_nothing_else_has_any(character: str, script: Script | None) -> None:
    assert script_of(character) is script


def test_a_han_character_weighs_three_letters_and_kana_and_hangul_two() -> None:
    assert weigh(letters_of("ab")) == 2
    assert weigh(letters_of("雨かな한")) == 3 + 2 + 2 + 2


def test_shares_are_by_weight_and_largest_first() -> None:
    assert list(shares(letters_of("雨abc")).items()) == [(Script.HAN, 0.5), (Script.LATIN, 0.5)]
    assert shares([]) == {}


def test_a_letter_knows_its_place_in_the_text() -> None:
    assert [letter.index for letter in letters_of("1a -b")] == [1, 4]


@pytest.mark.parametrize(
    ("character", "is_japanese"), [("説", True), ("说", False), ("你", False), ("頰", True), ("a", True)]
)
def test_simplified_characters_are_not_japanese(character: str, is_japanese: bool) -> None:
    assert is_japanese_han(character) is is_japanese


def test_characters_of_one_chinese_variant_only_are_counted() -> None:
    assert chinese_variants("这門人a") == {"simplified": 1, "traditional": 1}
