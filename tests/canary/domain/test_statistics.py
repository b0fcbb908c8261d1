"""C17: the share of false positives with its Wilson interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.domain.statistics import false_positive_share, wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3 (score, uncorrected).
        pytest.param(81, 263, 0.2553, 0.3662, id="81 of 263"),
        pytest.param(15, 148, 0.0624, 0.1605, id="15 of 148"),
        pytest.param(0, 20, 0.0, 0.1611, id="0 of 20"),
        pytest.param(1, 29, 0.0061, 0.1718, id="1 of 29"),
    ],
)
def test_the_interval_equals_published_values(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(st.integers(1, 10_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_the_interval_holds_the_share_and_stays_between_0_and_1(counts: tuple[int, int]) -> None:
    successes, trials = counts
    interval = wilson_interval(successes, trials)
    assert 0 <= interval.low <= successes / trials <= interval.high <= 1
    assert interval.low < interval.high


@given(st.integers(1, 500).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_successes_and_failures_mirror_each_other(counts: tuple[int, int]) -> None:
    successes, trials = counts
    one, other = wilson_interval(successes, trials), wilson_interval(trials - successes, trials)
    assert one.low == pytest.approx(1 - other.high, abs=1e-12)
    assert one.high == pytest.approx(1 - other.low, abs=1e-12)


@given(st.integers(1, 200).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_more_trials_of_the_same_share_and_less_confidence_narrow_it(counts: tuple[int, int]) -> None:
    successes, trials = counts

    def width(times: int, confidence: float) -> float:
        interval = wilson_interval(successes * times, trials * times, confidence=confidence)
        return interval.high - interval.low

    assert width(10, 0.95) < width(1, 0.95)
    assert width(1, 0.8) < width(1, 0.95)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, 0), (1, 0), (0, -1)])
def test_counts_that_are_no_share_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        wilson_interval(successes, trials)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, float("nan")])
def test_a_confidence_outside_0_and_1_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        wilson_interval(1, 5, confidence=confidence)


@pytest.mark.parametrize(
    ("false", "correct", "share", "has_interval"),
    [
        pytest.param(0, 0, None, False, id="no judgement"),
        pytest.param(1, 3, 0.25, False, id="4 judgements"),
        pytest.param(1, 4, 0.2, True, id="5 judgements"),
        pytest.param(5, 0, 1.0, True, id="all false"),
        pytest.param(0, 5, 0.0, True, id="none false"),
    ],
)
def test_the_share_is_false_of_false_and_correct_and_has_no_interval_below_5_judgements(
    false: int, correct: int, share: float | None, has_interval: bool
) -> None:
    measured = false_positive_share(false=false, correct=correct)
    assert (measured.share, measured.interval is not None) == (share, has_interval)
    assert measured.judgements == false + correct


@pytest.mark.parametrize(("false", "correct"), [(-1, 9), (9, -1)])
def test_negative_counts_are_refused(false: int, correct: int) -> None:
    with pytest.raises(ValueError, match="counted from 0"):
        false_positive_share(false=false, correct=correct)
