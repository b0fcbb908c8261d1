"""What a notification says beyond its caller's sentences: the decision's facts and a link."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from incidents.domain.actions import Action
from incidents.domain.storable import one_line

EVIDENCE_LIMIT = 300


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
    }
    return [f"{name}: {value}" for name, value in named.items() if value]


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
