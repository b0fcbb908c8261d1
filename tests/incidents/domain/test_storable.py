"""Hostile text becomes storable and stays one line where one line is meant."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.domain.actions import Action
from incidents.domain.storable import one_line, storable_json, storable_text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("a\x00b", "a\ufffdb", id="nul"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param("a\u202eb", "a\ufffdb", id="direction override"),
        pytest.param("a\x1b[31mb", "a\ufffd[31mb", id="terminal escape"),
        pytest.param("a\r\nb\rc\td", "a\nb\nc\td", id="line breaks and tabs stay"),
        pytest.param("日本語 😀", "日本語 😀", id="every script stays"),
    ],
)
def test_text_is_kept_but_for_what_cannot_be_stored_or_shown(text: str, stored: str) -> None:
    assert storable_text(text) == stored


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("  a\r\nBcc: all@example.org ", "a Bcc: all@example.org", id="header injection"),
        pytest.param("a\u2028b\u0085c", "a b c", id="unicode line breaks"),
        pytest.param("x" * 10, "x" * 10, id="at the limit"),
        pytest.param("x" * 11, "x" * 9 + "…", id="over the limit"),
    ],
)
def test_one_line_holds_one_line_of_bounded_length(text: str, line: str) -> None:
    assert one_line(text, 30 if "a" in text else 10) == line


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_one_line_is_always_encodable_bounded_and_without_breaks(text: str, limit: int) -> None:
    line = one_line(text, limit)
    line.encode()
    assert len(line) <= limit
    assert line.splitlines() in ([], [line])
    assert "\x00" not in line


def test_json_takes_the_values_of_our_records() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    value: Mapping[Any, Any] = {
        "set": {"b", "a"}, "tuple": (1, 2.5, None, True), "price": Decimal("0.10"), "at": at,
        "action": Action.STOP, "nan": float("nan"), "text": "a\x00", 3: "number key",
    }  # fmt: skip
    assert storable_json(value) == {
        "set": ["a", "b"], "tuple": [1, 2.5, None, True], "price": "0.10", "at": "2026-01-02T03:04:05+00:00",
        "action": "stop", "nan": "nan", "text": "a\ufffd", "3": "number key",
    }  # fmt: skip


def test_what_cannot_be_json_is_our_mistake() -> None:
    with pytest.raises(TypeError, match="object cannot be stored as evidence"):
        storable_json({"x": object()})
