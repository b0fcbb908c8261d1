"""The policy's values: their defaults are the rules' numbers, and nonsense is refused in one sentence."""

from datetime import timedelta
from typing import Any

import pytest

from canary.domain.policy import Policy, PolicyError, from_assignments, with_overrides


def test_the_defaults_are_the_rules_numbers() -> None:
    assert Policy().as_json() == {
        "interval_s": 1800,
        "min_gap": 0.8,
        "max_gap": 12,
        "rounds_to_suspend": 2,
        "rounds_to_recover": 2,
        "floor": 2,
        "max_share": None,
        "ladder_days": [1, 3, 7],
        "ladder_reset_days": 14,
        "common_share": 0.8,
        "common_min": 3,
        "same_contract": False,
        "first_text_limit_s": 10,
    }


def test_gaps_are_counted_in_intervals_and_the_ladders_reset_in_days() -> None:
    policy = Policy(interval_s=600)
    gaps = (policy.shortest_gap, policy.longest_gap, policy.ladder_reset)
    assert gaps == (timedelta(minutes=8), timedelta(hours=2), timedelta(days=14))


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("interval_s=60", "interval_s", 60.0),
        ("min_gap=0", "min_gap", 0.0),
        ("max_gap=24", "max_gap", 24.0),
        ("rounds_to_suspend=3", "rounds_to_suspend", 3),
        ("rounds_to_recover=1", "rounds_to_recover", 1),
        ("floor=0", "floor", 0),
        ("max_share=0.5", "max_share", 0.5),
        ("max_share=none", "max_share", None),
        ("ladder_days=1,3,7", "ladder_days", (1.0, 3.0, 7.0)),
        ("ladder_days=0.5", "ladder_days", (0.5,)),
        ("ladder_reset_days=7", "ladder_reset_days", 7.0),
        ("common_share=1", "common_share", 1.0),
        ("common_min=1", "common_min", 1),
        ("same_contract=true", "same_contract", True),
        ("same_contract=False", "same_contract", False),
        (" floor = 3 ", "floor", 3),
    ],
)
def test_each_value_can_be_written_as_a_word(word: str, name: str, value: Any) -> None:
    assert getattr(from_assignments([word]), name) == value


NONSENSE = [
    "", "floor", "=2", "nothing=1", "floor=", "floor=two", "floor=1.5", "floor=-1", "floor=nan", "floor=inf",
    "rounds_to_suspend=0", "rounds_to_recover=0", "rounds_to_suspend=1e400", "interval_s=0", "interval_s=-1",
    "interval_s=nan", "interval_s=inf", "interval_s=1e300", "min_gap=-0.1", "min_gap=nan", "min_gap=inf", "max_gap=nan",
    "max_gap=1e300", "max_share=0", "max_share=1.1", "max_share=nan", "max_share=half", "ladder_days=", "ladder_days=0",
    "ladder_days=1,", "ladder_days=1,-3", "ladder_days=nan", "ladder_days=1,inf", "ladder_days=1e300",
    "ladder_days=1e-12", "ladder_reset_days=0", "ladder_reset_days=nan", "ladder_reset_days=1e300", "common_share=0",
    "common_share=1.01", "common_share=nan", "common_min=-1", "same_contract=perhaps", "same_contract=2",
    "first_text_limit_s=0", "first_text_limit_s=nan", "floor=" + "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("word", NONSENSE, ids=lambda word: word[:30] or "empty")
def test_nonsense_is_refused_in_one_sentence(word: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        from_assignments([word])
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert len(sentence) < 300
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ladder_days", [1, 2]),
        ("max_share", None),
        ("floor", 3),
        ("floor", "3"),
        ("same_contract", True),
        ("interval_s", 60),
    ],
)
def test_overrides_are_read_from_json_and_text_alike(name: str, value: Any) -> None:
    assert (
        getattr(with_overrides(Policy(), {name: value}), name) is not getattr(Policy, name) or value is None
    )


@pytest.mark.parametrize("value", [[], {}, None, "x", [None], [[1]], float("nan")])
@pytest.mark.parametrize("name", ["ladder_days", "floor", "interval_s"])
def test_overrides_of_a_wrong_type_are_refused(name: str, value: Any) -> None:
    with pytest.raises(PolicyError):
        with_overrides(Policy(), {name: value})


def test_a_policy_is_written_to_the_log_as_json_and_read_back() -> None:
    policy = Policy(ladder_days=(0.5, 2), max_share=0.3, same_contract=True)
    assert with_overrides(Policy(), policy.as_json()) == policy
