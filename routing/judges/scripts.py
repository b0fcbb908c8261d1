"""Unicode scripts as far as the judged languages need them, and the letters of a text with their weight.

The standard library knows no scripts; the ranges are those of the Unicode standard's Scripts.txt, letters
only, for the scripts in use (Latin, Cyrillic, Thai, Han, kana, Hangul); other large scripts are named so
that an answer in Arabic or Greek is not taken for nothing.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Script(StrEnum):
    """A writing system. `other` holds letters of scripts that none of the judged languages uses."""

    LATIN = "Latin"
    CYRILLIC = "Cyrillic"
    THAI = "Thai"
    HAN = "Han"
    KANA = "Kana"
    HANGUL = "Hangul"
    GREEK = "Greek"
    ARABIC = "Arabic"
    HEBREW = "Hebrew"
    DEVANAGARI = "Devanagari"
    OTHER = "Other"


# A Han character says about as much as three Latin letters, a kana or a hangul syllable as two
# (measured: windows of equal weight are then told apart equally well).
WEIGHTS = {Script.HAN: 3, Script.KANA: 2, Script.HANGUL: 2}

_RANGES: Sequence[tuple[int, int, Script]] = (
    (0x0041, 0x024F, Script.LATIN),
    (0x0250, 0x02AF, Script.LATIN),
    (0x0370, 0x03FF, Script.GREEK),
    (0x0400, 0x052F, Script.CYRILLIC),
    (0x0590, 0x05FF, Script.HEBREW),
    (0x0600, 0x077F, Script.ARABIC),
    (0x0900, 0x097F, Script.DEVANAGARI),
    (0x0E00, 0x0E7F, Script.THAI),
    (0x1100, 0x11FF, Script.HANGUL),
    (0x1C80, 0x1C8F, Script.CYRILLIC),
    (0x1D00, 0x1DBF, Script.LATIN),
    (0x1E00, 0x1EFF, Script.LATIN),
    (0x1F00, 0x1FFF, Script.GREEK),
    (0x2C60, 0x2C7F, Script.LATIN),
    (0x2DE0, 0x2DFF, Script.CYRILLIC),
    (0x2E80, 0x2FDF, Script.HAN),
    (0x3005, 0x3007, Script.HAN),
    (0x3041, 0x30FF, Script.KANA),
    (0x3131, 0x318E, Script.HANGUL),
    (0x31F0, 0x31FF, Script.KANA),
    (0x3400, 0x4DBF, Script.HAN),
    (0x4E00, 0x9FFF, Script.HAN),
    (0xA640, 0xA69F, Script.CYRILLIC),
    (0xA720, 0xA7FF, Script.LATIN),
    (0xA960, 0xA97F, Script.HANGUL),
    (0xAC00, 0xD7FF, Script.HANGUL),
    (0xF900, 0xFAFF, Script.HAN),
    (0xFB50, 0xFDFF, Script.ARABIC),
    (0xFF21, 0xFF5A, Script.LATIN),
    (0xFF66, 0xFF9D, Script.KANA),
    (0x20000, 0x3347F, Script.HAN),
)
_STARTS = [start for start, _, _ in _RANGES]

# The prolonged-sound mark and the iteration marks follow kana and Han; alone they say nothing.
_MARKS_OF_NO_SCRIPT = frozenset("ーｰ々〻ªº")


@dataclass(frozen=True, slots=True)
class Letter:
    """One letter: its index in the text, its script and its weight in Latin letters."""

    index: int
    script: Script
    weight: int


@lru_cache(maxsize=16384)
def script_of(character: str) -> Script | None:
    """The script of one letter, None for anything that is no letter."""
    if character in _MARKS_OF_NO_SCRIPT or not unicodedata.category(character).startswith("L"):
        return None
    code = ord(character)
    position = bisect_right(_STARTS, code) - 1
    if position >= 0 and code <= _RANGES[position][1]:
        return _RANGES[position][2]
    return Script.OTHER


def letters_of(text: str) -> list[Letter]:
    """The letters of a text in order."""
    found = []
    for index, character in enumerate(text):
        script = script_of(character)
        if script is not None:
            found.append(Letter(index, script, WEIGHTS.get(script, 1)))
    return found


def weigh(letters: Iterable[Letter]) -> int:
    """The weight of some letters together."""
    return sum(letter.weight for letter in letters)


def shares(letters: Sequence[Letter]) -> dict[Script, float]:
    """The share of each script by weight, largest first; empty for no letters."""
    weights: dict[Script, int] = {}
    for letter in letters:
        weights[letter.script] = weights.get(letter.script, 0) + letter.weight
    total = sum(weights.values())
    ordered = sorted(weights.items(), key=lambda item: (-item[1], item[0].value))
    return {script: weight / total for script, weight in ordered}


# Forms of the current standard and of names that the older code pages lack.
_NEWER_JAPANESE_HAN = frozenset("頰噓瘦剝塡麵繫吞俱屛幷𠮟𠮷蔣鷗禱")


@lru_cache(maxsize=16384)
def is_japanese_han(character: str) -> bool:
    """False for a Han character that Japanese does not write (it is in no Japanese code page); else True."""
    if script_of(character) is not Script.HAN or character in _NEWER_JAPANESE_HAN:
        return True
    return _is_in_code_page(character, "cp932")


def chinese_variants(text: str) -> dict[str, int]:
    """How many characters exist in Simplified Chinese only, and in Traditional only (by the code pages)."""
    han = [character for character in text if script_of(character) is Script.HAN]
    return {
        "simplified": sum(
            1 for c in han if _is_in_code_page(c, "gb2312") and not _is_in_code_page(c, "big5")
        ),
        "traditional": sum(
            1 for c in han if _is_in_code_page(c, "big5") and not _is_in_code_page(c, "gb2312")
        ),
    }


@lru_cache(maxsize=65536)
def _is_in_code_page(character: str, code_page: str) -> bool:
    try:
        character.encode(code_page)
    except UnicodeEncodeError:
        return False
    return True
