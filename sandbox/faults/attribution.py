"""Faults of who answered, and of which endpoints there are."""

from __future__ import annotations

from dataclasses import replace

from sandbox.answers import Scene
from sandbox.faults.registry import Params, fault, text
from sandbox.turn import Turn

GONE = "gone"
NOT_ALLOWED = "not_allowed"


@fault("served_by_other", provider=text())
def served_by_other(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The answer names another provider: the given one, or the next of the model."""
    others = [
        endpoint.provider
        for endpoint in scene.model.endpoints
        if endpoint.base_slug != scene.endpoint.base_slug
    ]
    return replace(turn, shown_provider=params.text("provider") or next(iter(others), "Unlisted Host"))


@fault("not_attributed")
def not_attributed(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The answer names no provider, neither in the body nor in the router's metadata."""
    return replace(turn, shown_provider=None)


@fault(GONE)
def gone(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The endpoint is absent from the model's list and cannot be reached."""
    return turn


@fault(NOT_ALLOWED)
def not_allowed(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The endpoint is listed, but this account is never routed to it: a pin is a 404."""
    return turn
