"""The prompts of the language probe: complete, in their language, inviting nothing foreign."""

import re
from pathlib import Path

import pytest

from canary.prompts import load_prompts, prompts_for
from routing.judges.findings import Outcome
from routing.judges.integrity import judge_integrity
from routing.judges.language import judge_language
from routing.judges.languages import LANGUAGES


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_has_at_least_three_prompts_in_that_language(code: str) -> None:
    prompts = prompts_for(code)
    assert len({prompt.text for prompt in prompts}) >= 3
    for prompt in prompts:
        assert (prompt.language, prompt.version >= 1) == (code, True)
        assert judge_language(prompt.system + " " + prompt.text, code).outcome is Outcome.SOUND
        assert judge_integrity(prompt.text).outcome is Outcome.SOUND


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_prompt_quotes_nothing_and_has_its_meaning_beside_it(code: str) -> None:
    for prompt in prompts_for(code):
        assert not re.search(r'["“”«»„「」『』]', prompt.text)
        assert len(prompt.meaning.split()) > 20


def test_a_file_with_something_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text('language = "xx"\nversion = 1\n[[prompt]]\nid = "a"\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"xx\.toml: system is missing"):
        load_prompts(path)
