"""Language and integrity (C8): the order of the judges and what is left to other contracts."""

from typing import Any

import pytest

from canary.domain.verdicts import Contract
from canary.probes.language import LanguageProbe
from canary.probes.registry import probe_of
from routing.gateways.base import Exchange
from routing.judges.languages import LANGUAGES
from tests.canary.probes.exchanges import FACTS, finished, request_for
from tests.routing.judges.texts import PROSE, TRADITIONAL


def judged(exchange: Exchange, language: str = "en") -> tuple[str, str]:
    judgement = LanguageProbe().judge(exchange, request_for(Contract.LANGUAGE, language=language))
    return judgement.verdict.value, judgement.reason.value


@pytest.mark.parametrize("code", LANGUAGES)
def test_prose_in_the_language_asked_for_passes(code: str) -> None:
    assert judged(finished(PROSE[code]), code) == ("pass", "ok")


@pytest.mark.parametrize(
    ("text", "language", "outcome"),
    [
        (PROSE["es"], "pt", ("fail", "wrong_language")),
        (PROSE["pt"] + PROSE["es"], "pt", ("fail", "mixed_languages")),
        (PROSE["fr"].encode().decode("latin-1"), "fr", ("fail", "mojibake")),
        (PROSE["en"].replace("storm", "st\ufffdrm"), "en", ("fail", "replacement_char")),
        (PROSE["en"] + "<|im_end|>", "en", ("fail", "special_token")),
        (PROSE["en"] + " and the wind" * 200, "en", ("fail", "repetition")),
        ("Come in.", "en", ("inconclusive", "too_short")),
        (PROSE["en"] + "\ufffd", "en", ("inconclusive", "truncated")),
        ("", "en", ("inconclusive", "empty")),
        (
            "I'm sorry, but I can't assist with that request. " + PROSE["en"],
            "en",
            ("inconclusive", "refusal"),
        ),
        (TRADITIONAL, "zh", ("pass", "ok")),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) == 2 else None,
)
def test_the_first_thing_wrong_is_the_reason(text: str, language: str, outcome: tuple[str, str]) -> None:
    assert judged(finished(text), language) == outcome


def test_damage_comes_before_the_language_and_the_language_before_a_cut_last_character() -> None:
    assert judged(finished(PROSE["es"] + "<unk>"), "pt") == ("fail", "special_token")
    assert judged(finished(PROSE["es"] + "\ufffd"), "pt") == ("fail", "wrong_language")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"finish_reason": "content_filter"}, "content_filter"),
        ({"refusal": "No."}, "refusal"),
        ({"text": "", "reasoning": "Hm.", "finish_reason": "length"}, "reasoning_only"),
        ({"text": PROSE["es"], "malformed_events": 1}, "ambiguous"),
    ],
    ids=["filter", "refusal-field", "reasoning", "lost-piece"],
)
def test_what_is_another_contracts_business_is_inconclusive(fields: dict[str, Any], reason: str) -> None:
    assert judged(finished(**{"text": PROSE["en"], **fields})) == ("inconclusive", reason)


def test_an_answer_that_ends_for_its_length_is_judged_as_far_as_it_goes() -> None:
    assert judged(finished(PROSE["en"], finish_reason="length")) == ("pass", "ok")


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_variant_is_another_prompt_round_and_round(code: str) -> None:
    probe = probe_of(Contract.LANGUAGE)
    ids = [probe.request(FACTS, language=code, variant=n, limit_s=10).prompt_id for n in range(4)]
    assert len(set(ids)) == 3
    assert ids[3] == ids[0]
    assert all(prompt_id.startswith(f"{code}-") for prompt_id in ids)


def test_a_language_that_is_not_judged_is_refused() -> None:
    with pytest.raises(ValueError, match="'xx' is not judged"):
        probe_of(Contract.LANGUAGE).request(FACTS, language="xx", variant=0, limit_s=10)
