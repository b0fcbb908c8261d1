"""`route --explain`: every endpoint, in or out, and by which tier and rule."""

from datetime import timedelta

import pytest

from routing.domain.explanation import Lane, explain
from tests.routing.domain.rows import MODEL, NOW, NOW_S, builtin, canary, excluded, model, snapshot


def line_of(compiled, tag: str = "alpha", provider=None, *, is_serving: bool = True, is_fitting: bool = True):
    lane = Lane(tag=tag, is_serving=is_serving, is_fitting=is_fitting)
    (line,) = explain(compiled.plan((MODEL,), NOW_S), provider, [lane])
    return line.is_in, line.rule, line.by, line.reason


@pytest.mark.parametrize(
    ("entry", "by"),
    [(builtin("alpha"), "builtin"), (excluded("alpha"), "runtime"), (canary("alpha"), "canary")],
)
def test_an_excluded_endpoint_is_out_by_its_tier(entry, by: str) -> None:
    is_in, rule, named, reason = line_of(snapshot(entry))
    assert (is_in, rule, named) == (False, "R1", by)
    assert "alpha failed" in reason


def test_a_suspended_endpoint_says_until_when() -> None:
    assert (
        "until 2026-05-04 13:00:00 UTC"
        in line_of(snapshot(canary("alpha", ends_at=NOW + timedelta(hours=1))))[3]
    )


def test_what_nothing_excludes_is_in() -> None:
    assert line_of(snapshot(excluded("beta"))) == (True, "R1", "", "Nothing excludes it.")


def test_what_gave_way_is_in_by_r2() -> None:
    assert line_of(snapshot(canary("alpha"), serving=["alpha"]))[:3] == (True, "R2", "canary")


def test_where_no_route_is_left_everything_is_out() -> None:
    assert line_of(snapshot(builtin("alpha"), serving=["alpha"]))[:3] == (False, "R1", "builtin")


@pytest.mark.parametrize(
    ("provider", "by"),
    [({"ignore": ["alpha"]}, "caller"), ({"only": ["beta"]}, "caller"), (None, "preferences")],
)
def test_the_callers_and_the_models_own_words_keep_out_too(provider, by: str) -> None:
    watched = model(serving=["alpha", "beta"], preferences={} if provider else {"only": ["beta"]})
    assert line_of(snapshot(models=[watched]), provider=provider)[:3] == (False, "R1", by)


def test_what_does_not_serve_or_does_not_fit_is_out() -> None:
    assert line_of(snapshot(), is_serving=False)[:3] == (False, "C1", "catalogue")
    assert line_of(snapshot(), is_fitting=False)[:3] == (False, "Terms", "preferences")
