"""Rows of a backtest's file, made from the same words and tables as the facts of the domain's tests."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tests.canary.domain.builders import HEALTHY, INTERVAL, START, language, moment, table, verdicts
from tests.canary.domain.histories import HistoryRound

Row = dict[str, Any]
FLAGS = {
    "in_other_tier": "runtime",
    "is_protected": "protected",
    "is_control": "control",
    "is_serving": "serving",
}


def row(tag: str, word: str, at: float, **values: Any) -> Row:
    """One endpoint in the round that started `at` half-hours after the start; `values` override."""
    asked = language(word)
    made: Row = {
        "round": f"{at:g}",
        "at": moment(at).isoformat(),
        "model": "m",
        "endpoint": tag,
        "provider": tag.partition("/")[0],
        "serving": True,
        "results": {str(contract): str(verdict) for contract, verdict in verdicts(word).items()},
    }
    return made | ({"language": asked} if asked else {}) | values


def recorded(text: str, *, since: float = 0, healthy: Iterable[str] = HEALTHY, **values: Any) -> list[Row]:
    """Rows of a table: one word a round, a round each half-hour, beside the healthy bystanders."""
    columns = table(text)
    rows = []
    for index in range(max(len(words) for words in columns.values())):
        words = dict.fromkeys(healthy, "L+") | {tag: words[index] for tag, words in columns.items()}
        rows += [row(tag, word, since + index, **values) for tag, word in words.items() if word != "."]
    return rows


def recorded_history(history: Iterable[HistoryRound], **values: Any) -> list[Row]:
    """Rows of a history of the domain's tests."""
    return [
        row(
            tag,
            word,
            one.at,
            manual=one.is_manual,
            our_side=one.is_our_side,
            **_flags(one.flags, tag),
            **values,
        )
        for one in history
        for tag, word in one.words.items()
        if word != "."
    ]


def _flags(flags: Mapping[str, Mapping[str, bool]], tag: str) -> dict[str, bool]:
    return {FLAGS[name]: value for name, value in flags.get(tag, {}).items()}


def event(kind: str, at: float, **values: Any) -> Row:
    """A mode switch, a lift or a review."""
    return {"event": kind, "at": moment(at).isoformat(), "model": "m", **values}


def lines(*rows: Row | Iterable[Row]) -> list[str]:
    """JSON lines of rows and lists of rows, in the order given."""
    flat = [one for part in rows for one in ([part] if isinstance(part, dict) else part)]
    return [json.dumps(one) for one in flat]


def spoken(decisions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Written decisions as `3 suspend x`, as the builders say them."""
    return [
        f"{(datetime.fromisoformat(one['at']) - START) / INTERVAL:g} {one['action']}"
        + (f" {one['endpoint']}" if "endpoint" in one else "")
        for one in decisions
    ]
