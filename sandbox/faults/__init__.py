"""The kinds of faults an endpoint can have, by name in `KINDS`; each kind is a function from turn to turn."""

from sandbox.faults import attribution, breakage, errors, in_band, structure, timing, wording
from sandbox.faults.attribution import GONE, NOT_ALLOWED
from sandbox.faults.registry import KINDS, Kind, Param, Params

__all__ = [
    "GONE",
    "KINDS",
    "NOT_ALLOWED",
    "Kind",
    "Param",
    "Params",
    "attribution",
    "breakage",
    "errors",
    "in_band",
    "structure",
    "timing",
    "wording",
]
