"""Bytes to lines to data, however they are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.gateways.sse import LineSplitter, data_of


def split(*chunks: bytes) -> list[str]:
    splitter = LineSplitter()
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.flush()


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ((b"a\nb\n",), ["a", "b"]),
        ((b"a\r\nb\r\n",), ["a", "b"]),
        ((b"a\rb\r",), ["a", "b"]),
        ((b"a\r", b"\nb\n"), ["a", "b"]),
        ((b"a\r", b"b"), ["a", "b"]),
        ((b"a\r", b"", b"\nb"), ["a", "b"]),
        ((b"a\n\n\nb",), ["a", "", "", "b"]),
        ((b"a", b"", b"b", b"\n"), ["ab"]),
        (("a\u2028\u0085b\n".encode(),), ["a\u2028\u0085b"]),
        ((b"\xf0\x9f", b"\x98\x80\n"), ["😀"]),
        ((b"\xff\n",), ["\ufffd"]),
        ((), []),
    ],
)
def test_lines_end_at_line_feeds_and_carriage_returns_only(
    chunks: tuple[bytes, ...], lines: list[str]
) -> None:
    assert split(*chunks) == lines


@given(st.text(alphabet="ab\r\né"), st.lists(st.integers(0, 40)))
def test_where_the_bytes_are_cut_changes_nothing(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert split(*(data[begin:end] for begin, end in pairwise(places))) == split(data)


@pytest.mark.parametrize(
    ("line", "data"),
    [
        ("data: a", "a"),
        ("data:a", "a"),
        ("data:  a", " a"),
        ("data:", ""),
        ("data", ""),
        (": data", None),
        ("event: x", None),
        ("", None),
        (" data: a", None),
        ("database: a", None),
    ],
)
def test_only_a_data_field_holds_data(line: str, data: str | None) -> None:
    assert data_of(line) == data
