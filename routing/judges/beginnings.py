"""Does this answer begin as an answer should? Stray punctuation or fragments before the first word (rule C8).

One answer proves little (up to 1 % of clean prose looks odd); the caller pools several answers of a round.
"""

import re

from routing.judges.findings import Fault, Finding, faulty, sound
from routing.judges.integrity import printable, special_token_at
from routing.judges.scripts import Script, letters_of

_HEAD_CHARS = 240
_HEAD_LETTERS = 12
_TOKEN_REACH = 24

_EMOTICON = re.compile(r"[:;=8][-^']?[)(DPpOo3|/\\](?=\s|$|[*\"“])")
_ELLIPSIS = re.compile(r"\.{2,6}|…{1,3}")

# Punctuation that closes or continues something, and so cannot come first. `«`, `“` and dashes open speech in
# one language or another; `*`, `_`, `#`, `>` and bullets are mark-up.
_CANNOT_OPEN = frozenset(",.;:!?)]}%&=+/\\|^”’」』】〕》〉）］｝，。、；：！？~@$°´`")
_MAY_OPEN_BEFORE_A_LETTER = frozenset("’~`@")
_MAY_OPEN_BEFORE_A_DIGIT = frozenset("$~")

_ALPHABETIC = r"A-Za-z\u00c0-\u024f\u0400-\u052f\u1e00-\u1eff"
_CODE = re.compile(
    r"\s{0,8}(?:[({\[]\s?\d{0,3}[)}\]]|</?[a-z]{1,12}[ />]|[a-z_]{1,20}\(\)|=>|->|::|\{|\}|\$\{|/\*|\*/|\\n|\\u|0x"
    r"|(?:def|return|import|var|const|function|null|undefined)\b(?=[\s;(*{]))"
)
_GLUED = re.compile(rf"[\W_]{{0,4}}[{_ALPHABETIC}]{{1,20}}[,;:!?)\]}}|/\\=+]{{1,3}}(?=[{_ALPHABETIC}])")
_WORD = re.compile(rf"[\W_]{{0,4}}([{_ALPHABETIC}]{{2,30}})")
_AFTER_WORD = re.compile(rf"(?:[ ,.]{{0,2}}[*\"“«„—–]{{1,3}}\s?\w|[ ,.]{{1,2}}([{_ALPHABETIC}]{{2}}))")


def judge_beginning(text: str) -> Finding:
    """Whether the first word of an answer is led by something that does not belong there.

    Evidence: `sign` (which rule saw it) and `beginning` (the first 40 characters). An answer without letters
    is sound here; other judges see it.
    """
    head = text.lstrip()[:_HEAD_CHARS]
    shown = printable(head[:40])
    if not any(character.isalpha() for character in head):
        return sound(beginning=shown)
    sign = next((name for name, has_sign in _SIGNS.items() if has_sign(head)), None)
    return (
        sound(beginning=shown)
        if sign is None
        else faulty(Fault.CORRUPTED_BEGINNING, sign=sign, beginning=shown)
    )


def _has_token(head: str) -> bool:
    match = special_token_at(head)
    return match is not None and match.start() < _TOKEN_REACH


def _begins_with_closing(head: str) -> bool:
    if _EMOTICON.match(head):
        return False
    ellipsis = _ELLIPSIS.match(head)
    head = head[ellipsis.end() :].lstrip() if ellipsis else head
    first, second = head[:1], head[1:2]
    if first == "»":
        return "«" not in head
    if first not in _CANNOT_OPEN:
        return False
    return not (
        (second.isalpha() and first in _MAY_OPEN_BEFORE_A_LETTER)
        or (second.isdigit() and first in _MAY_OPEN_BEFORE_A_DIGIT)
    )


def _begins_with_code(head: str) -> bool:
    return _CODE.match(head) is not None


def _has_foreign_script(head: str) -> bool:
    """Letters of another script among the first twelve, when the rest of the head has none of it.

    A capitalised Latin word may open an answer in any script: it is a name.
    """
    letters = letters_of(head)
    first, rest = letters[:_HEAD_LETTERS], letters[_HEAD_LETTERS:]
    if len(rest) < _HEAD_LETTERS:
        return False
    usual = {_family(letter.script) for letter in rest}
    odd = [letter for letter in first if _family(letter.script) not in usual]
    if all(letter.script is Script.LATIN for letter in odd):
        return len(odd) > 1 and odd[0] is first[0] and all(head[letter.index].islower() for letter in odd)
    return True


def _family(script: Script) -> Script:
    return Script.HAN if script is Script.KANA else script


def _has_glued_punctuation(head: str) -> bool:
    return _GLUED.match(head) is not None


def _is_joined(head: str) -> bool:
    """Two words in one: a capital inside a word that began small, or late in another."""
    match = _WORD.match(head)
    if match is None:
        return False
    word = match.group(1)
    inner = next((i for i in range(1, len(word)) if word[i].isupper() and word[i - 1].islower()), None)
    if inner is None or not word[inner + 1 : inner + 2].islower():
        return False
    return inner >= 2 if word[0].islower() else inner >= 5


def _is_fragment(head: str) -> bool:
    """A small first word that the real beginning follows: mark-up, a quotation mark or a capital."""
    match = _WORD.match(head)
    if match is None or match.start(1) > 0 or not match.group(1).islower():
        return False
    after = _AFTER_WORD.match(head, match.end())
    return after is not None and (after.group(1) is None or after.group(1).istitle())


_SIGNS = {
    "special_token": _has_token,
    "punctuation_first": _begins_with_closing,
    "code_fragment": _begins_with_code,
    "other_script": _has_foreign_script,
    "glued_punctuation": _has_glued_punctuation,
    "joined_words": _is_joined,
    "fragment": _is_fragment,
}
