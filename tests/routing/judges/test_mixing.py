"""Windows and sentences, the two measures mixing is made of."""

from itertools import pairwise

import pytest

from routing.judges.languages import LanguagePolicy, language_of
from routing.judges.mixing import find_intrusions, is_mixed, split_sentences, window_ranges
from routing.judges.scripts import letters_of, weigh
from tests.routing.judges.texts import PROSE

POLICY = LanguagePolicy()


def test_windows_are_forty_letters_twenty_apart_and_reach_the_end() -> None:
    ranges = window_ranges(letters_of("a" * 100), POLICY)
    assert ranges == [(0, 40), (20, 60), (40, 80), (60, 100)]


def test_windows_of_han_characters_are_a_third_as_long() -> None:
    assert window_ranges(letters_of("雨" * 28), POLICY)[:2] == [(0, 14), (7, 21)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("He came. She left. We stayed.", 3),
        ("Mr. Smith met J. Doe there. Nobody else came.", 2),
        ("雨が降る。風が吹く。", 2),
        ('*waves* "Come in!" she said.', 3),
        ("no end at all", 1),
        ("", 0),
    ],
)
def test_sentences_end_at_marks_and_not_at_abbreviations(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


def test_sentences_cover_the_text_without_gaps() -> None:
    text = "... One. Two! Three? Four"
    ranges = split_sentences(text)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(ranges))


@pytest.mark.parametrize(("min_share", "mixed"), [(0.2, True), (0.95, False)])
def test_an_intruder_must_hold_its_share_of_the_text(min_share: float, mixed: bool) -> None:
    text = f"{PROSE['en']} {PROSE['es']}"
    letters = letters_of(text)
    intrusions = find_intrusions(text, letters, language_of("en"), POLICY)
    assert is_mixed(intrusions, weigh(letters), LanguagePolicy(min_share=min_share)) is mixed


def test_text_without_an_intruder_is_not_mixed() -> None:
    assert is_mixed([], 100, POLICY) is False
