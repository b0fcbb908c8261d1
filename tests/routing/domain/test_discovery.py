"""Rule C1: a list that loses more than half its endpoints at once is believed only when the next one agrees."""

import pytest

from routing.domain.discovery import Believed, weigh

FOUR = frozenset({"a", "b", "c", "d"})


@pytest.mark.parametrize(
    ("serving", "listed", "shrunk", "believed"),
    [
        pytest.param(FOUR, FOUR, None, Believed(), id="nothing changed"),
        pytest.param(FOUR, {"a", "b"}, None, Believed(left=("c", "d")), id="exactly half is believed"),
        pytest.param(
            FOUR, {"a"}, None, Believed(held_back=("b", "c", "d"), shrunk=("a",)), id="more than half is not"
        ),
        pytest.param(FOUR, {"a"}, ["a"], Believed(left=("b", "c", "d")), id="the next one agrees"),
        pytest.param(
            FOUR, {"a", "e"}, ["a"], Believed(left=("b", "c", "d")), id="it agrees and brings a new one"
        ),
        pytest.param(
            FOUR,
            {"b"},
            ["a"],
            Believed(held_back=("a", "c", "d"), shrunk=("b",)),
            id="the next one is another short one",
        ),
        pytest.param(FOUR, FOUR, ["a"], Believed(), id="the next one is whole again"),
        pytest.param(
            FOUR, {"a", "b", "c"}, ["a"], Believed(left=("d",)), id="the next one lacks less than half"
        ),
        pytest.param(
            {"a"}, {"z"}, None, Believed(held_back=("a",), shrunk=("z",)), id="the only one at once"
        ),
        pytest.param({"a"}, {"z"}, ["z"], Believed(left=("a",)), id="the only one, confirmed"),
        pytest.param(set(), {"a"}, None, Believed(), id="a first list"),
        pytest.param(
            {"a", "b", "c"}, {"a"}, None, Believed(held_back=("b", "c"), shrunk=("a",)), id="two of three"
        ),
        pytest.param({"a", "b", "c"}, {"a", "b"}, None, Believed(left=("c",)), id="one of three"),
    ],
)
def test_a_much_shorter_list_waits_for_the_next_one(serving, listed, shrunk, believed: Believed) -> None:
    assert weigh(frozenset(serving), frozenset(listed), shrunk) == believed
