"""A second, deliberately slow reading of the rules: streaks, culprits, ladder and floor, looked up in full history.

Nothing is carried from round to round but a diary of each endpoint and its suspensions; every question is
answered by reading the diary backwards. It reads C1, C3, C6 and C10-C16 from their text and uses no code of theirs.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from tests.canary.domain.builders import moment
from tests.canary.domain.histories import HistoryRound

Told = tuple[datetime, str, str | None, int | None]
Marks = dict[str, str]
"""Sign by pair: `L`, `F`, `S` or the language that was asked."""


def contract(pair: str) -> str:
    return pair if pair in "LFS" else "language"


def marks_of(word: str) -> Marks:
    return {} if word == "0" else {mark[:-1]: mark[-1] for mark in word.split(",")}


class Oracle:
    """One enforcing model under the default policy with another interval; `told` is what it decided."""

    def __init__(self, interval: timedelta) -> None:
        self.interval = interval
        self.diary: dict[str, list[tuple[str, datetime, Marks]]] = {}
        self.silent: dict[str, list[bool]] = {}
        self.serving: dict[str, dict[str, bool]] = {}
        self.held: dict[str, tuple[datetime, set[str]]] = {}
        self.starts: dict[str, list[datetime]] = {}
        self.scored_at: datetime | None = None
        self.told: list[Told] = []

    def streak(self, tag: str) -> list[tuple[str, datetime, Marks]]:
        """The scored rounds of the present streak, latest first."""
        found: list[tuple[str, datetime, Marks]] = []
        for entry in reversed(self.diary[tag]):
            if entry[0] == "anew" or (found and entry[0] in ("clean", "failing") and entry[0] != found[0][0]):
                break
            if entry[0] in ("clean", "failing"):
                found.append(entry)
        return found

    def is_two(self, tag: str, kind: str) -> bool:
        return len(self.streak(tag)) >= 2 and self.streak(tag)[0][0] == kind

    def failed(self, tag: str) -> set[str]:
        """Pairs that failed in the failing streak and did not leave since."""
        found: set[str] = set()
        left: set[str] = set()
        for kind, _, marks in reversed(self.diary[tag]):
            if kind in ("anew", "clean"):
                break
            if kind == "left":
                left |= marks.keys()
            if kind == "failing":
                found |= {pair for pair, sign in marks.items() if sign == "-"} - left
        return found

    def urgency(self, tag: str) -> tuple[int, int, str]:
        streak = self.streak(tag)
        contracts = {contract(pair) for _, _, marks in streak for pair in marks if marks[pair] == "-"}
        return -len(streak), -len(contracts), tag

    def signs(self, tag: str, pair: str) -> list[str]:
        """What the pair came to when it was asked, latest first."""
        return [marks[pair] for _, _, marks in reversed(self.diary[tag]) if pair in marks]

    def leave(self, tag: str, at: datetime, pairs: Iterable[str]) -> None:
        self.diary[tag].append(("left", at, dict.fromkeys(pairs, "")))
        if tag in self.held:
            self.held[tag][1].difference_update(pairs)

    def result(self, tag: str, at: datetime, marks: Marks) -> str:
        culprits = self.failed(tag) | self.held.get(tag, (at, set()))[1]
        asked = {contract(pair) for pair in marks}
        self.leave(tag, at, {pair for pair in culprits if marks and contract(pair) not in asked})
        culprits = self.failed(tag) | self.held.get(tag, (at, set()))[1]
        latest = {
            pair: marks.get(pair) or next(s for s in self.signs(tag, pair) if s in "+-") for pair in culprits
        }
        kind = "frozen"
        if "-" in marks.values():
            kind = "failing"
        elif "!" not in marks.values() and "+" in marks.values() and set(latest.values()) <= {"+"}:
            kind = "clean"
        self.diary[tag].append((kind, at, marks))
        for pair in sorted(culprits):
            last_8 = self.signs(tag, pair)[:8]
            if contract(pair) == "language" and len(last_8) == 8 and not {"+", "-"} & set(last_8):
                self.leave(tag, at, [pair])
                self.told.append((at, "unsettled", tag, None))
        return kind

    def effective(self, at: datetime, rows: dict[str, Marks]) -> dict[str, Marks]:
        is_control = {tag: self.serving[tag].get("is_control", False) for tag in rows}
        weakened = any(is_control[tag] and rows[tag].get("F") == "+" for tag in rows)
        rows = {
            tag: {pair: sign for pair, sign in marks.items() if not (pair == "F" and is_control[tag])}
            for tag, marks in rows.items()
        }
        if weakened:
            self.told.append((at, "weakened", None, None))
            rows = {tag: marks | ({"F": "?"} if marks.get("F") == "+" else {}) for tag, marks in rows.items()}
        for name in ("L", "F", "S", "language"):
            seen = [
                (tag, pair)
                for tag in rows
                for pair in rows[tag]
                if contract(pair) == name and rows[tag][pair] in "+-"
            ]
            bad = [tag for tag, pair in seen if rows[tag][pair] == "-"]
            if len({tag.split("/")[0] for tag in bad}) >= 3 and len(bad) * 10 >= len(seen) * 8:
                self.told.append((at, "common_cause", None, None))
                for tag, pair in seen:
                    rows[tag] = rows[tag] | {pair: "?"}
        return rows

    def ask(self, tag: str, at: datetime, action: str) -> bool:
        """Suspend or renew, unless protection or the floor forbids it (C14, C15)."""
        left = {
            other.split("/")[0]
            for other, flags in self.serving.items()
            if other != tag and other not in self.held and not flags.get("in_other_tier")
            if self.silent[other][-3:] != [True] * 3
        }
        refused = "protect" if self.serving[tag].get("is_protected") else "refuse" if len(left) < 2 else ""
        if refused:
            self.told.append((at, refused, tag, None))
            return False
        level, before = 0, None
        for start in [*self.starts.setdefault(tag, []), at]:
            level = 1 if before is None or start - before >= timedelta(days=14) else min(level + 1, 3)
            before = start
        self.starts[tag].append(at)
        self.held[tag] = (at + timedelta(days=(1, 3, 7)[level - 1]), self.failed(tag))
        self.told.append((at, action, tag, level))
        return True

    def expire(self, tag: str, at: datetime, action: str = "expire", *, is_free: bool = True) -> None:
        self.held.pop(tag, None)
        self.told.append((at, action, tag, None))
        if is_free:
            self.diary[tag].append(("anew", at, {}))

    def wait(self, now: datetime) -> None:
        """Ends up to now, those that go free before those that ask for more (C16)."""
        while due := [end for end, _ in self.held.values() if end <= now]:
            at = min(due)
            ending = sorted(tag for tag, (end, _) in self.held.items() if end == at)
            renewing = []
            for tag in ending:
                is_open = tag in self.serving and not self.serving[tag].get("in_other_tier")
                if (
                    is_open
                    and self.is_two(tag, "failing")
                    and at - self.streak(tag)[0][1] <= 12 * self.interval
                ):
                    renewing.append(tag)
                    del self.held[tag]
                else:
                    self.expire(tag, at)
            for tag in sorted(renewing, key=self.urgency):
                if not self.ask(tag, at, "renew"):
                    self.expire(tag, at, is_free=False)

    def discover(self, one: HistoryRound, at: datetime, rows: dict[str, Marks]) -> None:
        for tag, marks in rows.items():
            if tag not in self.serving:
                self.diary.setdefault(tag, []).append(("anew", at, {}))
            if marks and not one.is_our_side:
                self.silent.setdefault(tag, []).append(set(marks.values()) == {"!"})
            self.silent.setdefault(tag, [])
        self.serving = {tag: dict(one.flags.get(tag, {})) for tag in rows}

    def take(self, one: HistoryRound) -> None:
        at = moment(one.at)
        self.wait(at)
        rows = {tag: marks_of(word) for tag, word in one.words.items() if word != "."}
        self.discover(one, at, rows)
        is_soon = self.scored_at is not None and at - self.scored_at < 0.8 * self.interval
        if one.is_manual or one.is_our_side or is_soon:
            return
        self.scored_at = at
        effective = self.effective(at, rows)
        for tag in rows:
            if self.streak(tag) and at - self.streak(tag)[0][1] > 12 * self.interval:
                self.diary[tag].append(("anew", at, {}))
        results = {tag: self.result(tag, at, effective[tag]) for tag in rows}
        for tag in sorted(self.held):
            if self.is_two(tag, "clean"):
                self.expire(tag, at, "recover")
        for tag in sorted(results, key=self.urgency):
            is_open = tag not in self.held and not self.serving[tag].get("in_other_tier")
            if results[tag] == "failing" and self.is_two(tag, "failing") and is_open:
                self.ask(tag, at, "suspend")
