"""The snapshot on disk: what is written is read again, and nothing else is believed."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.domain.exclusion_rows import Rows
from routing.domain.modes import Tier
from routing.domain.snapshot_codec import SnapshotUnreadable, decode, encode
from tests.routing.domain.rows import NOW, builtin, canary, excluded, model
from tests.routing.domain.test_list_properties import TAGS, exclusion_lists

ROWS = Rows(
    version=7,
    is_stopped=True,
    exclusions=(canary("one/fp8"), excluded("two", model=None, may_give_way=True)),
    models=(model(serving=["one/fp8"], preferences={"zdr": True}), model("author/other", discovered_at=None)),
    tags=frozenset({"one/fp8", "two"}),
)


def document(**changes: Any) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(json.dumps(encode(ROWS, confirmed_at=NOW)))
    return written | changes


def test_the_rows_come_back_as_they_were() -> None:
    assert decode(document()) == (ROWS, NOW)


@given(exclusion_lists)
def test_any_rows_come_back_without_the_reviewed_tier(rows) -> None:
    written = json.loads(
        json.dumps(encode(Rows(exclusions=tuple(rows), tags=frozenset(TAGS)), confirmed_at=NOW))
    )
    kept = tuple(row for row in rows if row.tier is not Tier.BUILTIN)
    assert decode(written) == (Rows(exclusions=kept, tags=frozenset(TAGS)), NOW)


def test_the_reviewed_tier_is_not_written_because_it_is_read_from_the_code() -> None:
    assert encode(Rows(exclusions=(builtin("one"),)), confirmed_at=NOW)["exclusions"] == []


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([], id="a list"),
        pytest.param(None, id="nothing"),
        pytest.param(document(format=2), id="another format"),
        pytest.param(document(version="7"), id="a version that is text"),
        pytest.param(document(is_stopped=0), id="a switch that is a number"),
        pytest.param(document(exclusions={}) | {"exclusions": [{}]}, id="an exclusion without anything"),
        pytest.param(
            document(exclusions=[document()["exclusions"][0] | {"tier": "mine"}]), id="an unknown tier"
        ),
        pytest.param(
            document(exclusions=[document()["exclusions"][0] | {"entry": "no name"}]), id="a bad name"
        ),
        pytest.param(
            document(exclusions=[document()["exclusions"][0] | {"ends_at": "2026-05-04"}]), id="no zone"
        ),
        pytest.param(document(exclusions="abc"), id="exclusions that are text"),
        pytest.param(document(models=[document()["models"][0] | {"preferences": []}]), id="bad preferences"),
        pytest.param(document(tags=[3]), id="a tag that is a number"),
        pytest.param(
            {key: value for key, value in document().items() if key != "models"}, id="a part is missing"
        ),
        pytest.param(document(confirmed_at="yesterday"), id="no time"),
    ],
)
def test_what_is_half_readable_is_not_believed(broken) -> None:
    with pytest.raises(SnapshotUnreadable):
        decode(broken)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_refused_in_one_way(value) -> None:
    with pytest.raises(SnapshotUnreadable):
        decode(value)


def test_a_time_keeps_its_zone() -> None:
    _, confirmed_at = decode(document())
    assert confirmed_at.utcoffset() == timedelta(0)
