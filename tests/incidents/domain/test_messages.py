"""A message says what happened, to what, by which rule, with evidence and a link."""

from datetime import UTC, datetime

from incidents.domain.actions import Action
from incidents.domain.messages import EVIDENCE_LIMIT, Facts, evidence_line, full_text

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_message_names_its_facts_line_by_line_and_ends_with_the_link() -> None:
    facts = Facts(
        action=Action.SUSPEND, rule="C12", at=AT, model="acme/m", endpoint="host/fp8", mode="enforce",
        is_enforced=True, until=AT.replace(day=3), actor="canary", evidence={"runs": 2},
    )  # fmt: skip
    assert full_text("Suspended.\nIt is probed further.\n", facts, "http://x/1").splitlines() == [
        "Suspended.",
        "It is probed further.",
        "",
        "What: suspend",
        "Model: acme/m",
        "Endpoint: host/fp8",
        "Rule: C12",
        "Effect: enforced (mode enforce)",
        "From: 2026-01-02 03:04:05 UTC",
        "Until: 2026-01-03 03:04:05 UTC",
        "By: canary",
        "Evidence: runs: 2",
        "",
        "http://x/1",
    ]


def test_what_observe_mode_only_recorded_says_that_nothing_was_excluded() -> None:
    facts = Facts(action=Action.SUSPEND, rule="C12", at=AT, mode="observe")
    assert "Effect: not enforced: nothing was excluded by it (mode observe)" in full_text("b", facts, "l")


def test_a_message_without_a_decision_has_only_its_body_and_link() -> None:
    assert full_text("Still blind.", None, "http://x/1") == "Still blind.\n\nhttp://x/1\n"


def test_hostile_evidence_stays_one_bounded_line() -> None:
    line = evidence_line({"text": "a\r\nSubject: forged\x00" + "x" * 1000})
    assert line.startswith("text: a Subject: forged")
    assert len(line) == EVIDENCE_LIMIT
    assert len(line.splitlines()) == 1
