"""What a judge says of one text: sound, faulty or unsure, with the fault and what a person needs to see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """`unsure` is never a fault: the text was too short, cut off by its limit, or ambiguous."""

    SOUND = "sound"
    FAULTY = "faulty"
    UNSURE = "unsure"


class Fault(StrEnum):
    """The faults code can see in a text. The values are those of the canary's reasons."""

    REFUSAL = "refusal"
    EMPTY = "empty"
    FENCED = "fenced"
    PROSE_AROUND = "prose_around"
    THINK_LEAK = "think_leak"
    TRAILING_DATA = "trailing_data"
    NOT_JSON = "not_json"
    DUPLICATE_KEY = "duplicate_key"
    NAN = "nan"
    BOM = "bom"
    SCHEMA_MISMATCH = "schema_mismatch"
    TRUNCATED = "truncated"
    WRONG_LANGUAGE = "wrong_language"
    MIXED_LANGUAGES = "mixed_languages"
    MOJIBAKE = "mojibake"
    REPLACEMENT_CHAR = "replacement_char"
    SPECIAL_TOKEN = "special_token"  # noqa: S105  a token of a chat template
    CORRUPTED_BEGINNING = "corrupted_beginning"
    REPETITION = "repetition"
    TOO_SHORT = "too_short"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One judge's result. `fault` is None exactly when the outcome is `sound`; `evidence` is JSON-serialisable."""

    outcome: Outcome
    fault: Fault | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `ValueError` for a sound finding with a fault, or another without one."""
        if (self.outcome is Outcome.SOUND) != (self.fault is None):
            raise ValueError("a sound finding has no fault, every other finding has one")


def sound(**evidence: Any) -> Finding:
    """Nothing wrong was found."""
    return Finding(outcome=Outcome.SOUND, evidence=evidence)


def faulty(fault: Fault, **evidence: Any) -> Finding:
    """The text has this fault."""
    return Finding(outcome=Outcome.FAULTY, fault=fault, evidence=evidence)


def unsure(fault: Fault, **evidence: Any) -> Finding:
    """Nothing can be concluded; `fault` says why."""
    return Finding(outcome=Outcome.UNSURE, fault=fault, evidence=evidence)
