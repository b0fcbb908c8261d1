"""The closed lists: contracts, verdicts and reasons are those of the rules, neither more nor fewer."""

import pytest

from canary.domain.verdicts import Contract, Reason, Verdict

REASONS = """
    ok no_text_in_limit connect_failed rate_limited server_error error_before_text early_end our_request our_side
    served_by_other not_attributed routing_refused overloaded_here refusal content_filter policy_error empty cut_off
    reasoning_only fenced prose_around think_leak trailing_data not_json duplicate_key nan bom schema_mismatch truncated
    schema_refused wrong_language mixed_languages mojibake replacement_char special_token corrupted_beginning repetition
    too_short ambiguous
"""


def test_reasons_are_a_closed_list() -> None:
    assert sorted(map(str, Reason)) == sorted(REASONS.split())


def test_contracts_are_a_closed_list() -> None:
    assert set(map(str, Contract)) == {"latency", "filtering", "structured_output", "language"}


@pytest.mark.parametrize(
    ("verdict", "is_conclusive"),
    [("pass", True), ("fail", True), ("inconclusive", False), ("unreachable", False)],
)
def test_only_pass_and_fail_are_conclusive(verdict: str, is_conclusive: bool) -> None:
    assert Verdict(verdict).is_conclusive is is_conclusive
    assert len(Verdict) == 4
