"""Rules C8 (beginnings) and C9 (confirmation): from runs to contract verdicts."""

import pytest

from canary.domain.pooling import Pooled, RunFacts, needs_confirmation, pool
from canary.domain.verdicts import Contract, Reason, Verdict

PASS, FAIL, INCONCLUSIVE, UNREACHABLE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.UNREACHABLE
REASONS = {
    PASS: Reason.OK,
    FAIL: Reason.MIXED_LANGUAGES,
    INCONCLUSIVE: Reason.TOO_SHORT,
    UNREACHABLE: Reason.SERVER_ERROR,
}


def language(*verdicts: Verdict | None, corrupt: tuple[int, ...] = ()) -> list[RunFacts]:
    """Language runs in order; `corrupt` are the ordinals whose answer began corrupted."""
    return [
        RunFacts(
            contract=Contract.LANGUAGE,
            ordinal=ordinal,
            verdict=verdict,
            reason=REASONS[verdict] if verdict else None,
            begins_corrupt=(ordinal in corrupt) if verdict in (PASS, FAIL) else None,
        )
        for ordinal, verdict in enumerate(verdicts)
    ]


def latency(verdict: Verdict | None = PASS, *, corrupt: bool | None = False) -> RunFacts:
    return RunFacts(
        contract=Contract.LATENCY,
        verdict=verdict,
        reason=REASONS[verdict] if verdict else None,
        begins_corrupt=corrupt,
    )


def language_of(pooled: Pooled) -> Verdict:
    return pooled.verdicts[Contract.LANGUAGE]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(language(FAIL), True, id="a language fail"),
        pytest.param(language(PASS), False, id="a language pass"),
        pytest.param(language(INCONCLUSIVE), False, id="an inconclusive run"),
        pytest.param(language(None), False, id="a missing run"),
        pytest.param([latency(corrupt=True), *language(PASS)], True, id="exactly one corrupt beginning"),
        pytest.param(
            [latency(corrupt=True), *language(PASS, corrupt=(0,))], False, id="two decide by themselves"
        ),
        pytest.param([latency(FAIL)], False, id="another contract's fail"),
    ],
)
def test_a_language_fail_or_one_corrupt_beginning_asks_for_confirmation(
    runs: list[RunFacts], expected: bool
) -> None:
    assert needs_confirmation(runs) is expected


@pytest.mark.parametrize(
    ("verdicts", "expected", "freezes"),
    [
        pytest.param((FAIL, FAIL, FAIL), FAIL, False, id="three fail"),
        pytest.param((FAIL, FAIL, PASS), FAIL, False, id="two of three fail"),
        pytest.param((FAIL, PASS, PASS), PASS, False, id="two of three pass"),
        pytest.param((FAIL, PASS, INCONCLUSIVE), INCONCLUSIVE, False, id="no majority"),
        pytest.param((FAIL, PASS, UNREACHABLE), INCONCLUSIVE, False, id="one unreachable, no majority"),
        pytest.param((FAIL, UNREACHABLE, UNREACHABLE), INCONCLUSIVE, True, id="both unreachable freeze"),
        pytest.param((FAIL, None, None), INCONCLUSIVE, True, id="both missing freeze"),
        pytest.param((FAIL, None, UNREACHABLE), INCONCLUSIVE, True, id="one missing, one unreachable freeze"),
    ],
)
def test_two_of_three_decide(verdicts: tuple[Verdict | None, ...], expected: Verdict, freezes: bool) -> None:
    pooled = pool(language(*verdicts))
    assert (language_of(pooled), pooled.is_incomplete) == (expected, freezes)


def test_two_of_three_decide_whatever_the_reasons() -> None:
    first, second, third = language(FAIL, FAIL, PASS)
    other = RunFacts(contract=Contract.LANGUAGE, ordinal=1, verdict=FAIL, reason=Reason.MOJIBAKE)
    pooled = pool([first, other, third])
    assert (language_of(pooled), pooled.reasons[Contract.LANGUAGE]) == (FAIL, Reason.MIXED_LANGUAGES)
    assert second.verdict is FAIL


@pytest.mark.parametrize(
    ("corrupt", "expected"),
    [
        pytest.param((), PASS, id="none"),
        pytest.param((1,), PASS, id="exactly one of the round, after its confirmations"),
        pytest.param((0, 2), FAIL, id="two"),
        pytest.param((0, 1, 2), FAIL, id="three"),
    ],
)
def test_two_corrupt_beginnings_fail_the_language_contract(
    corrupt: tuple[int, ...], expected: Verdict
) -> None:
    pooled = pool(language(PASS, PASS, PASS, corrupt=corrupt))
    assert language_of(pooled) is expected
    if expected is FAIL:
        assert pooled.reasons[Contract.LANGUAGE] is Reason.CORRUPTED_BEGINNING


def test_beginnings_are_pooled_over_all_prose_answers_of_the_round() -> None:
    assert language_of(pool([latency(corrupt=True), *language(PASS, corrupt=(0,))])) is FAIL


def test_a_missing_result_is_unreachable() -> None:
    pooled = pool([latency(None), *language(PASS)])
    assert pooled.verdicts == {Contract.LATENCY: UNREACHABLE, Contract.LANGUAGE: PASS}


def test_beginnings_say_nothing_where_the_language_was_not_asked() -> None:
    filtering = RunFacts(contract=Contract.FILTERING, verdict=PASS, reason=Reason.OK, begins_corrupt=True)
    assert Contract.LANGUAGE not in pool([latency(corrupt=True), filtering]).verdicts


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(language(FAIL), id="a fail whose confirmations never ran"),
        pytest.param([latency(corrupt=True), *language(PASS)], id="one corrupt beginning, never confirmed"),
    ],
)
def test_without_the_confirmations_it_was_owed_a_language_verdict_decides_nothing(
    runs: list[RunFacts],
) -> None:
    pooled = pool(runs)
    assert (language_of(pooled), pooled.is_incomplete) == (INCONCLUSIVE, True)
