"""The closed lists routing shares with the canary: modes and exclusion tiers."""

from enum import StrEnum


class Mode(StrEnum):
    """What the canary may do for a model (or, lower, for one of its contracts)."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


class Tier(StrEnum):
    """Who made an exclusion: reviewed in code, added by an admin, or made by the canary."""

    BUILTIN = "builtin"
    RUNTIME = "runtime"
    CANARY = "canary"


class CapabilitySource(StrEnum):
    """Where a capability row comes from: the gateway's catalogue or our own measurement (rule R10)."""

    ADVERTISED = "advertised"
    MEASURED = "measured"
