"""Where in an answer is another language? Overlapping windows behind a script gate, and what they add up to.

A window is about forty letters. Its script is looked at first, then py3langid is asked among the languages
written in it. Neighbouring windows of one foreign language are a run; a single foreign sentence from which
the text returns is reported, never held against an answer.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from routing.judges import detectors
from routing.judges.languages import LANGUAGES, Language, LanguagePolicy, languages_in, owner_of
from routing.judges.scripts import Letter, Script, is_japanese_han, shares, weigh

_EAST_ASIAN = frozenset({Script.HAN, Script.KANA})
_GROUPS = (_EAST_ASIAN, *(frozenset({script}) for script in Script if script not in _EAST_ASIAN))

_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")

# Function words of Chinese that are rare in Japanese, beside the characters Japanese does not have at all.
_CHINESE_FUNCTION = frozenset("的我是了很这這们們也都就他在不沒没會来來那个")

# An end mark counts before white space or mark-up; a full stop after one or two letters is an abbreviation.
_SENTENCE_END = re.compile(
    r"(?:[!?…]+|(?<!\b\w)(?<!\b\w\w)\.+)[\"'”’»*)_]*(?=[\s*\"“«„_]|$)|[。！？]+[」』”’）*]*|\n+|\"\s|\*\s"
)

# What of a run's first or last sentence must lie in the run for it to be a sentence of the run.
_MOST_OF_A_SENTENCE = 0.5


@dataclass(frozen=True, kw_only=True)
class Intrusion:
    """A run of windows of one foreign language: positions in the text, weight, and the sentences it takes.

    `is_at_edge` says that it takes the first or the last of the answer's `of_sentences`.
    """

    language: str
    start: int
    end: int
    weight: int
    windows: int
    margin: float
    sentences: int
    of_sentences: int
    is_at_edge: bool


@dataclass(frozen=True, slots=True)
class _Window:
    first: int
    last: int
    language: str
    margin: float


def find_intrusions(
    prose: str, letters: Sequence[Letter], language: Language, policy: LanguagePolicy
) -> list[Intrusion]:
    """The runs of foreign windows, in the order of the text."""
    sentences = split_sentences(prose)
    runs = _runs(_foreign_windows(prose, letters, language, policy))
    return [_intrusion(run, prose, letters, sentences, language) for run in runs]


def is_mixed(intrusions: Sequence[Intrusion], total: int, policy: LanguagePolicy) -> bool:
    """Whether one intruder holds enough of the text's weight to be more than a quotation."""
    return any(_is_sustained(runs, total, policy) for runs in by_language(intrusions).values())


def by_language(intrusions: Iterable[Intrusion]) -> dict[str, list[Intrusion]]:
    """Intrusions grouped by language, in order of first appearance."""
    grouped: dict[str, list[Intrusion]] = {}
    for intrusion in intrusions:
        grouped.setdefault(intrusion.language, []).append(intrusion)
    return grouped


def _is_sustained(runs: Sequence[Intrusion], total: int, policy: LanguagePolicy) -> bool:
    share = sum(run.weight for run in runs) / total
    if share < policy.min_share or sum(run.windows for run in runs) < policy.min_windows:
        return False
    if sum(run.sentences for run in runs) > 1:
        return True
    return share >= _share_of_one_sentence(runs[0], policy)


def _share_of_one_sentence(run: Intrusion, policy: LanguagePolicy) -> float:
    """What a single foreign sentence must hold of an answer to be more than an intrusion."""
    if not run.is_at_edge:
        return policy.inner_sentence_share
    is_large_part = run.of_sentences <= policy.few_sentences
    return policy.edge_share_of_few if is_large_part else policy.edge_share_of_many


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Half-open ranges that cover the text; what has hardly a letter is joined to what is before it."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    ranges: list[tuple[int, int]] = []
    start = 0
    for end in [*ends, len(text)]:
        is_short = sum(1 for c in text[start:end] if c.isalpha()) < 2
        if is_short and ranges:
            ranges[-1] = (ranges[-1][0], end)
        elif not is_short:
            ranges.append((start if ranges else 0, end))
        else:
            continue
        start = end
    return ranges


def _foreign_windows(
    prose: str, letters: Sequence[Letter], language: Language, policy: LanguagePolicy
) -> list[_Window]:
    found = []
    for first, last in window_ranges(letters, policy):
        window = letters[first:last]
        text = prose[window[0].index : window[-1].index + 1]
        seen = _foreign_language(text, window, language, policy)
        if seen is not None:
            found.append(_Window(first, last, *seen))
    return found


def window_ranges(letters: Sequence[Letter], policy: LanguagePolicy) -> list[tuple[int, int]]:
    """Half-open ranges of `letters`, each about `window_weight` heavy, `step_weight` apart."""
    cumulative = [0]
    for letter in letters:
        cumulative.append(cumulative[-1] + letter.weight)
    ranges = []
    first = last = target = 0
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


