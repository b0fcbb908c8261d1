"""Faults of the text: wrong language, mixed languages, damaged characters, repetition, emptiness."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from sandbox.answers import Scene, usage
from sandbox.faults.registry import Params, choice, fault, number, text
from sandbox.prose import count_tokens, cut_to_tokens, library
from sandbox.scenario import LANGUAGES, RequestKind
from sandbox.turn import Turn

# Which other language a provider slips into: one that readers and detectors can tell from the first.
_PARTNERS = {"en": "es", "es": "pt", "pt": "es", "it": "es", "uk": "ru", "ko": "ja"}
_THOUGHT = (
    "The user wants a continuation. I have to think about the tone first, and then about the length of it."
)
_LANGUAGE = choice("auto", *LANGUAGES)


def is_prose(scene: Scene) -> bool:
    """Whether the answer is free text, the only kind these faults damage."""
    return scene.request.kind in (RequestKind.PROSE, RequestKind.ROLE_PLAY)


def retold(turn: Turn, scene: Scene, wording: str, *, finish: str = "stop") -> Turn:
    """The turn with another text and the usage that goes with it."""
    tokens = count_tokens(wording)
    reasoning = turn.usage.reasoning_tokens
    rate = scene.endpoint.tokens_per_second
    return replace(
        turn,
        text=wording,
        tool_calls=(),
        finish=finish,
        native_finish=finish,
        usage=usage(scene, tokens + reasoning, reasoning),
        duration_s=tokens / rate if rate else 0.0,
    )


def _reworded(turn: Turn, scene: Scene, change: Callable[[str], str]) -> Turn:
    """The turn with its free text changed; other kinds of answer stay as they are."""
    if not is_prose(scene) or not turn.text:
        return turn
    return replace(turn, text=change(turn.text))


def _partner(scene: Scene, params: Params) -> str:
    named = params.text("language")
    return _PARTNERS.get(scene.language, "en") if named == "auto" else named


@fault("refusing", preamble=text())
def refusing(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The model refuses in the prompt's language, after `preamble` if one is set; finish reason stop."""
    wording = library()[scene.language].refusal
    if params.text("preamble"):
        wording = f"{params.text('preamble')} {wording}"
    return retold(turn, scene, wording)


