"""The languages that are judged, and the thresholds. Adding one is a row here, a prompt file and a refusal file."""

from collections.abc import Mapping
from dataclasses import dataclass

from routing.judges.scripts import Script


@dataclass(frozen=True, kw_only=True)
class Language:
    """One judged language.

    `scripts` are those its prose is written in; `typical` the ones that must occur in a whole answer
    (Japanese without kana is not Japanese). `varieties` are codes of other detectors' languages that
    count as this one because nothing can tell them apart.
    """

    code: str
    name: str
    scripts: frozenset[Script]
    typical: frozenset[Script]
    langdetect_profiles: tuple[str, ...]
    varieties: frozenset[str] = frozenset()


def _row(
    code: str, name: str, *scripts: Script, profiles: tuple[str, ...] = (), varieties: tuple[str, ...] = ()
) -> Language:
    return Language(
        code=code,
        name=name,
        scripts=frozenset(scripts),
        typical=frozenset({scripts[0]}),
        langdetect_profiles=profiles or (code,),
        varieties=frozenset(varieties),
    )


# The first script of a row is the typical one. Malay counts as Indonesian (rule C8).
_ROWS = (
    _row("en", "English", Script.LATIN),
    _row("es", "Spanish", Script.LATIN),
    _row("pt", "Portuguese", Script.LATIN),
    _row("fr", "French", Script.LATIN),
    _row("de", "German", Script.LATIN),
    _row("it", "Italian", Script.LATIN),
    _row("nl", "Dutch", Script.LATIN),
    _row("pl", "Polish", Script.LATIN),
    _row("ru", "Russian", Script.CYRILLIC),
    _row("uk", "Ukrainian", Script.CYRILLIC),
    _row("tr", "Turkish", Script.LATIN),
    _row("vi", "Vietnamese", Script.LATIN),
    _row("id", "Indonesian", Script.LATIN, varieties=("ms",)),
    _row("th", "Thai", Script.THAI),
    _row("ja", "Japanese", Script.KANA, Script.HAN),
    _row("ko", "Korean", Script.HANGUL, Script.HAN),
    _row("zh", "Chinese", Script.HAN, profiles=("zh-cn", "zh-tw")),
)

LANGUAGES: Mapping[str, Language] = {row.code: row for row in _ROWS}


def language_of(code: str) -> Language:
    """The row of a language code. Raises `ValueError`, naming the known codes, for one that is not judged."""
    try:
        return LANGUAGES[code]
    except KeyError:
        known = " ".join(LANGUAGES)
        raise ValueError(f"language {code!r} is not judged; known are: {known}") from None


def languages_in(script: Script) -> frozenset[str]:
    """The codes of the languages whose prose uses a script."""
    return frozenset(code for code, row in LANGUAGES.items() if script in row.scripts)


def owner_of(script: Script) -> str:
    """The one language a script is typical of, else the script's own name."""
    owners = [code for code, row in LANGUAGES.items() if script in row.typical]
    return owners[0] if len(owners) == 1 else script.value


@dataclass(frozen=True, kw_only=True)
class LanguagePolicy:
    """The thresholds of the language judge, all measured. Weights are in Latin letters (a Han character is three).

    A foreign window has p(other) - p(expected) over `margin`. An answer is mixed when one intruder holds
    `min_share` of the weight in `min_windows` windows. When that is one sentence only, it must hold
    `inner_sentence_share` if the text returns from it; if the answer begins or ends with it `edge_share_of_few` of
    at most `few_sentences`, `edge_share_of_many` of more. An answer whose whole
    is named as another language is wholly in it when foreign windows hold `whole_share`, else mixed.
    """

    min_weight: int = 80
    window_weight: int = 40
    step_weight: int = 20
    margin: float = 0.6
    script_share: float = 0.6
    min_share: float = 0.10
    min_windows: int = 2
    few_sentences: int = 4
    edge_share_of_few: float = 0.18
    edge_share_of_many: float = 0.35
    inner_sentence_share: float = 0.5
    kana_share: float = 0.2
    kana_trace: float = 0.05
    outside_margin: float = 0.6
    own_script_share: float = 0.1
    whole_share: float = 0.8
    max_chars: int = 20_000


DEFAULT_POLICY = LanguagePolicy()
