"""From recorded or arriving bytes to an `Exchange`: OpenRouter's chat answers, streamed or whole. No I/O.

The live client and the commands that judge recordings read everything through this one module; catalogue
answers and errors are decoded in two of their own and passed on from here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from routing.gateways.base import Exchange, GatewayError, TimedLine, TransportFailure
from routing.gateways.hostile_json import Unreadable, as_mapping, as_ms, decode, load_object
from routing.gateways.openrouter_answer import Answer
from routing.gateways.openrouter_catalogue import (
    read_discovery,
    read_key,
    read_model_facts,
    read_models,
    read_providers,
)
from routing.gateways.openrouter_errors import (
    error_in,
    is_error_status,
    is_http_status,
    lowered,
    reached_upstream,
    read_error,
)
from routing.gateways.sse import data_of

__all__ = [
    "StreamReader",
    "exchange_from_body",
    "exchange_from_events",
    "read_discovery",
    "read_error",
    "read_key",
    "read_model_facts",
    "read_models",
    "read_providers",
]

MAX_STREAM_BYTES = 32 * 1024 * 1024
"""Longest stream read, overhead included: 128 k tokens in one-token chunks of the recorded size are 30 MB."""
MAX_BODY_BYTES = 8 * 1024 * 1024
"""Longest whole answer read: some two million tokens of text."""
MAX_STRAY_CHARS = 64 * 1024
"""How much text outside of events is kept, to read an error page that came in place of a stream."""
DONE = "[DONE]"


class StreamReader:
    """A streamed answer as it arrives, line by line, until its end mark or the size limit.

    An event is read when its data is complete, not when the blank line after it has come: recordings lose
    blank lines, and the time that counts is the data's.
    """

    def __init__(self, *, status: int = 200, headers: Mapping[str, Any] | None = None) -> None:
        self.answer = Answer()
        self.has_done = False
        self.is_over_limit = False
        self.error: GatewayError | None = None
        self._status = status
        self._headers = lowered(headers or {})
        self._pending: list[str] = []
        self._pending_ms = 0.0
        self._stray: list[str] = []
        self._size = 0
        self._stray_size = 0
        self._malformed = 0
        self._last_ms: float | None = None

    def feed(self, line: str, at_ms: float) -> None:
        """Take in one line (with or without its line end) that came `at_ms` after the request was written."""
        self._size += len(line) + 1
        self.is_over_limit = self.is_over_limit or self._size > MAX_STREAM_BYTES
        if self.has_done or self.is_over_limit:
            return
        self._last_ms = at_ms
        bare = line.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")
        for part in bare.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
            self._feed_part(part, at_ms)

    def finish(self, failure: TransportFailure | None = None, ended_ms: float | None = None) -> Exchange:
        """The exchange, once nothing more will come; a stream that just stops reads as cut."""
        self._flush()
        ended_ms = as_ms(self._last_ms if ended_ms is None else ended_ms)
        if is_error_status(self._status) and self.error is None:
            self.error = read_error(self._status, self._headers, "\n".join(self._stray))
        elif self._is_body(failure):
            return _whole_answer(self._status, self._headers, "\n".join(self._stray), ended_ms)
        exchange = _exchange(self.answer, self._headers)
        return replace(
            exchange,
            status=self._status,
            failure=self._failure(failure),
            error=_error_of(exchange, self.error),
            has_done=self.has_done,
            ended_ms=ended_ms,
            malformed_events=self._malformed,
        )

    def _feed_part(self, part: str, at_ms: float) -> None:
        data = data_of(part)
        if data is not None:
            self._feed_data(data, at_ms)
        elif not part:
            self._flush()
        elif not part.startswith(":") and self._stray_size < MAX_STRAY_CHARS:
            self._stray.append(part[:MAX_STRAY_CHARS])
            self._stray_size += len(part)

    def _feed_data(self, data: str, at_ms: float) -> None:
        """Read data that is an event of its own; keep the rest until the event's blank line."""
        if data.strip() == DONE:
            self._flush()
            self.has_done = True
            return
        event = _event_in(data)
        if event is not None and (not self._pending or _is_chunk(event)):
            self._flush()
            self._take(event, at_ms)
        elif data.strip() or self._pending:
            self._pending.append(data)
            self._pending_ms = at_ms

    def _flush(self) -> None:
        """Read what was pending as one event of several data lines; what is still not JSON is malformed."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        event = _event_in("\n".join(pending)) if len(pending) > 1 else None
        if event is None:
            self._malformed += 1
        else:
            self._take(event, self._pending_ms)

    def _take(self, event: Mapping[str, Any], at_ms: float) -> None:
        in_stream = not is_error_status(self._status)
        self.error = self.error or error_in(
            event, status=self._status, headers=self._headers, in_stream=in_stream
        )
        if not self.answer.add(event, at_ms):
            self._malformed += 1

    def _is_body(self, failure: TransportFailure | None) -> bool:
        """Whether a plain body came in place of a stream."""
        nothing_read = (
            self.answer.first_token_ms is None and self.answer.finish_reason is None and self.error is None
        )
        return (
            failure is None
            and bool(self._stray)
            and nothing_read
            and not self.has_done
            and not self._malformed
        )

    def _failure(self, failure: TransportFailure | None) -> TransportFailure | None:
        has_end = self.has_done or self.error is not None or self.answer.finish_reason is not None
        if failure is None and (self.is_over_limit or not has_end):
            return TransportFailure.CUT
        return failure


def exchange_from_events(
    events: Iterable[TimedLine], *, status: int = 200, headers: Mapping[str, Any] | None = None
) -> Exchange:
    """A recorded stream as an exchange; `ended_ms` is the time of its end mark, or of its last line."""
    if not is_http_status(status):
        return Exchange(failure=TransportFailure.NO_STATUS)
    reader = StreamReader(status=status, headers=headers)
    for event in events:
        reader.feed(event.line, event.at_ms)
    return reader.finish()


def exchange_from_body(
    status: int, headers: Mapping[str, Any], body: str | bytes, *, ended_ms: float | None = None
) -> Exchange:
    """A whole answer as an exchange, `ended_ms` after the request was written; its text came when it ended.

    A 200 may be padded, hold an error, hold no choices or hold the whole completion inside `provider`.
    """
    ended_ms = as_ms(ended_ms)
    if not is_http_status(status):
        return Exchange(failure=TransportFailure.NO_STATUS, ended_ms=ended_ms)
    known, text = lowered(headers), decode(body)
    if text.lstrip().startswith(("data:", ": ")):
        lines = (TimedLine(at_ms=ended_ms or 0.0, line=line) for line in text.lstrip().split("\n"))
        return exchange_from_events(lines, status=status, headers=known)
    if is_error_status(status):
        return Exchange(
            status=status, error=read_error(status, known, text), has_done=True, ended_ms=ended_ms
        )
    return _whole_answer(status, known, text, ended_ms)


def _whole_answer(status: int, headers: Mapping[str, str], text: str, ended_ms: float | None) -> Exchange:
    try:
        document = _unwrapped(load_object(text))
    except Unreadable as reason:
        return _unreadable_answer(status, headers, text, reason, ended_ms)
    answer = Answer()
    is_whole = answer.add(document, ended_ms)
    exchange = _exchange(answer, headers)
    error = _error_of(exchange, error_in(document, status=status, headers=headers))
    if error is None and not document.get("choices"):
        error = GatewayError(status=None, message="The answer holds neither choices nor an error.")
    return replace(
        exchange,
        status=status,
        error=error,
        has_done=True,
        ended_ms=ended_ms,
        malformed_events=0 if is_whole else 1,
    )


def _unreadable_answer(
    status: int, headers: Mapping[str, str], text: str, reason: Unreadable, ended_ms: float | None
) -> Exchange:
    is_cut = str(reason).startswith("breaks off")
    return Exchange(
        status=status,
        failure=TransportFailure.CUT if is_cut else None,
        error=None if is_cut else read_error(status, headers, text),
        has_done=not is_cut,
        ended_ms=ended_ms,
    )


def _exchange(answer: Answer, headers: Mapping[str, str]) -> Exchange:
    return answer.exchange(
        header_generation_id=headers.get("x-generation-id"), header_provider=headers.get("x-provider-name")
    )


def _error_of(exchange: Exchange, error: GatewayError | None) -> GatewayError | None:
    """The exchange's error, completed with what the rest of the answer says of provider and router.

    An answer that ended with reason `error` is one, also when no error object came with it.
    """
    if error is None and exchange.finish_reason == "error":
        error = GatewayError(
            status=None, message="The answer ended with finish reason error and no error object."
        )
    if error is None:
        return None
    provider = error.provider_name or exchange.served_by
    reached = error.reached_upstream
    return replace(
        error,
        provider_name=provider,
        reached_upstream=reached_upstream(exchange.router_metadata) if reached is None else reached,
        is_own_rate_limit=error.is_own_rate_limit and provider is None,
    )


def _unwrapped(document: dict[str, Any]) -> Mapping[str, Any]:
    """The completion itself, also when it is nested whole in `provider`."""
    inner = as_mapping(document.get("provider"))
    return inner if inner.get("choices") and not document.get("choices") else document


def _event_in(data: str) -> dict[str, Any] | None:
    try:
        return load_object(data)
    except Unreadable:
        return None


def _is_chunk(event: Mapping[str, Any]) -> bool:
    """Whether an object is an answer's chunk, not one line of an event in several."""
    return "choices" in event or "error" in event
