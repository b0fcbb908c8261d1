"""Faults of the connection and the stream's framing."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace

from sandbox.answers import Scene
from sandbox.faults.registry import Params, choice, fault, number
from sandbox.turn import Ending, Opening, RawBody, Turn


@fault("cut_stream", at=number(0.66, most=1), how=choice("close", "end", "reset"))
def cut_stream(turn: Turn, scene: Scene, params: Params) -> Turn:
    """After share `at` of the text the answer breaks off: connection closed, body ended cleanly, or reset."""
    endings = {"close": Ending.HANG_UP, "end": Ending.NO_FINISH, "reset": Ending.RESET}
    return replace(turn, break_at=params.number("at"), ending=endings[params.text("how")])


@fault("no_done")
def no_done(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The stream is complete but for its last line, `data: [DONE]`."""
    return replace(turn, ending=Ending.NO_DONE)


@fault("malformed_event", count=number(1, least=1))
def malformed_event(turn: Turn, scene: Scene, params: Params) -> Turn:
    """So many events of a stream are not JSON."""
    count = params.whole("count")
    return replace(turn, junk_at=tuple((index + 1) / (count + 1) for index in range(count)))


@fault("connection_reset", how=choice("reset", "close"))
def connection_reset(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The connection goes away without any response."""
    return replace(turn, opening=Opening.RESET if params.text("how") == "reset" else Opening.CLOSED)


@fault("huge", variant=choice("text", "endless", "nested", "gzip_bomb"), megabytes=number(64, least=0.001))
def huge(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The answer is far too large: megabytes of text, text without end, deep nesting, or a gzip bomb."""
    size = int(params.number("megabytes") * 1_000_000)
    match params.text("variant"):
        case "text":
            return replace(turn, filler_bytes=size)
        case "endless":
            return replace(turn, filler_bytes=math.inf)
        case "nested":
            depth = size // 2
            return replace(turn, raw=RawBody(data=b'{"choices":' + b"[" * depth + b"]" * depth + b"}"))
        case _:
            packed = gzip.compress(
                b'{"choices":[{"message":{"content":"' + b"a" * size + b'"}}]}', compresslevel=6
            )
            return replace(turn, raw=RawBody(data=packed, content_encoding="gzip"))
