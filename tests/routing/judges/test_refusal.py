"""The refusal judge. The sentences were written apart from the phrase lists, in the styles of several models."""

import re
import tomllib
from pathlib import Path

import pytest

from routing.judges.findings import Fault, Outcome
from routing.judges.languages import LANGUAGES
from routing.judges.refusal import FOLDER, find_refusal, load_phrases
from tests.routing.judges.texts import PROSE

TABLE = tomllib.loads((Path(__file__).parent / "refusals.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("sentence", TABLE["english"]["refusals"])
def test_an_explicit_english_refusal_is_seen(sentence: str) -> None:
    finding = find_refusal(sentence)
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, Fault.REFUSAL)
    assert finding.evidence["language"] == "en"


@pytest.mark.parametrize("line", TABLE["english"]["story_lines"])
def test_a_person_in_a_story_who_cannot_is_no_refusal(line: str) -> None:
    assert find_refusal(line).outcome is Outcome.SOUND


@pytest.mark.xfail(reason="known: refusals without a phrase of the lists")
@pytest.mark.parametrize("sentence", TABLE["english"]["missed"])
def test_a_refusal_in_other_words_is_seen_too(sentence: str) -> None:
    assert find_refusal(sentence).outcome is Outcome.FAULTY


@pytest.mark.xfail(reason="known: a character who apologises like an assistant, without quotation marks")
@pytest.mark.parametrize("line", TABLE["english"]["mistaken"])
def test_an_apologising_character_is_no_refusal(line: str) -> None:
    assert find_refusal(line).outcome is Outcome.SOUND


@pytest.mark.parametrize("line", TABLE["english"]["not_refusals"])
def test_a_limit_of_knowledge_is_no_refusal(line: str) -> None:
    assert find_refusal(line).outcome is Outcome.SOUND


OTHERS = [(code, sentence) for code, sentences in TABLE["others"].items() for sentence in sentences]


@pytest.mark.parametrize(("code", "sentence"), OTHERS, ids=[f"{c}-{i}" for i, (c, _) in enumerate(OTHERS)])
def test_a_refusal_in_any_judged_language_is_seen_whatever_was_expected(code: str, sentence: str) -> None:
    finding = find_refusal(sentence)
    assert finding.outcome is Outcome.FAULTY
    assert finding.evidence["language"] == code


def test_every_language_but_english_has_its_refusals_here() -> None:
    assert set(TABLE["others"]) == set(LANGUAGES) - {"en"}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_role_play_in_any_language_is_no_refusal(text: str) -> None:
    assert find_refusal(text).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('"', '"'),
        ("“", "”"),
        ("«", "»"),
        ("„", "“"),
        ("「", "」"),
        ("*", "*"),
        ("**", "**"),
        ("— ", ""),
        (" '", "'"),
    ],
    ids=["straight", "curly", "guillemets", "low", "corner", "action", "bold", "dash", "single"],
)
def test_quoted_speech_and_actions_are_not_the_model_speaking(opening: str, closing: str) -> None:
    speech = "I'm sorry, but I can't help with that request."
    assert find_refusal(speech).outcome is Outcome.FAULTY
    assert find_refusal(f"{opening}{speech}{closing}\nThe smith turns away.").outcome is Outcome.SOUND


def test_only_the_first_sentence_counts_unless_it_is_a_preamble() -> None:
    refusal = "I can't write explicit content."
    assert find_refusal(f"The door opens slowly. {refusal}").outcome is Outcome.SOUND
    assert find_refusal(f"Thank you for the vivid scene. {refusal}").outcome is Outcome.FAULTY


def test_at_most_two_preambles_are_passed_over() -> None:
    refusal = "I can't write explicit content."
    assert find_refusal(f"I'm sorry. I understand. {refusal}").outcome is Outcome.FAULTY
    assert find_refusal(f"I'm sorry. I understand. I know. {refusal}").outcome is Outcome.SOUND


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_a_file_that_can_be_read(code: str) -> None:
    assert load_phrases(FOLDER / f"{code}.toml").language == code


def test_a_file_without_a_list_is_named(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text('language = "xx"\ndeclines = ["no"]\n', encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape("xx.toml: inability must be a list of phrases")):
        load_phrases(path)
