"""What of a run's evidence a provider wrote, and how that is taken out of it.

Evidence is kept as long as the verdict it explains. What it quotes of an answer is kept as the answer is: not at
all when STORE_EVIDENCE_TEXT is off, else for EVIDENCE_DAYS.
"""

import re
from collections.abc import Mapping
from typing import Any

TEXT_KEYS: Mapping[str, str] = {
    "beginning": "the first characters of an answer",
    "detail": "what is wrong with a structured answer; names its keys and values",
    "excerpt": "a piece of an answer",
    "message": "an error's own words, which may repeat the prompt or the answer",
    "phrase": "the words that refuse",
    "refusal": "the refusal field of an answer",
    "repaired": "what a piece of an answer would have been in the right encoding",
    "sentence": "the sentence that refuses",
    "token": "a control token or leaked line in an answer",
}
"""The keys, at any depth, whose strings a provider wrote: the closed list, and what stands there."""
CODE_KEYS = frozenset({"error_type", "finish_reason", "native_finish_reason", "retry_after"})
"""Keys under which an upstream writes a code; whatever is none is a provider's text too."""
REMOVED = "not kept"
"""What stands where a text stood."""

_CODE = re.compile(r"[\w.:/+-]{1,40}", re.ASCII)


def redact(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """`evidence` with `REMOVED` for every text a provider wrote.

    Numbers, flags, positions, languages, statuses, codes and the names of providers and models stay. Evidence
    redacted before stays as it is.
    """
    return {key: _redacted(key, value) for key, value in evidence.items()}


def _redacted(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return REMOVED if _is_text(key, value) else value
    if isinstance(value, Mapping):
        return redact(value)
    return [_redacted(key, item) for item in value] if isinstance(value, list | tuple) else value


def _is_text(key: str, value: str) -> bool:
    return key in TEXT_KEYS or (key in CODE_KEYS and _CODE.fullmatch(value) is None)
