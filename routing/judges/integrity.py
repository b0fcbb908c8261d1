"""Is this text damaged? Encoding faults, control and template tokens, runaway repetition.

Nothing here knows what the text should say; a text in any language is judged alike. The thresholds were
measured on clean text in 17 languages (tests/benchmarks/verdicts.py).
"""

import re
import unicodedata
import zlib
from typing import Any

from routing.judges.findings import Fault, Finding, faulty, sound, unsure

MAX_JUDGED_CHARS = 100_000

# Clean text never falls below 0.30; a loop of any length falls under this soon.
_REPETITION_RATIO = 0.14
_MIN_REPETITION_BYTES = 240

_CODE = re.compile(r"```[^`]{0,4000}```|`[^`\n]{1,200}`")

# Every alternative is bounded: hostile text costs linear time.
_SPECIAL_TOKENS = re.compile(
    r"<[|｜][^|｜<>\n]{0,60}[|｜]>"
    r"|<[|｜][a-z_▁]{2,40}"
    r"|</?(?:unk|pad|bos|eos|mask|start_of_turn|end_of_turn|think|thinking|tool_call|function_call)>"
    r"|<0x[0-9A-Fa-f]{2}>"
    r"|\[/?INST\]|<</?SYS>>"
    r"|\[(?:UNK|PAD|CLS|SEP|MASK|BOS|EOS|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]"
    r"|Ġ(?=\S)|▁(?=\w)|Ċ"
    r"|\bassistant(?:final|commentary|analysis)"
)
_ROLE_LINE = re.compile(
    r"^[ \t]{0,4}(?:#{1,4}[ \t]?)?(?:(?:assistant|user|system)[ \t]{0,4}:?[ \t]{0,4}$|assistant[ \t]{0,2}:"
    r"|#{2,4}[ \t]?(?:instruction|response)[ \t]{0,2}:)",
    re.IGNORECASE | re.MULTILINE,
)

# What UTF-8 is misread as, beside what ftfy knows. Text that is truly in one of these scripts is all but never
# valid UTF-8 when written in its own code page.
_MISREADINGS = ("latin-1", "cp1251", "cp1250", "cp1254", "cp874", "cp932", "gb18030", "cp949", "big5")
_UTF8_SHARE = 0.75
_MIN_MISREAD = 3
_KNOWN_GARBAGE = ("锟斤拷", "烫烫烫", "屯屯屯")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# Russian in KOI8 read as another Cyrillic page is Cyrillic still, with its capitals the wrong way round.
_SWAPPED_CASE = re.compile(r"\b[а-яё][А-ЯЁ]{2,}")
_CAPITALS = re.compile(r"\b[а-яёА-ЯЁ][А-ЯЁ]{2,}")
_CYRILLIC_WORD = re.compile(r"\b[а-яёА-ЯЁ]{3,}")
_MOST = 0.8

# Planes and blocks that a newer Unicode than this interpreter's fills; what is unassigned there is not a fault.
_MAY_BE_ASSIGNED_LATER = ((0x1F000, 0x1FBFF), (0x2A6E0, 0x3347F))


def judge_integrity(text: str) -> Finding:
    """The first fault of a text: a token of the machinery, a lost or wrong character, a loop.

    Evidence: `excerpt` and `position` of what was seen, for encoding faults `repaired` (a start of what the
    text would have been), for repetition `ratio` (compressed to raw size).
    """
    text = text[:MAX_JUDGED_CHARS]
    for look in (_special_token, _lost_character, _loop, _wrong_encoding, _bare_punctuation):
        finding = look(text)
        if finding is not None:
            return finding
    return sound()


def _at(text: str, position: int, **more: Any) -> dict[str, Any]:
    return {"position": position, "excerpt": printable(text[max(0, position - 10) : position + 40]), **more}


def printable(text: str) -> str:
    """The text with lone surrogates and control characters written as escapes, so that it can be shown."""
    return "".join(
        c if c == "\n" or unicodedata.category(c) not in ("Cs", "Cc") else ascii(c)[1:-1] for c in text
    )


def special_token_at(text: str) -> re.Match[str] | None:
    """The first control or template token outside code, or a leaked role line."""
    prose = _CODE.sub(lambda match: " " * len(match.group()), text)
    return _SPECIAL_TOKENS.search(prose) or _ROLE_LINE.search(prose) or _stray_end_of_sentence(prose)


def _stray_end_of_sentence(prose: str) -> re.Match[str] | None:
    """`</s>` without `<s>` before it; with one it is HTML strike-through."""
    return None if "<s>" in prose else re.search(r"</s>", prose)


