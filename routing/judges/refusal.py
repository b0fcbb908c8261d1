"""Does this answer refuse? The first sentence decides, quoted speech and *actions* removed (rule C5).

A story is full of people who say "I can't"; a refusal is first person, an inability or unwillingness, and a
word about the request or a policy, in the narrator's own voice. The phrases are in one file per language;
en.toml says how its lists work together.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from routing.judges.findings import Fault, Finding, faulty, sound
from routing.judges.languages import LANGUAGES

FOLDER = Path(__file__).parent / "refusals"

# How far behind the inability the request may stand, in characters, and how much of an answer is read.
_REACH = 90
_HEAD_CHARS = 1200
_MAX_SENTENCES = 3
_SENTENCE_CHARS = 240  # Thai ends no sentence with a mark

_QUOTES_AND_ACTIONS = re.compile(
    r"\"[^\"\n]{0,600}\"|“[^”\n]{0,600}”|„[^“”\n]{0,600}[“”]|«[^»\n]{0,600}»|»[^«\n]{0,600}«"
    r"|「[^」\n]{0,600}」|『[^』\n]{0,600}』|\*\*?[^*\n]{1,600}\*\*?|_[^_\n]{1,600}_|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){2,600}'(?!\w)"
)
# A dialogue dash opens speech in Spanish, French, Polish, Russian, Portuguese, Turkish ...
_DASHED_SPEECH = re.compile(r"^\s*[—–―-]\s.*$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?。！？…\n]+[.!?。！？…\n]*")


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """The compiled phrases of one language."""

    language: str
    declines: re.Pattern[str]
    refuses: re.Pattern[str]
    inability: re.Pattern[str]
    assistant: re.Pattern[str]
    preambles: re.Pattern[str]
    suppress: re.Pattern[str]
    cannot_do: re.Pattern[str]
    courtesy: re.Pattern[str]

    def opens_only(self, sentence: str) -> bool:
        """Whether a sentence is a preamble (an apology, thanks, "I am an AI ..."), so that the next one counts."""
        return bool(self.preambles.match(sentence) or self.assistant.search(sentence))


def find_refusal(text: str) -> Finding:
    """Whether an answer is a refusal in any judged language.

    Evidence: `language` of the phrase list that saw it, the `phrase` and the `sentence` it stood in.
    """
    voice = _own_voice(text)
    for sentence in _first_sentences(voice):
        readings = [(phrases, _refusing_phrase(sentence, voice, phrases)) for phrases in _all_phrases()]
        for phrases, phrase in readings:
            if phrase is not None:
                return faulty(
                    Fault.REFUSAL, language=phrases.language, phrase=phrase, sentence=sentence[:200]
                )
        if not any(phrases.opens_only(sentence) for phrases, _ in readings):
            break
    return sound()


def _own_voice(text: str) -> str:
    """The start of an answer, normalised, without quoted speech and actions."""
    return _DASHED_SPEECH.sub(" ", _QUOTES_AND_ACTIONS.sub(" ", normalise(text[:_HEAD_CHARS])))


def _first_sentences(plain: str) -> Sequence[str]:
    sentences = (match.group().strip(" \t\n-–—*_#>:,;()[]") for match in _SENTENCE.finditer(plain))
    spoken = [sentence[:_SENTENCE_CHARS] for sentence in sentences if any(c.isalpha() for c in sentence)]
    return spoken[:_MAX_SENTENCES]


def normalise(text: str) -> str:
    """Composed, case-folded, with one kind of apostrophe; Turkish İ becomes a plain i."""
    folded = unicodedata.normalize("NFC", text).replace("İ", "i").casefold()
    return folded.replace("’", "'").replace("‘", "'").replace("ʼ", "'").replace("\u00a0", " ")


def _refusing_phrase(sentence: str, voice: str, phrases: Phrases) -> str | None:
    """What in a sentence refuses; `voice` is all that was read of the answer."""
    if phrases.suppress.search(sentence):
        return None
    patterns = [phrases.declines, phrases.refuses]
    if phrases.assistant.search(sentence):
        patterns.append(phrases.inability)
    if phrases.courtesy.search(voice):
        patterns.append(phrases.cannot_do)
    matches = (pattern.search(sentence) for pattern in patterns)
    return next((match.group() for match in matches if match), None)


@cache
def _all_phrases() -> tuple[Phrases, ...]:
    return tuple(load_phrases(FOLDER / f"{code}.toml") for code in LANGUAGES)


_REQUIRED = ("declines", "inability", "requests", "assistant", "preambles", "suppress")
_OPTIONAL = ("tasks", "courtesy")
_NOTHING = "(?!)"


def load_phrases(path: Path) -> Phrases:
    """Read one language's file. Raises `ValueError` that names the file for a missing or empty list."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    spaced = bool(table.get("spaces_between_words", True))
    lists = {name: _alternation(_list_of(table, name, path), spaced) for name in _REQUIRED}
    lists |= {name: _alternation(table[name], spaced) if table.get(name) else _NOTHING for name in _OPTIONAL}
    reach = rf".{{0,{_REACH}}}?"
    return Phrases(
        language=str(table["language"]),
        declines=re.compile(lists["declines"]),
        refuses=re.compile(f"{lists['inability']}{reach}{lists['requests']}", re.DOTALL),
        inability=re.compile(lists["inability"]),
        assistant=re.compile(lists["assistant"]),
        preambles=re.compile(lists["preambles"]),
        suppress=re.compile(lists["suppress"]),
        cannot_do=re.compile(f"{lists['inability']}{reach}{lists['tasks']}", re.DOTALL),
        courtesy=re.compile(lists["courtesy"]),
    )


def _list_of(table: Mapping[str, Any], name: str, path: Path) -> Sequence[str]:
    phrases = table.get(name)
    if (
        not isinstance(phrases, list)
        or not phrases
        or not all(isinstance(p, str) and p.strip() for p in phrases)
    ):
        raise ValueError(f"{path.name}: {name} must be a list of phrases")
    return phrases


def _alternation(phrases: Iterable[str], spaced: bool) -> str:
    escaped = {re.escape(normalise(phrase)) for phrase in phrases}
    ordered = sorted(escaped, key=lambda phrase: (-len(phrase), phrase))
    return (r"(?<![^\W\d_])" if spaced else "") + "(?:" + "|".join(ordered) + ")"
