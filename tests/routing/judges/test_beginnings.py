"""The beginnings judge: what may lead an answer and what may not."""

import pytest

from routing.judges.beginnings import judge_beginning
from routing.judges.findings import Fault, Outcome
from tests.routing.judges.texts import PROSE

REST = " The lamp burns low and the wind pulls at the shutters of the old house."


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_prose_begins_well_in_every_language(text: str) -> None:
    assert judge_beginning(text).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    "beginning",
    [
        "*smiles*", "**Luna:** Hello", '"Come in,"', "“Come in,”", "«Entra»", "»Komm«", "„Komm“", "— Entra", "- first",

        "• first", "# The house", "> quoted", "(quietly)", "[The scene opens]", "...and then she left.",
        "…", "¿Qué?", "¡Hola!",
        "'Tis cold.", "’Twas night.",
        ":)", ";-) Hello", "_softly_", "1. First", "$5 is the price.", "~5 metres away,",
        "@keeper, come!", "😊 Hello", "I", "A.", "O'Brien nods.", "McDonald laughs.", "iPhone in hand,", "Well-known,",
    ],
)  # fmt: skip
def test_mark_up_speech_and_bullets_may_open_an_answer(beginning: str) -> None:
    assert judge_beginning(beginning + REST).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    ("beginning", "sign"),
    [
        (",*smiles*", "punctuation_first"),
        (". The door", "punctuation_first"),
        (")", "punctuation_first"),
        ("... ,", "punctuation_first"),
        ("」", "punctuation_first"),
        ("，", "punctuation_first"),
        ("» Then", "punctuation_first"),
        ("$The", "punctuation_first"),
        ("<|im_start|>", "special_token"),
        ("[/INST]", "special_token"),
        ("{The", "code_fragment"),
        ("</div>", "code_fragment"),
        ("()", "code_fragment"),
        ("null The", "code_fragment"),
        ("\\n\\nThe", "punctuation_first"),
        ("привет The", "other_script"),
        ("的", "other_script"),
        ("Hello,there", "glued_punctuation"),
        ("ingShe smiled", "joined_words"),
        ("SheepsThe door", "joined_words"),
        ("ing *She smiles*", "fragment"),
        ("tion The", "fragment"),
        ("als**Luna:**", "fragment"),
    ],
)
def test_what_closes_continues_or_is_left_over_corrupts_a_beginning(beginning: str, sign: str) -> None:
    finding = judge_beginning(beginning + REST)
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, Fault.CORRUPTED_BEGINNING)
    assert finding.evidence["sign"] == sign
    assert finding.evidence["beginning"].startswith(beginning[:5])


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("football " + PROSE["zh"], Outcome.FAULTY),
        ("Tom" + PROSE["zh"], Outcome.SOUND),
        ("кус" + PROSE["ja"], Outcome.FAULTY),
        ("外套" + PROSE["ja"], Outcome.SOUND),
    ],
    ids=["small-latin", "name", "cyrillic", "own-script"],
)
def test_a_name_may_open_an_answer_in_another_script_and_a_fragment_may_not(
    text: str, outcome: Outcome
) -> None:
    assert judge_beginning(text).outcome is outcome


@pytest.mark.parametrize("text", ["", "   ", "...", "?!"])
def test_an_answer_without_letters_is_left_to_other_judges(text: str) -> None:
    assert judge_beginning(text).outcome is Outcome.SOUND
