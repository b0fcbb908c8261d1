"""The languages that are judged: adding one is a row here, a prompt file and a refusal file."""

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
    _row("id", "Indonesian", Script.LATIN, varieties=("ms", "jv", "su")),
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
