"""The language judge: whole answers, sustained mixing, and what is normal."""

import json
import subprocess
import sys
import time

import pytest

from routing.judges.findings import Fault, Outcome
from routing.judges.language import judge_language
from routing.judges.languages import LANGUAGES
from tests.routing.judges.texts import MALAY, MORE, OUTSIDE, PROSE, TRADITIONAL

CYCLE = dict(zip(PROSE, [*list(PROSE)[1:], next(iter(PROSE))], strict=True))


def sentences(code: str) -> list[str]:
    end = "。" if code in ("ja", "zh") else ". "
    return [part.strip() + end for part in PROSE[code].rstrip("。. ").split(end)]


def test_every_judged_language_has_a_paragraph_here() -> None:
    assert list(PROSE) == list(LANGUAGES)


@pytest.mark.parametrize("code", PROSE)
def test_prose_in_the_expected_language_is_sound(code: str) -> None:
    finding = judge_language(PROSE[code], code)
    assert finding.outcome is Outcome.SOUND
    assert next(iter(finding.evidence["whole"]["langdetect"])) == code


@pytest.mark.parametrize(("expected", "written"), CYCLE.items(), ids=lambda code: code)
def test_an_answer_wholly_in_another_language_is_wrong(expected: str, written: str) -> None:
    finding = judge_language(PROSE[written], expected)
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, Fault.WRONG_LANGUAGE)
    assert finding.evidence["intruder"] == written


@pytest.mark.parametrize(("expected", "written"), [("es", "ca"), ("pl", "cs"), ("pt", "ca")])
def test_a_language_that_nobody_asked_for_is_wrong_too(expected: str, written: str) -> None:
    finding = judge_language(OUTSIDE[written], expected)
    assert finding.fault is Fault.WRONG_LANGUAGE
    assert finding.evidence["intruder"] == written


def test_malay_counts_as_indonesian() -> None:
    assert judge_language(MALAY, "id").outcome is not Outcome.FAULTY


def test_wholly_traditional_chinese_is_evidence_and_no_failure() -> None:
    finding = judge_language(TRADITIONAL, "zh")
    assert finding.outcome is Outcome.SOUND
    assert finding.evidence["variants"]["simplified"] == 0
    assert finding.evidence["variants"]["traditional"] > 10


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        ("pt", "es"),
        ("es", "pt"),
        ("nl", "de"),
        ("ru", "uk"),
        ("ja", "zh"),
        ("ko", "ja"),
        ("th", "en"),
        ("en", "zh"),
    ],
    ids=lambda code: code,
)
def test_half_an_answer_in_another_language_is_mixed(expected: str, other: str) -> None:
    finding = judge_language(f"{PROSE[expected]} {PROSE[other]}", expected)
    assert (finding.outcome, finding.fault) == (Outcome.FAULTY, Fault.MIXED_LANGUAGES)
    assert finding.evidence["intruder"] == other
    start = finding.evidence["intrusions"][0]["start"]
    assert abs(start - len(PROSE[expected])) < 45


def test_alternating_sentences_are_mixed() -> None:
    text = " ".join(a + b for a, b in zip(sentences("pt"), sentences("es"), strict=False))
    assert judge_language(text, "pt").fault is Fault.MIXED_LANGUAGES


def test_one_foreign_sentence_from_which_the_text_returns_is_reported_and_not_failed() -> None:
    foreign = "El agua corre por tu abrigo y se junta entre las piedras frías del suelo."
    finding = judge_language(f"{PROSE['pt']} {foreign} {MORE['pt']}", "pt")
    assert finding.outcome is Outcome.SOUND
    assert finding.evidence["intruder"] == "es"
    assert foreign[10:40] in finding.evidence["intrusions"][0]["excerpt"]


@pytest.mark.parametrize(
    ("before", "fault"), [(3, Fault.MIXED_LANGUAGES), (4, None)], ids=["of-four", "of-five"]
)
def test_a_last_sentence_in_another_language_fails_a_short_answer_only(
    before: int, fault: Fault | None
) -> None:
    last = "Te cuento una vieja historia para que el miedo se vaya antes."
    own = [*sentences("pt"), *[part + ". " for part in MORE["pt"].split(". ")]]
    assert judge_language("".join(own[:before]) + last, "pt").fault is fault


