"""Is this answer in the expected language? Rule C8: wholly another language, sustained mixing, or neither.

A Unicode-script gate looks first; then langdetect names the language of the whole answer, py3langid looks
once at the whole among everything it knows, and py3langid again at overlapping windows. The thresholds were
measured on clean and spliced text in 17 languages (docs/verdicts.md).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.judges import detectors
from routing.judges.findings import Fault, Finding, faulty, sound, unsure
from routing.judges.languages import LANGUAGES, Language, language_of
from routing.judges.scripts import Letter, Script, letters_of, shares, weigh


@dataclass(frozen=True, kw_only=True)
class LanguagePolicy:
    """The thresholds, all measured. Weights are in Latin letters (a Han character is three)."""

    min_weight: int = 80
    window_weight: int = 40
    step_weight: int = 20
    margin: float = 0.6
    script_share: float = 0.6
    min_share: float = 0.10
    min_windows: int = 2
    one_sentence_share: float = 0.35
    kana_share: float = 0.2
    outside_margin: float = 0.6
    max_chars: int = 20_000


DEFAULT_POLICY = LanguagePolicy()

_GROUPS = (
    frozenset({Script.HAN, Script.KANA}),
    *(frozenset({script}) for script in Script if script not in (Script.HAN, Script.KANA)),
)
_LATIN_LANGUAGES = frozenset(code for code, row in LANGUAGES.items() if Script.LATIN in row.scripts)
_CYRILLIC_LANGUAGES = frozenset(code for code, row in LANGUAGES.items() if Script.CYRILLIC in row.scripts)

# Every quantifier is bounded or followed by what it cannot match, so that hostile text costs linear time.
_NOT_PROSE = re.compile(
    r"```[^`]{0,4000}```|`[^`\n]{1,200}`"
    r"|(?:https?://|www\.)[!-~]{1,2000}"
    r"|[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,255}"
    r"|</?[A-Za-z][^<>]{0,200}>|&#?[A-Za-z0-9]{1,10};"
)
_SENTENCE_END = re.compile(r"[.!?…。！？\n]+[\"'”’»」』)*_]*")


@dataclass(frozen=True, kw_only=True)
class Intrusion:
    """A run of neighbouring windows of one foreign language: character positions and its weight."""

    language: str
    start: int
    end: int
    weight: int
    windows: int
    margin: float


def judge_language(text: str, expected: str, *, policy: LanguagePolicy = DEFAULT_POLICY) -> Finding:
    """Whether `text` is in the language `expected` (a code of `LANGUAGES`; else `ValueError`).

    Evidence: `letters` (weight), `scripts` (shares), `whole` (both detectors' opinions), `intruder`, `share`
    and `intrusions` (positions in the text, with an excerpt) when a foreign language was seen.
    """
    language = language_of(expected)
    prose = blank_out_code(text[: policy.max_chars])
    letters = letters_of(prose)
    evidence: dict[str, Any] = {
        "expected": expected,
        "letters": weigh(letters),
        "scripts": _rounded(shares(letters)),
    }
    if weigh(letters) < policy.min_weight:
        return unsure(Fault.TOO_SHORT, **evidence)
    whole = _whole_opinion(prose)
    evidence["whole"] = whole
    evidence |= _chinese_variant(prose, language)
    other = _other_language_of_whole(letters, whole, language, policy)
    if other is not None:
        return faulty(Fault.WRONG_LANGUAGE, **evidence, intruder=other)
    intrusions = find_intrusions(prose, letters, language, policy)
    evidence |= _describe(intrusions, prose, weigh(letters))
    if _is_mixed(intrusions, prose, weigh(letters), policy):
        return faulty(Fault.MIXED_LANGUAGES, **evidence)
    if not _is_recognised(whole, language):
        return unsure(Fault.AMBIGUOUS, **evidence)
    return sound(**evidence)


def blank_out_code(text: str) -> str:
    """The text with code, addresses and mark-up replaced by spaces, every other character in its place."""
    return _NOT_PROSE.sub(lambda match: " " * len(match.group()), text)


def _rounded(values: Mapping[Any, float]) -> dict[str, float]:
    return {str(key): round(value, 3) for key, value in values.items()}


def _whole_opinion(prose: str) -> dict[str, Any]:
    among = detectors.rank_among(prose, LANGUAGES)
    unrestricted = detectors.rank_unrestricted(prose)
    return {
        "langdetect": dict(detectors.opinion_on_whole(prose)),
        "py3langid": _top(among),
        "py3langid_unrestricted": _top(unrestricted),
    }


def _top(ranked: Mapping[str, float], count: int = 3) -> dict[str, float]:
    return {code: round(value, 3) for code, value in list(ranked.items())[:count]}


def _first(ranked: Mapping[str, float]) -> str | None:
    return next(iter(ranked), None)


def _other_language_of_whole(
    letters: Sequence[Letter], whole: Mapping[str, Any], language: Language, policy: LanguagePolicy
) -> str | None:
    share = shares(letters)
    by_script = _other_script(share, language, policy)
    if by_script is not None:
        return by_script
    named, seconded = _first(whole["langdetect"]), _first(whole["py3langid"])
    if named == seconded and named not in (None, language.code) and _may_be_written(named, share, policy):
        return named
    return _language_outside(whole, language, policy)


def _other_script(share: Mapping[Script, float], language: Language, policy: LanguagePolicy) -> str | None:
    """The language or script of an answer that is hardly written in the expected one's letters."""
    if sum(share.get(script, 0.0) for script in language.scripts) < 1 - 0.9:
        return _name_of_script(next(iter(share)))
    return None


def _name_of_script(script: Script) -> str:
    owners = [code for code, row in LANGUAGES.items() if script in row.typical]
    return owners[0] if len(owners) == 1 else script.value


def _may_be_written(code: str, share: Mapping[Script, float], policy: LanguagePolicy) -> bool:
    row = LANGUAGES[code]
    written = sum(share.get(script, 0.0) for script in row.scripts)
    return written >= policy.script_share and any(share.get(script, 0.0) > 0.05 for script in row.typical)


def _language_outside(whole: Mapping[str, Any], language: Language, policy: LanguagePolicy) -> str | None:
    ranked = whole["py3langid_unrestricted"]
    code = _first(ranked)
    if code is None or code in LANGUAGES or code in language.varieties:
        return None
    return code if ranked[code] - ranked.get(language.code, 0.0) > policy.outside_margin else None


def _is_recognised(whole: Mapping[str, Any], language: Language) -> bool:
    named = {_first(whole["langdetect"]), _first(whole["py3langid"]), _first(whole["py3langid_unrestricted"])}
    return bool(named & ({language.code} | language.varieties))


def _chinese_variant(prose: str, language: Language) -> dict[str, Any]:
    return {}


def find_intrusions(
    prose: str, letters: Sequence[Letter], language: Language, policy: LanguagePolicy
) -> list[Intrusion]:
    """The runs of foreign windows in order of position; neighbouring or overlapping windows are one run."""
    runs: list[Intrusion] = []
    last_index = -1
    for first, last in _windows(letters, policy):
        window = letters[first:last]
        start, end = window[0].index, window[-1].index + 1
        seen = _foreign_language(prose[start:end], window, language, policy)
        if seen is None:
            continue
        code, margin = seen
        if runs and runs[-1].language == code and first <= last_index:
            previous = runs.pop()
            runs.append(
                Intrusion(
                    language=code,
                    start=previous.start,
                    end=end,
                    weight=previous.weight + weigh(letters[last_index:last]),
                    windows=previous.windows + 1,
                    margin=max(previous.margin, margin),
                )
            )
        else:
            fresh = max(first, last_index) if runs else first
            runs.append(
                Intrusion(
                    language=code,
                    start=start,
                    end=end,
                    weight=weigh(letters[fresh:last]),
                    windows=1,
                    margin=margin,
                )
            )
        last_index = last
    return runs


def _windows(letters: Sequence[Letter], policy: LanguagePolicy) -> list[tuple[int, int]]:
    """Half-open index ranges into `letters`, each about `window_weight` heavy, `step_weight` apart."""
    cumulative = [0]
    for letter in letters:
        cumulative.append(cumulative[-1] + letter.weight)
    ranges = []
    first, last = 0, 0
    target = 0
    while first < len(letters):
        while last < len(letters) and cumulative[last] - cumulative[first] < policy.window_weight:
            last += 1
        ranges.append((first, last))
        if last == len(letters):
            break
        target += policy.step_weight
        while cumulative[first] < target:
            first += 1
    return ranges


def _foreign_language(
    text: str, window: Sequence[Letter], language: Language, policy: LanguagePolicy
) -> tuple[str, float] | None:
    share = shares(window)
    for group in _GROUPS:
        if sum(share.get(script, 0.0) for script in group) >= policy.script_share:
            return _foreign_in_group(group, text, share, language, policy)
    return None


def _foreign_in_group(
    group: frozenset[Script],
    text: str,
    share: Mapping[Script, float],
    language: Language,
    policy: LanguagePolicy,
) -> tuple[str, float] | None:
    if Script.HAN in group:
        return _foreign_in_east_asian(text, share, language, policy)
    script = next(iter(group))
    if script in language.scripts:
        rivals = [code for code, row in LANGUAGES.items() if script in row.scripts]
        return _beats(text, rivals, language.code, policy) if len(rivals) > 1 else None
    if script is Script.LATIN:
        if not _is_latin_prose(text):
            return None
        return next(iter(detectors.rank_among(text, _LATIN_LANGUAGES))), 1.0
    if script is Script.CYRILLIC:
        return next(iter(detectors.rank_among(text, _CYRILLIC_LANGUAGES))), 1.0
    return _name_of_script(script), 1.0


def _beats(
    text: str, rivals: Sequence[str], expected: str, policy: LanguagePolicy
) -> tuple[str, float] | None:
    ranked = detectors.rank_among(text, LANGUAGES)
    code = next(iter(ranked))
    margin = ranked[code] - ranked[expected]
    return (code, round(margin, 3)) if code != expected and margin > policy.margin else None


def _foreign_in_east_asian(
    text: str, share: Mapping[Script, float], language: Language, policy: LanguagePolicy
) -> tuple[str, float] | None:
    kana = share.get(Script.KANA, 0.0)
    if language.code == "ja":
        if kana > 0:
            return None
        ranked = detectors.rank_among(text, ("ja", "zh"))
        margin = ranked["zh"] - ranked["ja"]
        return ("zh", round(margin, 3)) if margin > policy.margin else None
    if language.code == "zh":
        return ("ja", 1.0) if kana > policy.kana_share else None
    return ("ja" if kana > 0.05 else "zh"), 1.0


def _is_latin_prose(text: str) -> bool:
    words = re.findall(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+", text)
    return bool(sum(word.islower() for word in words) >= max(2, len(words) / 3))


def _by_language(intrusions: Sequence[Intrusion]) -> dict[str, list[Intrusion]]:
    grouped: dict[str, list[Intrusion]] = {}
    for intrusion in intrusions:
        grouped.setdefault(intrusion.language, []).append(intrusion)
    return grouped


def _is_mixed(intrusions: Sequence[Intrusion], prose: str, total: int, policy: LanguagePolicy) -> bool:
    return any(_is_sustained(runs, prose, total, policy) for runs in _by_language(intrusions).values())


def _is_sustained(runs: Sequence[Intrusion], prose: str, total: int, policy: LanguagePolicy) -> bool:
    share = sum(run.weight for run in runs) / total
    if share < policy.min_share or sum(run.windows for run in runs) < policy.min_windows:
        return False
    return len(runs) > 1 or share >= policy.one_sentence_share or _sentences_in(runs[0], prose) > 1


def _sentences_in(run: Intrusion, prose: str) -> int:
    """How many sentences a run touches, the few letters a window takes from its neighbours left out."""
    margin = 12
    inner = prose[run.start + margin : max(run.start + margin, run.end - margin)]
    return 1 + sum(1 for match in _SENTENCE_END.finditer(inner))


def _describe(intrusions: Sequence[Intrusion], prose: str, total: int) -> dict[str, Any]:
    if not intrusions:
        return {}
    weights = {code: sum(run.weight for run in runs) for code, runs in _by_language(intrusions).items()}
    intruder = max(sorted(weights), key=lambda code: weights[code])
    return {
        "intruder": intruder,
        "share": round(weights[intruder] / total, 3),
        "intrusions": [_excerpt(run, prose) for run in intrusions[:8]],
    }


def _excerpt(run: Intrusion, prose: str) -> dict[str, Any]:
    return {
        "language": run.language,
        "start": run.start,
        "end": run.end,
        "windows": run.windows,
        "margin": run.margin,
        "excerpt": prose[run.start : run.end][:80],
    }
