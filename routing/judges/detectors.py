"""The two language detectors, loaded on first use and made deterministic.

langdetect names the language of a whole answer, py3langid that of a window; see the measurements in
tests/benchmarks/verdicts.py. langdetect samples, so it is seeded, and its profiles are read in a fixed order (its own
loader takes the order of the directory, which differs between machines).
"""

import copy
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from routing.judges.languages import LANGUAGES

_SEED = 0


@cache
def _langdetect() -> Any:
    from langdetect import detector_factory

    profiles = sorted(profile for language in LANGUAGES.values() for profile in language.langdetect_profiles)
    factory = detector_factory.DetectorFactory()
    folder = Path(detector_factory.PROFILES_DIRECTORY)
    factory.load_json_profile([(folder / profile).read_text(encoding="utf-8") for profile in profiles])
    factory.set_seed(_SEED)
    return factory


@cache
def _py3langid() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _py3langid_among(languages: frozenset[str]) -> Any:
    identifier = copy.copy(_py3langid())
    identifier.set_languages(sorted(languages))
    return identifier


def opinion_on_whole(text: str) -> Mapping[str, float]:
    """Langdetect's probabilities over the judged languages, best first; empty when it finds no feature."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = _langdetect().create()
    detector.append(text)
    try:
        ranked = detector.get_probabilities()
    except LangDetectException:
        return {}
    merged: dict[str, float] = {}
    for row in ranked:
        code = str(row.lang).partition("-")[0]
        merged[code] = round(merged.get(code, 0.0) + float(row.prob), 3)
    return merged


def rank_among(text: str, languages: Iterable[str]) -> Mapping[str, float]:
    """py3langid's probabilities over `languages` only, best first."""
    return dict(_py3langid_among(frozenset(languages)).rank(text))


def rank_unrestricted(text: str) -> Mapping[str, float]:
    """py3langid's probabilities over everything it knows (140 languages), best first."""
    return dict(_py3langid().rank(text))
