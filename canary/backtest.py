"""Recorded rounds under a policy: the live scoring and suspension functions, on rows of a file.

Rows are read whole and checked before anything is decided, so that a bad row leaves nothing half-written.
"""

import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from canary.domain import suspension
from canary.domain.capacity import ModelState
from canary.domain.decision import Decision, Outcome, RoundFacts
from canary.domain.policy import Policy
from canary.domain.scoring import EndpointFacts
from canary.domain.verdicts import Contract, Verdict
from incidents.domain.actions import Action
from routing.domain.modes import Mode

# Far from where times end: an end is at most a ladder's length later.
FIRST_YEAR, LAST_YEAR = 1970, 9000
CONTRACTS = {contract.value: contract for contract in Contract}
VERDICTS = {verdict.value: verdict for verdict in Verdict}
JUDGEMENTS = frozenset({"correct", "false positive", "unclear"})
# What the decision log keeps live but a backtest does not write.
UNWRITTEN = frozenset({Action.NOT_APPLICABLE})


class BacktestError(ValueError):
    """A row that cannot be read; the message names its line."""


class _Unreadable(Exception):
    """What is wrong with a row, in words that follow its line number."""


@dataclass(frozen=True, kw_only=True)
class RecordedRound:
    """The rows of one round of one model, in the words of the domain."""

    name: str
    model: str
    facts: RoundFacts


@dataclass(frozen=True, kw_only=True)
class RecordedEvent:
    """A mode switch, a lift or a review, with its row."""

    kind: str
    model: str
    at: datetime
    row: Mapping[str, Any]


Step = RecordedRound | RecordedEvent


def backtest(lines: Iterable[str], policy: Policy, *, mode: Mode) -> list[dict[str, Any]]:
    """Every decision the policy would have taken, in time order, as JSON-ready rows.

    Raises `BacktestError` on the first row that cannot be read. Time passes up to the latest `at` of the
    file: what would end after it is not written.
    """
    rows = _read_rows(lines)
    steps = _steps(rows)
    horizon = max((row["at"] for row in rows), default=None)
    decided = _Replay(policy, mode)
    for step in steps:
        decided.pass_time(_moment(step))
        decided.take(step)
    if horizon is not None:
        decided.pass_time(horizon)
    return decided.written


class _Replay:
    """The states of all models while a file is replayed."""

    def __init__(self, policy: Policy, mode: Mode) -> None:
        self.policy = policy
        self.mode = mode
        self.states: dict[str, ModelState] = {}
        self.written: list[dict[str, Any]] = []

    def pass_time(self, now: datetime) -> None:
        """Let ends and silences of every model happen up to `now`, written in time order."""
        happened: list[tuple[datetime, str, Decision]] = []
        for model, state in self.states.items():
            outcome = suspension.advance(state, now, self.policy)
            self.states[model] = outcome.state
            happened += [(decision.at, model, decision) for decision in outcome.decisions]
        for _, model, decision in sorted(happened, key=lambda item: item[0]):
            self._write(model, decision)

    def take(self, step: Step) -> None:
        """Apply one step to its model."""
        state = self.states.get(step.model) or ModelState(
            model=step.model, mode=self.mode, assumes_reachable=True
        )
        if isinstance(step, RecordedRound):
            outcome = suspension.apply_round(state, step.facts, self.policy)
        else:
            outcome = self._apply_event(state, step)
        self.states[step.model] = outcome.state
        name = step.name if isinstance(step, RecordedRound) else None
        for decision in outcome.decisions:
            self._write(step.model, decision, round_name=name)

    def _apply_event(self, state: ModelState, event: RecordedEvent) -> Outcome:
        row, at = event.row, event.at
        match event.kind:
            case "mode":
                return suspension.switch_mode(state, Mode(row["mode"]), self.policy, at=at)
            case "lift":
                return suspension.lift(
                    state,
                    row["endpoint"],
                    self.policy,
                    at=at,
                    is_false_positive=row["false_positive"],
                    reason=row["reason"],
                )
            case _:
                is_false = row["judgement"] == "false positive"
                return suspension.review(
                    state,
                    row["endpoint"],
                    self.policy,
                    at=at,
                    is_false_positive=is_false,
                    reason="judged a false positive in review.",
                )

    def _write(self, model: str, decision: Decision, *, round_name: str | None = None) -> None:
        if decision.action not in UNWRITTEN:
            self.written.append(_as_row(model, decision, round_name))


def _as_row(model: str, decision: Decision, round_name: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "at": _iso(decision.at),
        "round": round_name,
        "model": model,
        "endpoint": decision.endpoint,
        "action": str(decision.action),
        "rule": decision.rule,
        "enforced": decision.is_enforced,
        "level": decision.level,
        "until": _iso(decision.until) if decision.until else None,
        "reason": decision.reason,
    }
    return {key: value for key, value in row.items() if value is not None}


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _moment(step: Step) -> datetime:
    return step.facts.at if isinstance(step, RecordedRound) else step.at


def _read_rows(lines: Iterable[str]) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            rows.append(_read_row(number, line))
    return rows


def _read_row(number: int, line: str) -> dict[str, Any]:
    try:
        return _checked(json.loads(line))
    except (_Unreadable, ValueError, RecursionError) as error:
        raise BacktestError(f"Line {number} cannot be read: {str(error).rstrip('.')[:400]}.") from error