def test_two_foreign_sentences_in_the_middle_are_mixed() -> None:
    two = "El agua corre por tu abrigo y se junta entre las piedras frías. Acércate a la estufa, te digo con voz baja."
    assert judge_language(f"{PROSE['pt']} {two} {MORE['pt']}", "pt").fault is Fault.MIXED_LANGUAGES


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PROSE["en"] + "\n```python\nfor buch in bücher:\n    print(buch)\n```", "en"),
        (PROSE["th"] + " https://example.org/some/very/long/english/path/that/goes/on", "th"),
        ("*lächelt* " + PROSE["de"] + " 😊✨ *nickt*", "de"),
        ("“我是来自远方的旅人”，" + PROSE["zh"], "zh"),
        (PROSE["ja"] + "トムはAlexander Hamiltonの本を棚に戻した。", "ja"),
        ("C'est la vie, she says. " + PROSE["en"], "en"),
        (PROSE["ru"] + " Он прочёл слово iPhone и положил его на стол.", "ru"),
    ],
    ids=["code", "address", "actions-and-emoji", "quote", "name", "loan-words", "product"],
)
def test_what_is_normal_in_an_answer_is_no_mixing(text: str, code: str) -> None:
    assert judge_language(text, code).outcome is Outcome.SOUND


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("a" * 79, Outcome.UNSURE),
        ("雨" * 26, Outcome.UNSURE),
        ("", Outcome.UNSURE),
        ("123 !?" * 40, Outcome.UNSURE),
    ],
    ids=["79-letters", "26-han", "empty", "no-letters"],
)
def test_under_eighty_letters_nothing_is_concluded(text: str, outcome: Outcome) -> None:
    finding = judge_language(text, "zh" if "雨" in text else "en")
    assert (finding.outcome, finding.fault) == (outcome, Fault.TOO_SHORT)


def test_eighty_letters_are_enough() -> None:
    text = "The keeper opens the door and lets the cold traveller in from the heavy storm outside today."
    assert sum(c.isalpha() for c in text) < 80
    assert judge_language(text, "en").fault is Fault.TOO_SHORT
    assert judge_language(text + " Then he smiles.", "en").outcome is Outcome.SOUND


def test_letters_that_are_no_language_are_ambiguous() -> None:
    finding = judge_language("xq zvk wqx jhg bnm rtp lkj qqw zxc vbn " * 4, "en")
    assert finding.outcome is not Outcome.SOUND


def test_a_language_that_is_not_judged_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'xx' is not judged; known are: en es pt"):
        judge_language(PROSE["en"], "xx")


def test_an_answer_of_120_words_takes_under_50_ms() -> None:
    text = " ".join(f"{PROSE['pt']} {MORE['pt']}".split() * 2)[:760]
    judge_language(text, "pt")
    times = []
    for _ in range(7):
        started = time.perf_counter()
        judge_language(text, "pt")
        times.append(time.perf_counter() - started)
    assert min(times) < 0.05


SCRIPT = """
import json, sys
from routing.judges.language import judge_language
from routing.judges.integrity import judge_integrity
from routing.judges.refusal import find_refusal
from tests.routing.judges.texts import PROSE
codes = list(PROSE)
for a in codes:
    for b in ("en", "es", "zh"):
        found = judge_language(PROSE[a] + PROSE[b], a)
        print(json.dumps([a, b, found.outcome, found.fault, dict(found.evidence)]))
    print(json.dumps([find_refusal(PROSE[a]).outcome, judge_integrity(PROSE[a]).outcome]))
"""


@pytest.mark.slow
def test_processes_with_other_hash_seeds_say_the_same_to_the_byte() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    lines = next(iter(outputs)).decode().splitlines()
    assert len(lines) == 4 * len(PROSE)
    assert json.loads(lines[0])[2] == "sound"


@pytest.mark.slow
def test_no_detector_is_loaded_before_one_is_used() -> None:
    code = (
        "import sys, routing.judges.language, routing.judges.integrity, routing.judges.beginnings\n"
        "import routing.judges.refusal, routing.judges.structured, canary.probes.registry, canary.judging\n"
        "heavy = {'numpy', 'langdetect', 'py3langid', 'ftfy', 'jsonschema', 'django'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
