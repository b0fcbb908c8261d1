"""Tiny builders of facts, so that a row of a table reads like the rule it tests.

What an endpoint came to in a round is one word of marks, `L-` or `L+,fr-`: a contract (`L` latency, `F`
filtering, `S` structured output, a two-letter code: language, asked in that language) and a sign
(`+` pass, `-` fail, `?` inconclusive, `!` unreachable). `.` is no row: not serving. `0` is a row without verdicts.
Moments are given in intervals after `START`; an interval is half an hour, so a day is 48.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from canary.domain import suspension
from canary.domain.capacity import EndpointState, Held, ModelState, Rung
from canary.domain.decision import Decision, Outcome, RoundFacts
from canary.domain.policy import Policy
from canary.domain.scoring import EndpointFacts, Result
from canary.domain.verdicts import Contract, Verdict
from routing.domain.modes import Mode

START = datetime(2026, 1, 5, tzinfo=UTC)
INTERVAL = timedelta(minutes=30)
DAY = 48
"""Intervals in a day."""

CONTRACTS = {"L": Contract.LATENCY, "F": Contract.FILTERING, "S": Contract.STRUCTURED_OUTPUT}
SIGNS = {"+": Verdict.PASS, "-": Verdict.FAIL, "?": Verdict.INCONCLUSIVE, "!": Verdict.UNREACHABLE}
HEALTHY = ("a", "b")
"""Two providers that always pass, so that the floor of 2 holds whatever happens to the endpoint of interest."""


def moment(intervals: float) -> datetime:
    """The time so many intervals after the start."""
    return START + intervals * INTERVAL


def verdicts(word: str) -> dict[Contract, Verdict]:
    """The verdicts of one word of marks."""
    marks = [] if word == "0" else word.split(",")
    return {CONTRACTS.get(mark[:-1], Contract.LANGUAGE): SIGNS[mark[-1]] for mark in marks}


def language(word: str) -> str | None:
    """The language asked in one word of marks, if one was."""
    names = [mark[:-1] for mark in word.split(",") if mark[:-1] and mark[:-1] not in CONTRACTS]
    return names[0] if names else None


def facts(tag: str, word: str, **flags: Any) -> EndpointFacts:
    """What a round learned of one endpoint; its provider is the tag up to a slash."""
    return EndpointFacts(
        tag=tag, provider=tag.partition("/")[0], language=language(word), verdicts=verdicts(word), **flags
    )


def table(text: str) -> dict[str, list[str]]:
    """Lines of `tag word word ...`, one word a round."""
    lines = [line.split() for line in text.strip().splitlines()]
    return {tag: words for tag, *words in lines}


def said(decisions: Iterable[Decision]) -> list[str]:
    """Decisions as `3 suspend x`: the moment in intervals, what, whom."""
    return [
        f"{(one.at - START) / INTERVAL:g} {one.action}{' ' + one.endpoint if one.endpoint else ''}"
        for one in decisions
    ]


@dataclass(kw_only=True)
class Run:
    """A model as rounds go by: its state, its policy and every decision so far."""

    state: ModelState = field(
        default_factory=lambda: ModelState(model="m", mode=Mode.ENFORCE, assumes_reachable=True)
    )
    policy: Policy = field(default_factory=Policy)
    flags: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    results: list[Mapping[str, Result]] = field(default_factory=list)

    @property
    def said(self) -> list[str]:
        """Every decision, without what a file does not write."""
        return [line for line in said(self.decisions) if " not_applicable" not in line]

    def about(self, tag: str) -> list[str]:
        """Every decision about one endpoint."""
        return [line for line in self.said if line.endswith(f" {tag}")]

    def endpoint(self, tag: str) -> EndpointState:
        """One endpoint's state now."""
        return self.state.endpoints[tag]

    def take(self, outcome: Outcome) -> Outcome:
        """Go on from an outcome."""
        self.state = outcome.state
        self.decisions += outcome.decisions
        return outcome

    def round(
        self, at: float, words: Mapping[str, str], *, is_manual: bool = False, is_our_side: bool = False
    ) -> Outcome:
        """Close one round that started `at` intervals."""
        endpoints = tuple(
            facts(tag, word, **self.flags.get(tag, {})) for tag, word in words.items() if word != "."
        )
        facts_ = RoundFacts(at=moment(at), endpoints=endpoints, is_manual=is_manual, is_our_side=is_our_side)
        outcome = self.take(suspension.apply_round(self.state, facts_, self.policy))
        self.results.append(outcome.results)
        return outcome

    def rounds(
        self, text: str, *, since: float = 0, gap: float = 1, healthy: Iterable[str] = HEALTHY
    ) -> "Run":
        """Close one round for each column of a table, beside the healthy bystanders."""
        columns = table(text)
        for index in range(max(len(words) for words in columns.values())):
            words = {tag: words[index] for tag, words in columns.items()}
            self.round(since + index * gap, dict.fromkeys(healthy, "L+") | words)
        return self

    def wait(self, until: float) -> list[str]:
        """Let time pass and tell what happened by itself."""
        return said(self.take(suspension.advance(self.state, moment(until), self.policy)).decisions)

    def quietly(self, until: float, words: Mapping[str, str], *, since: float, gap: float = 1) -> "Run":
        """Rounds of the same words from `since` on, every `gap` intervals, up to, not including, `until`."""
        at = since
        while at < until:
            self.round(at, words)
            at += gap
        return self

    def switch(self, at: float, mode: Mode) -> list[str]:
        """Switch the mode and tell what that ended."""
        return said(self.take(suspension.switch_mode(self.state, mode, self.policy, at=moment(at))).decisions)

    def lift(
        self, at: float, tag: str, *, is_false_positive: bool = False, not_before: float | None = None
    ) -> list[str]:
        """Lift by hand and tell what that ended."""
        outcome = suspension.lift(
            self.state, tag, self.policy, at=moment(at), is_false_positive=is_false_positive,
            reason="looked fine", not_before=None if not_before is None else moment(not_before),
        )  # fmt: skip
        return said(self.take(outcome).decisions)

    def review(self, at: float, tag: str, *, is_false_positive: bool) -> list[str]:
        """Judge the latest suspension and tell what that ended."""
        outcome = suspension.review(
            self.state,
            tag,
            self.policy,
            at=moment(at),
            is_false_positive=is_false_positive,
            reason="looked fine",
        )
        return said(self.take(outcome).decisions)