def _checked(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise _Unreadable("it is not an object")
    row["at"] = _read_time(row)
    _check_text(row, "model")
    return _checked_event(row) if "event" in row else _checked_endpoint(row)


def _read_time(row: Mapping[str, Any]) -> datetime:
    raw = row.get("at")
    try:
        moment = datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise _Unreadable(f"`at` must be an ISO 8601 time with its zone, not {_shown(raw)}")
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise _Unreadable(f"`at` must lie in the years {FIRST_YEAR} to {LAST_YEAR}, not {_shown(raw)}")
    return moment.astimezone(UTC)


def _shown(value: Any) -> str:
    """`value` as a message may show it: short."""
    return reprlib.repr(value)


def _check_text(row: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if not isinstance(row.get(name), str) or not row[name]:
            raise _Unreadable(f"`{name}` must be a text, not {_shown(row.get(name))}")


def _check_flags(row: dict[str, Any], *names: str) -> None:
    """Flags are true or false; one that is left out or null is false."""
    for name in names:
        if row.get(name) is None:
            row[name] = False
        if not isinstance(row[name], bool):
            raise _Unreadable(f"`{name}` must be true or false, not {_shown(row[name])}")


def _checked_event(row: dict[str, Any]) -> dict[str, Any]:
    match row["event"]:
        case "mode":
            if row.get("mode") not in list(Mode):
                raise _Unreadable(f"`mode` must be off, observe or enforce, not {row.get('mode')!r}")
        case "lift":
            _check_text(row, "endpoint")
            _check_flags(row, "false_positive")
            row["reason"] = str(row.get("reason") or "no reason given")
        case "review":
            _check_text(row, "endpoint", "judgement")
            row["judgement"] = row["judgement"].replace("_", " ")
            if row["judgement"] not in JUDGEMENTS:
                raise _Unreadable(
                    f"`judgement` must be correct, false positive or unclear, not {_shown(row['judgement'])}"
                )
        case other:
            raise _Unreadable(f"there is no event {_shown(other)}; there are mode, lift and review")
    return row


def _checked_endpoint(row: dict[str, Any]) -> dict[str, Any]:
    if isinstance(row.get("round"), int) and not isinstance(row["round"], bool):
        row["round_text"] = str(row["round"])
    else:
        _check_text(row, "round")
        row["round_text"] = row["round"]
    _check_text(row, "endpoint", "provider")
    row.setdefault("serving", True)
    _check_flags(row, "serving", "builtin", "runtime", "control", "protected", "manual", "our_side")
    if row.get("language") is not None:
        _check_text(row, "language")
    row["verdicts"] = _read_verdicts(row.get("results"))
    return row


def _read_verdicts(results: Any) -> dict[Contract, Verdict]:
    if results is None:
        return {}
    if not isinstance(results, dict):
        raise _Unreadable(f"`results` must map contracts to verdicts, not {_shown(results)}")
    verdicts = {}
    for contract, verdict in results.items():
        if contract not in CONTRACTS:
            raise _Unreadable(f"there is no contract {_shown(contract)}; there are {', '.join(Contract)}")
        if not isinstance(verdict, str) or verdict not in VERDICTS:
            raise _Unreadable(f"there is no verdict {_shown(verdict)}; there are {', '.join(Verdict)}")
        verdicts[CONTRACTS[contract]] = VERDICTS[verdict]
    return verdicts


def _steps(rows: list[dict[str, Any]]) -> list[Step]:
    """Rounds (at the earliest `at` of their rows) and events, in time order; ties in the file's order."""
    steps: list[Step] = []
    for group in _grouped(rows):
        first = group[0]
        if "event" in first:
            steps.append(RecordedEvent(kind=first["event"], model=first["model"], at=first["at"], row=first))
        else:
            steps.append(_recorded_round(group))
    return sorted(steps, key=_moment)


def _grouped(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows of one model and round together, each event alone, by first appearance."""
    groups: dict[object, list[dict[str, Any]]] = {}
    for position, row in enumerate(rows):
        key = position if "event" in row else (row["model"], row["round_text"])
        groups.setdefault(key, []).append(row)
    yield from groups.values()


def _recorded_round(group: list[dict[str, Any]]) -> RecordedRound:
    first = group[0]
    tags = [row["endpoint"] for row in group]
    if len(set(tags)) != len(tags):
        twice = next(tag for tag in tags if tags.count(tag) > 1)
        where = f"Round {_shown(first['round_text'])} of {_shown(first['model'])}"
        raise BacktestError(f"{where} has two rows for endpoint {_shown(twice)}.")
    facts = RoundFacts(
        at=min(row["at"] for row in group),
        endpoints=tuple(_endpoint_facts(row) for row in group),
        is_manual=any(row["manual"] for row in group),
        is_our_side=any(row["our_side"] for row in group),
    )
    return RecordedRound(name=first["round"], model=first["model"], facts=facts)


def _endpoint_facts(row: Mapping[str, Any]) -> EndpointFacts:
    return EndpointFacts(
        tag=row["endpoint"],
        provider=row["provider"],
        is_serving=row["serving"],
        in_other_tier=row["builtin"] or row["runtime"],
        is_control=row["control"],
        is_protected=row["protected"],
        language=row.get("language"),
        verdicts=row["verdicts"],
    )
