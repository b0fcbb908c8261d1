"""The language probe's prompts: one TOML file per language, written for native speakers to edit.

A prompt is synthetic, asks for a continuation of 80-140 words and invites no foreign names, titles or
quotations. Changing one means raising the version of its file.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from routing.judges.languages import LANGUAGES

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One prompt. `meaning` is its back-translation, for readers who do not speak the language."""

    id: str
    language: str
    version: int
    system: str
    text: str
    meaning: str


@cache
def prompts_for(language: str) -> Sequence[Prompt]:
    """The prompts of a language, in the file's order. Raises `ValueError` for a language that is not judged."""
    if language not in LANGUAGES:
        raise ValueError(f"language {language!r} is not judged; known are: {' '.join(LANGUAGES)}")
    return load_prompts(FOLDER / f"{language}.toml")


def load_prompts(path: Path) -> Sequence[Prompt]:
    """Read one file. Raises `ValueError` that names the file when something is missing."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return tuple(_prompt(table, row) for row in table["prompt"])
    except KeyError as error:
        raise ValueError(f"{path.name}: {error.args[0]} is missing") from None


def _prompt(table: Mapping[str, Any], row: Mapping[str, Any]) -> Prompt:
    return Prompt(
        id=f"{table['language']}-{row['id']}",
        language=table["language"],
        version=table["version"],
        system=table["system"].strip(),
        text=row["text"].strip(),
        meaning=row["meaning"].strip(),
    )
