"""Beginnings pooled over a round (C8)."""

import random

import pytest

from canary.probes.beginnings import judge_beginnings
from tests.canary.probes.exchanges import STORY


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([STORY, STORY, STORY], ("pass", "ok")),
        ([STORY, "," + STORY], ("inconclusive", "corrupted_beginning")),
        (["," + STORY, STORY, ")" + STORY], ("fail", "corrupted_beginning")),
        (["*smiles* " + STORY] * 3, ("pass", "ok")),
        ([",*smiles* " + STORY] * 2, ("fail", "corrupted_beginning")),
        (["", "  "], ("inconclusive", "empty")),
        ([], ("inconclusive", "empty")),
        ([STORY, ""], ("pass", "ok")),
    ],
    ids=["none", "one", "two", "action", "comma-action", "blank", "no-answer", "blank-left-out"],
)
def test_two_corrupt_beginnings_fail_and_one_asks_for_more(
    answers: list[str], outcome: tuple[str, str]
) -> None:
    judgement = judge_beginnings(answers)
    assert (judgement.verdict.value, judgement.reason.value) == outcome


def test_evidence_names_the_corrupt_answers_and_their_signs() -> None:
    evidence = judge_beginnings([STORY, "," + STORY, "<|x|>" + STORY]).evidence
    assert [(row["answer"], row["sign"]) for row in evidence["corrupt"]] == [
        (1, "punctuation_first"),
        (2, "special_token"),
    ]
    assert (evidence["corrupt_count"], evidence["answers"]) == (2, 3)


def test_a_provider_corrupt_in_19_of_20_answers_fails_most_rounds_of_three_answers() -> None:
    rng = random.Random(8)
    leads = [",", ". ", ")", "ing ", "的", "{", "tion The", "]", "?!", "null "]
    rounds = [
        judge_beginnings(
            [(rng.choice(leads) if rng.random() < 0.95 else "") + STORY for _ in range(3)]
        ).verdict.value
        for _ in range(200)
    ]
    assert rounds.count("fail") >= 170