def run(
    *,
    mode: Mode = Mode.ENFORCE,
    policy: Policy | None = None,
    flags: Mapping[str, Mapping[str, bool]] | None = None,
) -> Run:
    """A model nobody has seen a round of; in it an endpoint counts as reachable until it has been silent."""
    state = ModelState(model="m", mode=mode, assumes_reachable=True)
    return Run(state=state, policy=policy or Policy(), flags=flags or {})


def held(start: float, days: float, *, level: int = 1, is_shadow: bool = False) -> Held:
    """A suspension that began `start` intervals and lasts so many days."""
    return Held(started_at=moment(start), until=moment(start + days * DAY), level=level, is_shadow=is_shadow)


def rung(days: float, *, level: int = 1, is_shadow: bool = False, is_false_positive: bool = False) -> Rung:
    """A suspension of the past that began so many days after the start."""
    return Rung(
        started_at=moment(days * DAY), level=level, is_shadow=is_shadow, is_false_positive=is_false_positive
    )


def endpoint_state(tag: str, **values: object) -> EndpointState:
    """An endpoint that has answered and serves; its provider is the tag up to a slash."""
    made = EndpointState(tag=tag, provider=tag.partition("/")[0])
    answered = replace(made, standing=replace(made.standing, has_answered=True))
    return replace(answered, **values)  # type: ignore[arg-type]  # fields of one dataclass, named by the tests
