"""Does this answer begin as an answer should? Stray punctuation or fragments before the first word (rule C8).

One answer proves little (0.5-1 % of clean prose looks odd); the caller pools several answers of a round.
"""

import re

from routing.judges.findings import Fault, Finding, faulty, sound
from routing.judges.integrity import printable, special_token_at
from routing.judges.scripts import Script, letters_of

_HEAD_CHARS = 240
_HEAD_LETTERS = 12

_EMOTICON = re.compile(r"[:;=8][-^']?[)(DPpOo3|/\\](?=\s|$|[*\"“])")
_ELLIPSIS = re.compile(r"(?:\.{2,6}|…{1,3})")
# Punctuation that closes or continues something, and so cannot come first. `»`, `«`, `“` and dashes open
# speech in one language or another; `*`, `_`, `#`, `>` and `-` are mark-up.
_CANNOT_OPEN = frozenset(",.;:!?)]}%&=+/\\|^”’」』】〕》〉）］｝，。、；：！？~@$°´`")
_MAY_OPEN_BEFORE_LETTER = frozenset("’~`@$")
# A full stop, comma or slash between letters without a space, in the first word.
_ALPHABETIC = r"A-Za-z\u00c0-\u024f\u0400-\u052f\u1e00-\u1eff"
_GLUED = re.compile(rf"^[\W_]{{0,4}}[{_ALPHABETIC}]{{1,20}}[,;:!?)\]}}|/\\=+]{{1,3}}(?=[{_ALPHABETIC}])")
_CAMEL = re.compile(
    r"^[\W_]{0,4}(?:[a-z\u00df-\u00ff]{2,20}[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+|[A-Z][a-z]+[A-Z][a-z]{2,}(?=\s[a-z]))"
)
_CODE = re.compile(
    r"^\s{0,8}(?:[({\[]\s?[)}\]]|</?[a-z]{1,12}[ />]|[a-z_]{1,20}\(\)|(?:def|return|import|var|const|function|null|undefined)\b(?=[\s;({])"
    r"|(?:=>|->|::|\{\{|\}\}|\$\{|/\*|\*/|\\n|\\u|0x))"
)
_FRAGMENT = re.compile(
    r"^[a-z\u00df-\u00ff]{1,12}[ ,.]{0,2}(?:[*\"“«„—–]\s?\w|\s[A-Z\u00c0-\u00de][a-z\u00df-\u00ff])"
)


def judge_beginning(text: str) -> Finding:
    """Whether the first word of an answer is led by something that does not belong there.

    Evidence: `sign` (which rule saw it) and `beginning` (the first 40 characters). An answer without
    letters is sound here; other judges see it.
    """
    head = text.lstrip()[:_HEAD_CHARS]
    sign = _sign(head)
    shown = printable(head[:40])
    if sign is None:
        return sound(beginning=shown)
    return faulty(Fault.CORRUPTED_BEGINNING, sign=sign, beginning=shown)


def _sign(head: str) -> str | None:
    if not any(character.isalpha() for character in head):
        return None
    if (match := special_token_at(head)) is not None and match.start() < 24:
        return "special_token"
    if _begins_with_closing(head):
        return "punctuation_first"
    if _CODE.match(head):
        return "code_fragment"
    if _has_foreign_script(head):
        return "other_script"
    if _GLUED.match(head):
        return "glued_punctuation"
    if _CAMEL.match(head):
        return "joined_words"
    return "fragment" if _FRAGMENT.match(head) else None


def _begins_with_closing(head: str) -> bool:
    if _EMOTICON.match(head):
        return False
    ellipsis = _ELLIPSIS.match(head)
    if ellipsis:
        head = head[ellipsis.end() :].lstrip()
        if not head:
            return False
    first = head[0]
    if first not in _CANNOT_OPEN:
        return False
    return not (first in _MAY_OPEN_BEFORE_LETTER and len(head) > 1 and head[1].isalnum())


def _has_foreign_script(head: str) -> bool:
    """Letters of another script among the first twelve, when the rest of the head has hardly any."""
    letters = letters_of(head)
    first, rest = letters[:_HEAD_LETTERS], letters[_HEAD_LETTERS:]
    if len(rest) < _HEAD_LETTERS:
        return False
    usual = {_family(letter.script) for letter in rest}
    odd = [letter for letter in first if _family(letter.script) not in usual]
    return bool(odd) and not all(letter.script is Script.LATIN for letter in odd)


def _family(script: Script) -> Script:
    return Script.HAN if script is Script.KANA else script
