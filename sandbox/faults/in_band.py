"""Faults that are errors inside a 200: in the body, in the choice, or in the middle of a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sandbox.answers import Scene
from sandbox.failures import Failure
from sandbox.faults.errors import failing, upstream_failure
from sandbox.faults.registry import Params, choice, fault, number
from sandbox.faults.shapes import MESSAGES, SHAPE, TYPES
from sandbox.turn import Ending, ErrorPlacement, Turn


@fault("error_in_200", status=number(502, least=400, most=599), shape=SHAPE)
def error_in_200(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A 200 whose body, or whose first event, is an error."""
    return replace(
        failing(turn, upstream_failure(turn, params.whole("status"), params.text("shape"))), in_200=True
    )


@fault("null_completion", status=number(524, least=400, most=599))
def null_completion(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A 200 with a completion of nulls and an error code beside it."""
    status = params.whole("status")
    error = {"message": MESSAGES.get(status, "Error"), "code": status}
    failure = Failure(status=status, error=error, with_user=False)
    return replace(failing(turn, failure), in_200=True, null_completion=True)


@fault("null_choices")
def null_choices(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A 200 whose `choices` is null, without any error."""
    return replace(turn, null_choices=True)


def _broken_off(turn: Turn, at: float, error: dict[str, Any], placement: ErrorPlacement) -> Turn:
    return replace(
        turn,
        break_at=at,
        ending=Ending.ERROR_EVENT,
        error_event=error,
        error_placement=placement,
        finish="error",
    )


@fault("choice_error", at=number(0.5, most=1), status=number(502, least=400, most=599))
def choice_error(turn: Turn, scene: Scene, params: Params) -> Turn:
    """Partial text and an error inside the choice, with finish reason error."""
    status = params.whole("status")
    metadata = {"error_type": TYPES.get(status, "server")}
    error = {"code": status, "message": "Provider disconnected mid-stream", "metadata": metadata}
    return _broken_off(turn, params.number("at"), error, ErrorPlacement.CHOICE)


@fault(
    "error_midstream",
    at=number(0.5, most=1),
    status=number(502, least=400, most=599),
    shape=choice("typed", "string_code", "after_finish", "empty_choices"),
)
def error_midstream(turn: Turn, scene: Scene, params: Params) -> Turn:
    """After share `at` of the text an error event ends the stream; without streaming, an error in the choice."""
    status, shape = params.whole("status"), params.text("shape")
    error: dict[str, Any] = {"code": status, "message": MESSAGES.get(status, "Error")}
    placement = ErrorPlacement.TOP
    match shape:
        case "typed":
            error["metadata"] = {"error_type": TYPES.get(status, "server")}
        case "string_code":
            error = {"code": "server_error", "message": "Provider disconnected unexpectedly"}
        case "empty_choices":
            placement = ErrorPlacement.NO_CHOICES
        case "after_finish":
            broken = _broken_off(
                turn, params.number("at"), {"code": 400, "message": "Token limit reached"}, placement
            )
            return replace(broken, finish_before_error="length")
    return _broken_off(turn, params.number("at"), error, placement)
