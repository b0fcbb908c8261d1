"""The integrity judge: encoding faults, tokens of the machinery, loops; and what only looks like them."""

import pytest

from routing.judges.findings import Fault, Outcome
from routing.judges.integrity import judge_integrity, printable
from tests.routing.judges.texts import PROSE, TRADITIONAL

GREETING = "She opens the door and smiles at the traveller. "


@pytest.mark.parametrize("text", [*PROSE.values(), TRADITIONAL], ids=[*PROSE, "zh-traditional"])
def test_clean_prose_in_any_language_is_sound(text: str) -> None:
    assert judge_integrity(text).outcome is Outcome.SOUND


EUROPEAN = [(code, page) for code in ("fr", "pl", "ru", "uk", "vi", "tr") for page in ("latin-1", "cp1251")]
ASIAN = [
    (code, page) for code in ("th", "ja", "ko", "zh") for page in ("latin-1", "cp1251", "gb18030", "cp932")
]


@pytest.mark.parametrize(("code", "code_page"), EUROPEAN + ASIAN)
def test_utf_8_read_in_another_code_page_is_mojibake(code: str, code_page: str) -> None:
    misread = PROSE[code].encode().decode(code_page, errors="ignore")
    finding = judge_integrity(misread)
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, Fault.MOJIBAKE)


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [(PROSE["ru"], "koi8-r", "cp1251"), (PROSE["ko"], "euc-kr", "latin-1"), (PROSE["zh"], "gbk", "latin-1")],
    ids=["koi8", "euc-kr", "gbk"],
)
def test_another_code_page_misread_is_mojibake(text: str, written: str, read: str) -> None:
    assert judge_integrity(text.encode(written, "ignore").decode(read, "ignore")).fault is Fault.MOJIBAKE


@pytest.mark.parametrize(
    "character", ["\x80", "\x92", "\x00", "\x1b", "\ue000", "\U000f0000", "\ufdd0", "\U0005ffff"], ids=ascii
)
def test_controls_private_use_and_unassigned_code_points_are_faults(character: str) -> None:
    finding = judge_integrity(f"The door{character} opens.")
    assert finding.fault is Fault.MOJIBAKE
    assert finding.evidence["position"] == 8


@pytest.mark.parametrize(
    "text", ["tab\tand\r\nlines", "soft\u00adhyphen", "👩\u200d🚒 \U0001fae8", "a\u200bb", "x\ufe0f"]
)
def test_marks_that_shape_text_are_normal(text: str) -> None:
    assert judge_integrity(text).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    ("text", "outcome", "fault"),
    [
        ("The d\ufffdor opens.", Outcome.FAULTY, Fault.REPLACEMENT_CHAR),
        ("\ufffdThe door opens.", Outcome.FAULTY, Fault.REPLACEMENT_CHAR),
        ("The door opens.\ufffd", Outcome.UNSURE, Fault.TRUNCATED),
        ("The door opens \ufffd\ufffd \n", Outcome.UNSURE, Fault.TRUNCATED),
        ("The do\ud83dr opens.", Outcome.FAULTY, Fault.REPLACEMENT_CHAR),
        ("The door opens \ud83d", Outcome.UNSURE, Fault.TRUNCATED),
        ("\ufffd\ufffd", Outcome.FAULTY, Fault.REPLACEMENT_CHAR),
    ],
    ids=["inside", "first", "last", "several-last", "surrogate-inside", "surrogate-last", "nothing-else"],
)
def test_a_lost_character_is_a_fault_inside_and_a_cut_at_the_very_end(
    text: str, outcome: Outcome, fault: Fault
) -> None:
    finding = judge_integrity(text)
    assert (finding.outcome, finding.fault) == (outcome, fault)


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>", "<｜end▁of▁sentence｜>", "<|eot_id|>", "<|im_start", "<unk>", "[INST]", "[/INST]",
        "<<SYS>>", "<pad>",
        "<think>", "</think>", "</s>", "<start_of_turn>", "<0x0A>", "[UNK]", "[TOOL_CALLS]", "<tool_call>",
        "ĠThe", "Ċ", "▁the",
        "assistantfinal", "\nassistant\n", "\nAssistant: Yes", "\n### Response:", "\nuser:\n",
    ],
    ids=ascii,
)  # fmt: skip
def test_tokens_and_role_lines_of_the_machinery_are_faults(token: str) -> None:
    finding = judge_integrity(GREETING + token + " and then")
    if token.startswith("\n"):
        finding = judge_integrity(GREETING + token + "and then")
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, Fault.SPECIAL_TOKEN)


@pytest.mark.parametrize(
    "text",
    [
        "Use `<|im_end|>` to end it.",
        "```\n[INST] hello [/INST]\n```\nThat is the template.",
        "<s>old price</s> new price",
        "The shop assistant nodded. The user left.",
        "a < b | c > d",
        "I think </b> is mark-up.",
        "*smiles* **bold** _soft_ ~waves~ <3",
    ],
)
def test_code_and_mark_up_are_no_tokens(text: str) -> None:
    assert judge_integrity(text).outcome is Outcome.SOUND


@pytest.mark.parametrize("text", ["......", "?!", "***", "「」、。", '"" -- ""'])
def test_an_answer_of_bare_punctuation_is_a_fault(text: str) -> None:
    assert judge_integrity(text).fault is Fault.SPECIAL_TOKEN


@pytest.mark.parametrize("text", ["", "  \n", "42", "Yes.", "😊"])
def test_short_answers_with_something_in_them_are_sound(text: str) -> None:
    assert judge_integrity(text).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    "text",
    ["The sea was calm. " * 40, PROSE["en"] * 2 + " and on" * 200, "雨が降る。" * 60, "!" * 400],
    ids=["sentence", "second-half", "han", "marks"],
)
def test_a_loop_is_runaway_repetition(text: str) -> None:
    finding = judge_integrity(text)
    assert finding.fault is Fault.REPETITION
    assert finding.evidence["ratio"] < 0.14


def test_a_refrain_is_not_a_loop() -> None:
    refrain = "Row, row, row your boat, gently down the stream. "
    verses = [refrain + sentence + ". " for sentence in PROSE["en"].split(". ")]
    assert judge_integrity("".join(verses)).outcome is Outcome.SOUND


def test_evidence_can_be_shown_and_stored() -> None:
    assert printable("a\x00b\ud800c\nd") == "a\\x00b\\ud800c\nd"
