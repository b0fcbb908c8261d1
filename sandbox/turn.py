"""What an upstream is about to do with one request: the record that faults alter and delivery plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sandbox.failures import Failure


class Opening(StrEnum):
    """How the answer begins: as usual, as an HTTP error, not at all, or with the connection gone."""

    ANSWER = "answer"
    FAILURE = "failure"
    SILENCE = "silence"
    RESET = "reset"
    CLOSED = "closed"


class Ending(StrEnum):
    """How the answer ends, once `break_at` of its text is out."""

    COMPLETE = "complete"
    NO_DONE = "no_done"
    NO_FINISH = "no_finish"
    HANG_UP = "hang_up"
    RESET = "reset"
    STALL = "stall"
    SILENCE = "silence"
    ERROR_EVENT = "error_event"


class ErrorPlacement(StrEnum):
    """Where an error event carries its error: beside the choices, inside the choice, or with no choices at all."""

    TOP = "top"
    CHOICE = "choice"
    NO_CHOICES = "no_choices"


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call of a tool; `arguments` None leaves the key out, as one provider did."""

    id: str
    name: str
    arguments: str | None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and price of one answer; the price is per million tokens in USD."""

    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int = 0
    price_prompt: float
    price_completion: float

    @property
    def prompt_cost(self) -> float:
        """USD for the prompt."""
        return self.prompt_tokens * self.price_prompt / 1e6

    @property
    def completion_cost(self) -> float:
        """USD for answer and reasoning."""
        return self.completion_tokens * self.price_completion / 1e6

    @property
    def cost(self) -> float:
        """USD in all."""
        return self.prompt_cost + self.completion_cost


@dataclass(frozen=True, kw_only=True)
class RawBody:
    """Bytes sent as they are in place of a completion, in a 200."""

    data: bytes
    content_type: str = "application/json"
    content_encoding: str | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One upstream answer. Text, reasoning and calls are spread over `duration_s`, beginning at `ttft_s`.

    `failure` is sent with its status (Opening.FAILURE) or inside a 200 (`in_200`); `raw` replaces a 200's body.
    `shown_provider` is the display name the answer carries, None where it must not be attributable. `junk_at` are
    shares of the text before which a malformed event is slipped in. `filler_bytes` of text follow the text
    (infinity: without end). `finish_before_error` is a finish reason sent before the error event.
    """

    text: str | None
    usage: Usage
    shown_provider: str | None
    ttft_s: float
    duration_s: float
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish: str | None = "stop"
    native_finish: str | None = "stop"
    opening: Opening = Opening.ANSWER
    failure: Failure | None = None
    in_200: bool = False
    raw: RawBody | None = None
    break_at: float = 1.0
    ending: Ending = Ending.COMPLETE
    error_event: Mapping[str, Any] | None = None
    error_placement: ErrorPlacement = ErrorPlacement.TOP
    finish_before_error: str | None = None
    junk_at: tuple[float, ...] = ()
    null_choices: bool = False
    null_completion: bool = False
    filler_bytes: float = 0
    applied: tuple[str, ...] = ()
