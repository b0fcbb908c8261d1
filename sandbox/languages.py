"""Which of the seventeen languages a prompt is written in, or asks its answer to be written in."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from importlib import resources

_WORD = re.compile(r"[^\W\d_]+")

# Letters that belong to one language of the seventeen (or nearly so), each worth a few frequent words.
_TELLING_LETTERS = {
    "es": "ñ¿¡",
    "pt": "ãõ",
    "de": "ß",
    "pl": "ąęłńśźżć",
    "tr": "ğışİ",
    "vi": "ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    "fr": "œîû",
    "it": "òì",
    "ru": "ыэъё",
    "uk": "іїєґ",
}
_LATIN = ("en", "es", "pt", "fr", "de", "it", "nl", "pl", "tr", "vi", "id")
_CYRILLIC = ("ru", "uk")


@cache
def _vocabulary() -> tuple[dict[str, frozenset[str]], re.Pattern[str], dict[str, str]]:
    """The stop words by language, and the pattern and map of "write in French" requests."""
    text = resources.files("sandbox").joinpath("data", "stopwords.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    names = {name: language for language, words in data.pop("names").items() for name in words.split()}
    asks = re.compile(
        r"\b(?:write|writes|writing|answer|answers|answering|reply|replies|respond|responds|speak|speaks|continue)\b"
        r"[^.!?\n]{0,60}?\bin (?:\w+ )?(" + "|".join(names) + r")\b",
        re.IGNORECASE,
    )
    return {language: frozenset(words.split()) for language, words in data.items()}, asks, names


@lru_cache(maxsize=2048)
def recognise(text: str, *, fallback: str = "en") -> str:
    """The language of `text` among the seventeen, by script first and by frequent words and letters then.

    A request in English to answer in another language ("write it in Polish") names that language.
    """
    text = unicodedata.normalize("NFC", text)
    by_script = _by_script(text)
    if by_script is not None:
        return by_script
    words = [word.lower() for word in _WORD.findall(text)]
    if not words:
        return fallback
    cyrillic = sum(1 for word in words if "Ѐ" <= word[0] <= "ӿ")
    candidates = _CYRILLIC if cyrillic * 2 > len(words) else _LATIN
    language = _by_words(words, candidates, fallback="ru" if candidates is _CYRILLIC else fallback)
    return _asked_for(text) or language if language == "en" else language


def _by_script(text: str) -> str | None:
    """The language of a script only one of the seventeen uses, when it holds a fifth of the letters."""
    scripts: Counter[str] = Counter()
    for character in text:
        if character.isalpha():
            scripts[_script(character)] += 1
    total = scripts.total()
    if not total:
        return None
    if scripts["kana"] + scripts["han"] > total / 5:
        return "ja" if scripts["kana"] * 20 > scripts["han"] else "zh"
    return next((language for language in ("ko", "th") if scripts[language] > total / 5), None)


def _script(character: str) -> str:
    """A coarse script name; everything alphabetic that is not Asian is `other`."""
    if character < "\u0e00":
        return "other"
    if character <= "\u0e7f":
        return "th"
    if "\u3040" <= character <= "\u30ff" or "\u31f0" <= character <= "\u31ff":
        return "kana"
    if "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff":
        return "han"
    if (
        "\uac00" <= character <= "\ud7a3"
        or "\u1100" <= character <= "\u11ff"
        or "\u3130" <= character <= "\u318f"
    ):
        return "ko"
    return "other"


def _by_words(words: list[str], candidates: tuple[str, ...], *, fallback: str) -> str:
    """The candidate whose frequent words and telling letters cover most of the text."""
    vocabulary, _, _ = _vocabulary()
    counts = Counter(words)
    letters = Counter("".join(words))

    def score(language: str) -> float:
        known = sum(count for word, count in counts.items() if word in vocabulary[language])
        telling = sum(letters[letter] for letter in _TELLING_LETTERS.get(language, ""))
        return known + 1.5 * telling

    best = max(candidates, key=score)
    return best if score(best) > 0 else fallback


def _asked_for(text: str) -> str | None:
    """The language an English prompt asks its answer to be in, the last one if it names several."""
    _, asks, names = _vocabulary()
    found = asks.findall(text)
    return names[found[-1].lower()] if found else None
