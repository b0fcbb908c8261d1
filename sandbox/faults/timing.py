"""Faults of time: answers that are late, slow, or never come."""

from __future__ import annotations

from dataclasses import replace

from sandbox.answers import Scene
from sandbox.faults.registry import Params, fault, flag, number
from sandbox.turn import Ending, Opening, Turn


@fault("slow_first_token", seconds=number(12))
def slow_first_token(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The first token comes after so many seconds; what follows is as fast as ever."""
    return replace(turn, ttft_s=params.number("seconds"))


@fault("trickle", seconds=number(30))
def trickle(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The first token is on time, but the whole text takes so many seconds."""
    return replace(turn, duration_s=params.number("seconds"))


@fault("slow", factor=number(10))
def slow(turn: Turn, scene: Scene, params: Params) -> Turn:
    """Everything takes `factor` times as long."""
    factor = params.number("factor")
    return replace(turn, ttft_s=turn.ttft_s * factor, duration_s=turn.duration_s * factor)


@fault("stalled", at=number(0, most=1), keep_alives=flag(True))
def stalled(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The status comes, then after share `at` of the text nothing but keep-alives, without end."""
    ending = Ending.STALL if params.flag("keep_alives") else Ending.SILENCE
    return replace(turn, break_at=params.number("at"), ending=ending)


@fault("never_answers")
def never_answers(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The request is taken and nothing is ever sent, not even a status."""
    return replace(turn, opening=Opening.SILENCE)
