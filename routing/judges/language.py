"""Is this answer in the expected language? Rule C8: wholly another language, sustained mixing, or neither.

A Unicode-script gate looks first; then langdetect names the language of the whole answer and py3langid looks
once at the whole among everything it knows; windows find mixing. Measured on clean and spliced text in 17
languages (tests/benchmarks/verdicts.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from routing.judges import detectors
from routing.judges.findings import Fault, Finding, faulty, sound, unsure
from routing.judges.languages import (
    DEFAULT_POLICY,
    LANGUAGES,
    Language,
    LanguagePolicy,
    language_of,
    owner_of,
)
from routing.judges.mixing import Intrusion, by_language, find_intrusions, is_mixed
from routing.judges.scripts import Letter, Script, chinese_variants, letters_of, shares, weigh

_SHOWN_INTRUSIONS = 8

# Every quantifier is bounded, so that hostile text costs linear time.
_NOT_PROSE = re.compile(
    r"```[^`]{0,4000}```|`[^`\n]{1,200}`"
    r"|(?:https?://|www\.)[!-~]{1,2000}"
    r"|[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,255}"
    r"|</?[A-Za-z][^<>]{0,200}>|&#?[A-Za-z0-9]{1,10};"
    r"|[A-Za-z0-9.-]{0,60}[_/][A-Za-z0-9_./-]{1,200}"
)


def judge_language(text: str, expected: str, *, policy: LanguagePolicy = DEFAULT_POLICY) -> Finding:
    """Whether `text` is in the language `expected` (a code of `LANGUAGES`; else `ValueError`).

    Evidence: `letters` (weight), `scripts` (shares), `whole` (both detectors' opinions), `intruder`, `share`
    and `intrusions` (positions in the text, with an excerpt) when a foreign language was seen, `variants`
    (Simplified, Traditional) for Chinese.
    """
    language = language_of(expected)
    prose = blank_out_code(text[: policy.max_chars])
    letters = letters_of(prose)
    total = weigh(letters)
    evidence: dict[str, Any] = {"expected": expected, "letters": total, "scripts": _rounded(shares(letters))}
    if total < policy.min_weight:
        return unsure(Fault.TOO_SHORT, **evidence)
    whole = evidence["whole"] = _whole_opinion(prose)
    if Script.HAN in language.typical:
        evidence["variants"] = chinese_variants(prose)
    outside = _language_outside(whole, language, policy)
    if outside is not None:
        return faulty(Fault.WRONG_LANGUAGE, **evidence, intruder=outside)
    intrusions = find_intrusions(prose, letters, language, policy)
    other = _other_language_of_whole(letters, whole, language, policy)
    if is_mixed(intrusions, total, policy) and (
        other is None or _share(intrusions, total) < policy.whole_share
    ):
        return faulty(Fault.MIXED_LANGUAGES, **evidence, **_describe(intrusions, prose, total))
    if other is not None:
        return faulty(Fault.WRONG_LANGUAGE, **evidence, intruder=other)
    evidence |= _describe(intrusions, prose, total)
    return sound(**evidence) if _is_recognised(whole, language) else unsure(Fault.AMBIGUOUS, **evidence)


def blank_out_code(text: str) -> str:
    """The text with code, addresses and mark-up replaced by spaces, every other character in its place."""
    return _NOT_PROSE.sub(lambda match: " " * len(match.group()), text)


def _rounded(values: Mapping[Any, float]) -> dict[str, float]:
    return {str(key): round(value, 3) for key, value in values.items()}


def _whole_opinion(prose: str) -> dict[str, dict[str, float]]:
    return {
        "langdetect": dict(detectors.opinion_on_whole(prose)),
        "py3langid": _top(detectors.rank_among(prose, LANGUAGES)),
        "py3langid_unrestricted": _top(detectors.rank_unrestricted(prose)),
    }


def _top(ranked: Mapping[str, float], count: int = 3) -> dict[str, float]:
    first = list(ranked.items())[:count]
    return {code: round(value, 3) for code, value in first if value >= 0.001}


def _first(ranked: Mapping[str, float]) -> str | None:
    return next(iter(ranked), None)


def _other_language_of_whole(
    letters: Sequence[Letter],
    whole: Mapping[str, Mapping[str, float]],
    language: Language,
    policy: LanguagePolicy,
) -> str | None:
    share = shares(letters)
    if sum(share.get(script, 0.0) for script in language.scripts) < policy.own_script_share:
        return _language_in_script(next(iter(share)), whole)
    named, seconded = _first(whole["langdetect"]), _first(whole["py3langid"])
    if named is not None and named == seconded != language.code and _may_be_written(named, share, policy):
        return named
    return None


def _share(intrusions: Sequence[Intrusion], total: int) -> float:
    return sum(run.weight for run in intrusions) / total


def _language_in_script(script: Script, whole: Mapping[str, Mapping[str, float]]) -> str:
    """The language of an answer without the expected one's letters: the detectors', if it is written so."""
    code = _first(whole["py3langid"])
    return code if code is not None and script in LANGUAGES[code].scripts else owner_of(script)


def _may_be_written(code: str, share: Mapping[Script, float], policy: LanguagePolicy) -> bool:
    """Langdetect calls Chinese in mixed variants Korean: a language needs its own letters."""
    row = LANGUAGES[code]
    written = sum(share.get(script, 0.0) for script in row.scripts)
    return written >= policy.script_share and any(share.get(s, 0.0) > policy.kana_trace for s in row.typical)


def _language_outside(
    whole: Mapping[str, Mapping[str, float]], language: Language, policy: LanguagePolicy
) -> str | None:
    """A language that is not one of the judged ones, by the one unrestricted look."""
    ranked = whole["py3langid_unrestricted"]
    code = _first(ranked)
    if code is None or code in LANGUAGES or code in language.varieties:
        return None
    return code if ranked[code] - ranked.get(language.code, 0.0) > policy.outside_margin else None


def _is_recognised(whole: Mapping[str, Mapping[str, float]], language: Language) -> bool:
    named = {_first(ranked) for ranked in whole.values()}
    return bool(named & ({language.code} | language.varieties))


def _describe(intrusions: Sequence[Intrusion], prose: str, total: int) -> dict[str, Any]:
    if not intrusions:
        return {}
    weights = {code: sum(run.weight for run in runs) for code, runs in by_language(intrusions).items()}
    intruder = max(sorted(weights), key=lambda code: weights[code])
    return {
        "intruder": intruder,
        "share": round(weights[intruder] / total, 3),
        "intrusions": [_shown(run, prose) for run in intrusions[:_SHOWN_INTRUSIONS]],
    }


def _shown(run: Intrusion, prose: str) -> dict[str, Any]:
    return {
        "language": run.language,
        "start": run.start,
        "end": run.end,
        "windows": run.windows,
        "sentences": run.sentences,
        "margin": run.margin,
        "excerpt": prose[run.start : run.end][:80],
    }
