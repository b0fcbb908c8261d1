"""Trackers and badges: told apart by more than colour, and words escaped."""

import pytest

from canary.domain.overview import Mark, Weight
from canary.domain.service_state import ServiceState
from canary.templatetags import routewarden as tags


def test_every_mark_of_a_tracker_has_a_shape_of_its_own() -> None:
    drawn = {mark: tags.tracker([mark], "").replace(mark.replace(" ", "-"), "") for mark in tags.SHAPES}
    assert len(set(drawn.values())) == len(tags.SHAPES) == len(Mark) - 1
    assert "<path" not in tags.tracker([Mark.ABSENT], "")


def test_a_tracker_draws_one_path_for_each_kind_of_mark_and_says_the_same_in_words() -> None:
    drawn = tags.tracker([Mark.CLEAN, Mark.FAILING, Mark.CLEAN], 'last 3 "rounds"')
    assert drawn.count("<path") == 2
    assert 'class="rw-clean" d="M0 0h5v18h-5zM14 0h5v18h-5z"' in drawn
    assert 'class="rw-failing" d="M7 0h5v7h-5zM7 11h5v7h-5z"' in drawn
    assert 'role="img" aria-label="last 3 &quot;rounds&quot;"' in drawn
    assert 'width="21"' in drawn


@pytest.mark.parametrize("state", ServiceState)
def test_every_state_has_a_badge_with_its_word(state: ServiceState) -> None:
    assert f">{state}</span>" in tags.state_badge(state)


@pytest.mark.parametrize("weight", Weight)
def test_every_weight_has_a_badge_with_its_word(weight: Weight) -> None:
    assert f">{weight}</span>" in tags.weight_badge(weight)