def _special_token(text: str) -> Finding | None:
    match = special_token_at(text)
    if match is None:
        return None
    return faulty(Fault.SPECIAL_TOKEN, token=printable(match.group())[:60], **_at(text, match.start()))


def _is_lost(character: str) -> bool:
    return character == "\ufffd" or "\ud800" <= character <= "\udfff"


def _lost_character(text: str) -> Finding | None:
    positions = [index for index, character in enumerate(text) if _is_lost(character)]
    if not positions:
        return None
    body = text.rstrip()
    while body and _is_lost(body[-1]):
        body = body[:-1]
    if positions[0] >= len(body) > 0:
        return unsure(Fault.TRUNCATED, **_at(text, positions[0]))
    return faulty(Fault.REPLACEMENT_CHAR, count=len(positions), **_at(text, positions[0]))


def _loop(text: str) -> Finding | None:
    raw = text.encode("utf-8", errors="surrogatepass")
    for name, part in (("whole", raw), ("second_half", raw[len(raw) // 2 :])):
        if len(part) >= _MIN_REPETITION_BYTES:
            ratio = len(zlib.compress(part, 6)) / len(part)
            if ratio < _REPETITION_RATIO:
                return faulty(
                    Fault.REPETITION, ratio=round(ratio, 2), part=name, excerpt=printable(text[-60:])
                )
    return None


def _wrong_encoding(text: str) -> Finding | None:
    position = next((index for index, character in enumerate(text) if _is_no_text(character)), None)
    if position is not None:
        return faulty(
            Fault.MOJIBAKE, kind="no_text", code_point=f"U+{ord(text[position]):04X}", **_at(text, position)
        )
    repaired = _repaired(text)
    if repaired is not None:
        position = next((i for i, (a, b) in enumerate(zip(text, repaired, strict=False)) if a != b), 0)
        return faulty(
            Fault.MOJIBAKE,
            kind="utf-8",
            repaired=printable(repaired[position : position + 40]),
            **_at(text, position),
        )
    kind = _misreading(text)
    return faulty(Fault.MOJIBAKE, kind=kind, **_at(text, 0)) if kind else None


def _repaired(text: str) -> str | None:
    from ftfy import fix_encoding

    repaired = fix_encoding(text)
    return repaired if repaired != text else None


def _is_no_text(character: str) -> bool:
    """C0 and C1 controls, private use and unassigned code points."""
    category = unicodedata.category(character)
    if category == "Cc":
        return character not in "\t\n\r\v\f"
    if category == "Cn":
        return not any(low <= ord(character) <= high for low, high in _MAY_BE_ASSIGNED_LATER)
    return category == "Co"


def _misreading(text: str) -> str | None:
    """The code page a text seems to have been misread in, None for a text that was not."""
    if any(garbage in text for garbage in _KNOWN_GARBAGE):
        return "gb18030"
    runs = " ".join(_NOT_ASCII.findall(text))
    for code_page in _MISREADINGS:
        if _is_utf8_in(runs, code_page):
            return code_page
    if _has_swapped_case(text):
        return "koi8-r"
    visible = [character for character in text if not character.isspace()]
    high_latin = sum("\u00a1" <= character <= "\u00ff" for character in visible)
    return "single byte" if len(visible) >= 12 and high_latin > len(visible) / 2 else None


def _has_swapped_case(text: str) -> bool:
    words, capitals = len(_CYRILLIC_WORD.findall(text)), len(_CAPITALS.findall(text))
    return capitals >= _MIN_MISREAD and capitals > _MOST * words and bool(_SWAPPED_CASE.search(text))


def _is_utf8_in(runs: str, code_page: str) -> bool:
    """Whether the characters beyond ASCII, written in a code page, are UTF-8 for other characters."""
    raw = runs.encode(code_page, errors="ignore")
    read = raw.decode("utf-8", errors="ignore")
    characters = [character for character in read if ord(character) > 0x7F]
    wide = sum(1 for byte in raw if byte > 0x7F)
    read_bytes = sum(len(character.encode()) for character in characters)
    lost = len(runs) - len(raw.decode(code_page, errors="ignore"))
    return len(characters) >= _MIN_MISREAD and read_bytes > _UTF8_SHARE * wide and lost < len(runs) / 4


def _bare_punctuation(text: str) -> Finding | None:
    """An answer without one letter or number, emoji apart."""
    visible = [character for character in text if not character.isspace()]
    if not visible or any(unicodedata.category(character)[0] in "LN" for character in visible):
        return None
    if any(unicodedata.category(character) == "So" for character in visible):
        return None
    return faulty(Fault.SPECIAL_TOKEN, token=printable(text.strip())[:60], **_at(text, 0))
