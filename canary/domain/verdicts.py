"""The closed lists of contracts, verdicts and reasons, and the judgement that carries them.

A contract is one narrow promise a probe checks; a verdict says what one probe run (or, after
confirmation, one endpoint's runs of a contract in a round) came to. Rules C2-C9.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Contract(StrEnum):
    """The promises the canary checks (`beginnings` is pooled into `language`, rule C8)."""

    LATENCY = "latency"
    FILTERING = "filtering"
    STRUCTURED_OUTPUT = "structured_output"
    LANGUAGE = "language"


class Verdict(StrEnum):
    """What a probe run came to; only `pass` and `fail` are conclusive."""

    PASS = "pass"  # noqa: S105  a verdict, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    UNREACHABLE = "unreachable"

    @property
    def is_conclusive(self) -> bool:
        """True for `pass` and `fail`."""
        return self in (Verdict.PASS, Verdict.FAIL)


class Reason(StrEnum):
    """Why a verdict was given. A closed list: every reason has a test and a line in the README."""

    OK = "ok"
    NO_TEXT_IN_LIMIT = "no_text_in_limit"
    CONNECT_FAILED = "connect_failed"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    ERROR_BEFORE_TEXT = "error_before_text"
    EARLY_END = "early_end"
    OUR_REQUEST = "our_request"
    OUR_SIDE = "our_side"
    SERVED_BY_OTHER = "served_by_other"
    NOT_ATTRIBUTED = "not_attributed"
    ROUTING_REFUSED = "routing_refused"
    OVERLOADED_HERE = "overloaded_here"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    POLICY_ERROR = "policy_error"
    EMPTY = "empty"
    CUT_OFF = "cut_off"
    REASONING_ONLY = "reasoning_only"
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
    SCHEMA_REFUSED = "schema_refused"
    WRONG_LANGUAGE = "wrong_language"
    MIXED_LANGUAGES = "mixed_languages"
    MOJIBAKE = "mojibake"
    REPLACEMENT_CHAR = "replacement_char"
    SPECIAL_TOKEN = "special_token"  # noqa: S105  of a tokenizer
    CORRUPTED_BEGINNING = "corrupted_beginning"
    REPETITION = "repetition"
    TOO_SHORT = "too_short"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One verdict with its reason and the evidence a person needs to see it.

    `evidence` is JSON-serialisable; its keys depend on the reason and are documented by the judge.
    """

    verdict: Verdict
    reason: Reason
    evidence: Mapping[str, Any] = field(default_factory=dict)
