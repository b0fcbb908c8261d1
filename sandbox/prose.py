"""The texts healthy and refusing providers answer with."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources


@dataclass(frozen=True, kw_only=True)
class LanguageProse:
    """One language's scenes, each a tuple of sentences, what joins sentences, and a refusal."""

    joiner: str
    scenes: tuple[tuple[str, ...], ...]
    refusal: str

    def text(self, scene: int) -> str:
        """A scene as one paragraph."""
        return self.joiner.join(self.scenes[scene])


@cache
def library() -> dict[str, LanguageProse]:
    """All texts by language code, read once."""
    data = resources.files("sandbox").joinpath("data")
    prose = tomllib.loads(data.joinpath("prose.toml").read_text(encoding="utf-8"))
    refusals = tomllib.loads(data.joinpath("refusals.toml").read_text(encoding="utf-8"))
    return {
        language: LanguageProse(
            joiner=entry["joiner"],
            scenes=tuple(tuple(sentences) for sentences in entry["scenes"]),
            refusal=refusals[language],
        )
        for language, entry in prose.items()
    }


@lru_cache(maxsize=2048)
def count_tokens(text: str) -> int:
    """A tokeniser's usual yield, near enough: four ASCII characters or six bytes of other letters a token."""
    plain = len(text.encode("ascii", "ignore"))
    return math.ceil(plain / 4 + (len(text.encode("utf-8", "surrogatepass")) - plain) / 6)


def cut_to_tokens(text: str, limit: int) -> str:
    """The longest beginning of `text` of at most `limit` tokens."""
    used = 0.0
    for index, character in enumerate(text):
        used += 0.25 if character < "\x80" else len(character.encode("utf-8", "surrogatepass")) / 6
        if used > limit:
            return text[:index]
    return text