@fault("wrong_language", language=_LANGUAGE)
def wrong_language(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The whole answer is in another language."""
    if not is_prose(scene):
        return turn
    other = library()[_partner(scene, params)]
    return retold(turn, scene, other.text(scene.rng.randrange(len(other.scenes))))


@fault("mixed_languages", language=_LANGUAGE)
def mixed_languages(turn: Turn, scene: Scene, params: Params) -> Turn:
    """Every second sentence is in another language, whatever the prompt's language is."""
    if not is_prose(scene):
        return turn
    mine, other = library()[scene.language], library()[_partner(scene, params)]
    index = scene.rng.randrange(len(mine.scenes))
    pairs = zip(mine.scenes[index], other.scenes[index], strict=True)
    sentences = [pair[position % 2] for position, pair in enumerate(pairs)]
    return retold(turn, scene, " ".join(sentences))


@fault("mojibake", encoding=choice("cp1252", "latin-1"))
def mojibake(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The text's UTF-8 bytes were read as a one-byte encoding."""
    encoding = params.text("encoding")
    return _reworded(turn, scene, lambda original: _misread(original, encoding))


def _misread(original: str, encoding: str) -> str:
    """The text as a wrong decoder shows it; plain English gets typographic signs first, which then break."""
    if original.isascii():
        original = original.replace(", ", " – ", 3).replace("'", "’").replace(". ", "… ", 1)
    return original.encode("utf-8").decode(encoding, errors="replace").replace("\ufffd", "")


@fault("replacement_char", count=number(3, least=1), at=choice("inside", "end"))
def replacement_char(turn: Turn, scene: Scene, params: Params) -> Turn:
    """U+FFFD stands in the text `count` times, or once at its very end."""
    if params.text("at") == "end":
        return _reworded(turn, scene, lambda original: original + "\ufffd")
    return _reworded(
        turn, scene, lambda original: _inserted(original, "\ufffd", params.whole("count"), scene)
    )


def _inserted(original: str, piece: str, count: int, scene: Scene) -> str:
    """The text with `piece` in place of `count` characters, none of them at an end."""
    characters = list(original)
    places = range(5, max(6, len(characters) - 5))
    for place in scene.rng.sample(places, min(count, len(places))):
        characters[place] = piece
    return "".join(characters)


_TOKENS = {
    "im_end": "<|im_end|>",
    "eot": "<|eot_id|>",
    "fullwidth": "<｜end▁of▁sentence｜>",
    "inst": "[/INST]",
    "unk": "<unk>",
    "think_end": "</think>",
    "role_line": "\nassistant\n",
}


@fault("special_token", variant=choice(*_TOKENS, "think"))
def special_token(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A control token or a piece of the chat template stands in the text."""
    if params.text("variant") == "think":
        return _reworded(turn, scene, lambda original: f"<think>{_THOUGHT}</think>\n\n{original}")
    token = _TOKENS[params.text("variant")]
    return _reworded(turn, scene, lambda original: _in_the_middle(original, token))


def _in_the_middle(original: str, token: str) -> str:
    middle = original.find(" ", len(original) // 2)
    middle = middle if middle > 0 else len(original) // 2
    return original[:middle] + token + original[middle:]


@fault("bpe_marks")
def bpe_marks(turn: Turn, scene: Scene, params: Params) -> Turn:
    """Spaces show as the byte-level tokeniser's mark."""
    return _reworded(
        turn, scene, lambda original: original.replace(" ", "Ġ") if " " in original else f"Ġ{original}"
    )


_BEGINNINGS = {
    "action": (",*smiles* ", ".*nods* ", ";*leans in* "),
    "punctuation": (", ", ". ", ") ", "; "),
    "glued": (".", ",", ")"),
    "fragment": ("ly ", "ing, ", "'s "),
    "script": ("的", "ны "),
    "token": ("<|assistant|>", "<s>[INST] "),
    "code": ("');\n", "}}, "),
}


@fault("corrupted_beginning", variant=choice("action", "any", *list(_BEGINNINGS)[1:]))
def corrupted_beginning(turn: Turn, scene: Scene, params: Params) -> Turn:
    """Stray punctuation or fragments stand before the first word."""
    variant = params.text("variant")
    if variant == "any":
        variant = scene.rng.choice(list(_BEGINNINGS))
    beginning = scene.rng.choice(_BEGINNINGS[variant])
    if variant == "script":
        beginning = "ны " if scene.language in ("zh", "ja") else "的"
    return _reworded(turn, scene, lambda original: beginning + original)


@fault("repetition", count=number(40, least=2))
def repetition(turn: Turn, scene: Scene, params: Params) -> Turn:
    """One sentence again and again until the tokens run out."""
    if not is_prose(scene):
        return turn
    prose = library()[scene.language]
    sentence = scene.rng.choice(scene.rng.choice(prose.scenes))
    wording = prose.joiner.join([sentence] * params.whole("count"))
    if scene.request.max_tokens:
        wording = cut_to_tokens(wording, scene.request.max_tokens)
    return retold(turn, scene, wording, finish="length")


@fault("empty")
def empty(turn: Turn, scene: Scene, params: Params) -> Turn:
    """No text at all, and a finish reason of stop as if all were well."""
    return retold(turn, scene, "")


@fault("null_content")
def null_content(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The content is null, and the finish reason stop."""
    return replace(retold(turn, scene, ""), text=None)


@fault("truncated", tokens=number(6, least=1))
def truncated(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The answer stops after a few tokens with finish reason length, far from the limit."""
    return retold(turn, scene, cut_to_tokens(turn.text or "", params.whole("tokens")), finish="length")


@fault("reasoning_only")
def reasoning_only(turn: Turn, scene: Scene, params: Params) -> Turn:
    """Reasoning uses up all tokens: no answer, finish reason length."""
    limit = scene.request.max_tokens or 200
    thought = re.sub(r"\s+", " ", cut_to_tokens(f"{_THOUGHT} " * (limit // 20 + 1), limit))
    told = retold(turn, scene, "", finish="length")
    return replace(told, reasoning=thought, usage=usage(scene, limit, limit))