def _runs(windows: Sequence[_Window]) -> list[list[_Window]]:
    runs: list[list[_Window]] = []
    for window in windows:
        if runs and runs[-1][-1].language == window.language and window.first <= runs[-1][-1].last:
            runs[-1].append(window)
        else:
            runs.append([window])
    return runs


def _intrusion(
    run: Sequence[_Window],
    prose: str,
    letters: Sequence[Letter],
    sentences: Sequence[tuple[int, int]],
    language: Language,
) -> Intrusion:
    covered = letters[run[0].first : run[-1].last]
    start, end = covered[0].index, covered[-1].index + 1
    taken = _sentences_taken(start, end, prose, sentences, (language.code, run[0].language))
    return Intrusion(
        language=run[0].language,
        start=start,
        end=end,
        weight=weigh(covered),
        windows=len(run),
        margin=max(window.margin for window in run),
        sentences=max(1, len(taken)),
        of_sentences=len(sentences),
        is_at_edge=not taken or taken[0] == 0 or taken[-1] == len(sentences) - 1,
    )


def _sentences_taken(
    start: int, end: int, prose: str, sentences: Sequence[tuple[int, int]], codes: tuple[str, str]
) -> list[int]:
    """The indices of the sentences that are in the run's language; those at its borders are looked at singly."""
    touched = [index for index, (low, high) in enumerate(sentences) if low < end and high > start]
    taken = []
    for index in touched:
        low, high = sentences[index]
        is_inside = start <= low and high <= end and index not in (touched[0], touched[-1])
        overlap = (min(high, end) - max(low, start)) / (high - low)
        if is_inside or (overlap >= _MOST_OF_A_SENTENCE and _is_foreign(prose[low:high], *codes)):
            taken.append(index)
    return taken


def _is_foreign(sentence: str, expected: str, intruder: str) -> bool:
    if intruder not in LANGUAGES:
        return True
    ranked = detectors.rank_among(sentence, LANGUAGES)
    return ranked[intruder] > ranked[expected]


def _foreign_language(
    text: str, window: Sequence[Letter], language: Language, policy: LanguagePolicy
) -> tuple[str, float] | None:
    """The language of a window that is not in the expected one, and by how much; None when it may be."""
    share = shares(window)
    if language.code == "ja" and _has_chinese_marks(text, share.get(Script.KANA, 0.0)):
        return "zh", 1.0
    group = next((g for g in _GROUPS if sum(share.get(s, 0.0) for s in g) >= policy.script_share), None)
    if group is None:
        return None
    if group == _EAST_ASIAN:
        return _foreign_east_asian(text, share.get(Script.KANA, 0.0), language, policy)
    script = next(iter(group))
    if script in language.scripts:
        return _rival(text, script, language, policy)
    if script is Script.LATIN and not _is_latin_prose(text):
        return None
    owners = languages_in(script)
    return (next(iter(detectors.rank_among(text, owners))) if len(owners) > 1 else owner_of(script)), 1.0


def _rival(text: str, script: Script, language: Language, policy: LanguagePolicy) -> tuple[str, float] | None:
    """Another language in the expected one's own script."""
    if len(languages_in(script)) == 1:
        return None
    ranked = detectors.rank_among(text, LANGUAGES)
    code = next(iter(ranked))
    margin = ranked[code] - ranked[language.code]
    return (code, round(margin, 3)) if code != language.code and margin > policy.margin else None


def _foreign_east_asian(
    text: str, kana: float, language: Language, policy: LanguagePolicy
) -> tuple[str, float] | None:
    if language.code == "zh":
        return ("ja", 1.0) if kana > policy.kana_share else None
    if language.code != "ja":
        return ("ja" if kana > policy.kana_trace else "zh"), 1.0
    if kana > 0:
        return None
    ranked = detectors.rank_among(text, ("ja", "zh"))
    margin = ranked["zh"] - ranked["ja"]
    return ("zh", round(margin, 3)) if margin > policy.margin else None


def _has_chinese_marks(text: str, kana: float) -> bool:
    """Characters that Japanese does not have, in a window that is not mostly kana."""
    strong = sum(1 for c in text if not is_japanese_han(c))
    weak = sum(1 for c in text if c in _CHINESE_FUNCTION and is_japanese_han(c))
    return kana <= 0.5 and (strong >= 2 or (strong == 1 and weak >= 1))


def _is_latin_prose(text: str) -> bool:
    """Whether Latin letters among another script are more than names: lower-case words."""
    words = _LATIN_WORD.findall(text)
    return sum(1 for word in words if word.islower()) >= max(2, len(words) / 3)
