"""The closed lists of decisions: what was done, by which rule, and how loud it is."""

from enum import StrEnum


class Action(StrEnum):
    """What a decision did. The first group is what a backtest writes; the rest happens only live."""

    SUSPEND = "suspend"
    RENEW = "renew"
    REFUSE = "refuse"
    PROTECT = "protect"
    RECOVER = "recover"
    EXPIRE = "expire"
    LIFT = "lift"
    COMMON_CAUSE = "common_cause"
    WEAKENED = "weakened"
    BELOW_FLOOR = "below_floor"
    UNSETTLED = "unsettled"
    BLIND = "blind"

    UNPROVED = "unproved"
    OUR_SIDE = "our_side"
    BUDGET = "budget"
    NOT_APPLICABLE = "not_applicable"
    REVIEW = "review"
    MODE = "mode"
    POLICY = "policy"
    STOP = "stop"
    RESUME = "resume"
    EXCLUDE = "exclude"
    EXCLUSION_LIFT = "exclusion_lift"
    EXCLUSION_EXPIRE = "exclusion_expire"
    UNMATCHED = "unmatched"
    GAVE_WAY = "gave_way"
    BREACH = "breach"
    JOINED = "joined"
    LEFT = "left"
    MODEL_GONE = "model_gone"
    DISCOVERY_FAILED = "discovery_failed"
    ENDPOINT_FLAG = "endpoint_flag"


class Severity(StrEnum):
    """How loud a notification is."""

    INFO = "info"
    WARNING = "warning"
    SEVERE = "severe"
