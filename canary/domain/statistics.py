"""How sure a share is: the false positives among a person's judgements, with their Wilson interval (rule C17)."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

# Rule C17: below so many judgements no interval is shown.
FEWEST_JUDGEMENTS = 5
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A confidence interval of a share; both ends lie in 0-1."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FalsePositiveShare:
    """False positives among the conclusive judgements; `unclear` ones are in neither number.

    `share` is None without a judgement, `interval` below `FEWEST_JUDGEMENTS` of them.
    """

    false: int
    correct: int
    share: float | None
    interval: Interval | None

    @property
    def judgements(self) -> int:
        """The number the share is of."""
        return self.false + self.correct


def false_positive_share(*, false: int, correct: int) -> FalsePositiveShare:
    """The share false / (false + correct) of C17, with its interval. Raises `ValueError` on a negative count."""
    if false < 0 or correct < 0:
        raise ValueError(f"Judgements are counted from 0: false {false}, correct {correct}.")
    judgements = false + correct
    return FalsePositiveShare(
        false=false,
        correct=correct,
        share=false / judgements if judgements else None,
        interval=wilson_interval(false, judgements) if judgements >= FEWEST_JUDGEMENTS else None,
    )


def wilson_interval(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> Interval:
    """The Wilson score interval, without continuity correction, of `successes` in `trials`.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
    American Statistical Association 22 (1927) 209-212: with p the share of n trials and z the two-sided
    normal quantile, (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n).
    Raises `ValueError` when the counts or the confidence make no sense.
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} of {trials} is no share.")
    if not 0 < confidence < 1:
        raise ValueError(f"A confidence lies between 0 and 1: {confidence} does not.")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    margin = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # At 0 and at all of them one end is the share itself; rounding must not push it past.
    low = 0.0 if successes == 0 else (centre - margin) / scale
    high = 1.0 if successes == trials else (centre + margin) / scale
    return Interval(low=low, high=high)
