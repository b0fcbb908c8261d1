"""What a notification says beyond its caller's sentence: the decision's facts, what happens next, a link."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from incidents.domain.actions import Action
from incidents.domain.storable import one_line

EVIDENCE_LIMIT = 300

# What the machine does by itself after a decision. No entry: nothing follows by itself.
NEXT_STEPS: Mapping[Action, str] = {
    Action.SUSPEND: "It is probed in every round; two clean rounds in a row end the suspension early (C16).",
    Action.RENEW: "It is probed in every round; two clean rounds in a row end the suspension early (C16).",
    Action.REFUSE: "It stays in service; every further failing round asks again (C14).",
    Action.PROTECT: "It stays in service while it is protected; every failing round is recorded (C14).",
    Action.RECOVER: "It serves again; two failing rounds in a row would suspend it anew (C12).",
    Action.EXPIRE: "It serves again; two failing rounds in a row would suspend it anew (C12).",
    Action.LIFT: "It serves again with its streak at zero (C18).",
    Action.COMMON_CAUSE: "Nobody is scored for this contract in this round (C13).",
    Action.WEAKENED: "No filtering pass counts until every control fails again (C6).",
    Action.UNPROVED: "Filtering verdicts go on; they are shown as unproved until a control is conclusive (C6).",
    Action.BELOW_FLOOR: "Nothing is released automatically; no further endpoint is suspended (C14).",
    Action.BLIND: "Suspensions keep their end; look at the rounds of this model first (C20).",
    Action.OUR_SIDE: "Nobody was scored; the next round tries again (C3).",
    Action.BUDGET: "Rounds are spread out until the day's budget is new (C21).",
    Action.STOP: "Decisions go on as shadows until enforcement is resumed (C17).",
    Action.MODEL_GONE: "It is asked for again at every round's discovery (C1).",
    Action.DISCOVERY_FAILED: "The last good list is used while it is younger than 24 hours (C1).",
    Action.UNMATCHED: "It is sent all the same and begins to work once such a name appears (R4).",
    Action.GAVE_WAY: "It is sent again as soon as something else can serve (R2).",
}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a decision says of itself, in plain values."""

    action: Action
    rule: str
    at: datetime
    model: str = ""
    endpoint: str = ""
    mode: str = ""
    is_enforced: bool = False
    until: datetime | None = None
    actor: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


def full_text(body: str, facts: Facts | None, link: str) -> str:
    """The text of a message: the caller's `body`, the decision's facts line by line, and the link."""
    lines = [body.strip(), ""]
    if facts is not None:
        lines += [*_fact_lines(facts), ""]
    return "\n".join([*lines, link, ""])


def evidence_line(evidence: Mapping[str, Any]) -> str:
    """`evidence` as one line of at most `EVIDENCE_LIMIT` characters; empty when there is none."""
    return one_line("; ".join(f"{key}: {value}" for key, value in evidence.items()), EVIDENCE_LIMIT)


def _fact_lines(facts: Facts) -> list[str]:
    effect = "enforced" if facts.is_enforced else "not enforced: nothing was excluded by it"
    named = {
        "What": facts.action.replace("_", " "),
        "Model": facts.model,
        "Endpoint": facts.endpoint,
        "Rule": facts.rule,
        "Effect": f"{effect} (mode {facts.mode})" if facts.mode else "",
        "From": _minute(facts.at),
        "Until": _minute(facts.until) if facts.until else "",
        "By": facts.actor,
        "Evidence": evidence_line(facts.evidence),
        "Next": NEXT_STEPS.get(facts.action, ""),
    }
    return [f"{name}: {value}" for name, value in named.items() if value]


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
