"""The replay of a file: rows and events in, decisions out; bad rows are refused before anything is decided."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.backtest import BacktestError, backtest
from canary.domain.policy import Policy
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, INTERVAL, START, moment
from tests.canary.domain.histories import PACE, POLICY, History, HistoryRound, histories, play
from tests.canary.domain.recordings import Row, event, lines, recorded, recorded_history, row, spoken

few = settings(max_examples=25)
END = 1 + DAY


def decide(
    *rows: Row | list[Row], mode: Mode = Mode.ENFORCE, policy: Policy | None = None
) -> list[dict[str, Any]]:
    return backtest(lines(*rows), policy or Policy(), mode=mode)


def said(*rows: Row | list[Row], mode: Mode = Mode.ENFORCE, policy: Policy | None = None) -> list[str]:
    return spoken(decide(*rows, mode=mode, policy=policy))


def test_a_suspension_is_written_with_round_level_and_end() -> None:
    (decision,) = decide(recorded("x L- L-"))
    assert isinstance(decision.pop("reason"), str)
    assert datetime.fromisoformat(decision.pop("at")) == moment(1)
    assert datetime.fromisoformat(decision.pop("until")) == moment(1 + DAY)
    assert decision == {
        "round": "1",
        "model": "m",
        "endpoint": "x",
        "action": "suspend",
        "rule": "C12",
        "enforced": True,
        "level": 1,
    }


def test_only_suspensions_and_renewals_have_a_level_and_an_end() -> None:
    written = decide(recorded("x L- L- " + "L- " * DAY), recorded("x L+ L+", since=END + 1))
    assert [(one["action"], "level" in one, "until" in one) for one in written] == [
        ("suspend", True, True),
        ("renew", True, True),
        ("recover", False, False),
    ]


def test_what_happens_by_itself_names_no_round_and_what_concerns_the_model_no_endpoint() -> None:
    written = decide(recorded("x L- L-"), row("a", "L+", END + 1))
    assert [(one["action"], "round" in one, "endpoint" in one) for one in written] == [
        ("suspend", True, True),
        ("blind", False, False),
        ("expire", False, True),
        ("below_floor", True, False),
    ]


def test_every_time_is_written_in_utc_with_its_zone() -> None:
    for one in decide(recorded("x L- L-")):
        for key in ("at", "until"):
            assert datetime.fromisoformat(one[key]).utcoffset() == timedelta(0)


@pytest.mark.parametrize(("last", "written"), [(END, ["expire"]), (END - 0.001, [])])
def test_time_passes_up_to_the_latest_row(last: float, written: list[str]) -> None:
    rows = [recorded("x L- L-"), recorded("x" + " L?" * (DAY - 1), since=2)]
    last_row = event("lift", last, endpoint="nobody", false_positive=False, reason="the file ends here")
    assert [one["action"] for one in decide(*rows, last_row)][1:] == written


def test_a_rounds_time_is_the_earliest_of_its_rows() -> None:
    rows = recorded("x L- L-")
    for index, one in enumerate(rows):
        one["at"] = (datetime.fromisoformat(one["at"]) + timedelta(seconds=7 * (index % 3))).isoformat()
    assert said(rows) == ["1 suspend x"]


def test_rows_of_a_round_may_be_spread_in_time_among_those_of_another_model() -> None:
    rows = []
    for at in (0, 1):
        for index, tag in enumerate(("x", "a", "b")):
            spread = {"at": (moment(at) + timedelta(seconds=20 * index)).isoformat(), "round": f"r{at}"}
            failing = row(tag, "L-" if tag == "x" else "L+", at) | spread
            healthy = row(tag, "L+", at) | spread | {"model": "n"}
            rows += [failing, healthy]
    assert [(one["model"], one["action"], one["round"]) for one in decide(rows)] == [("m", "suspend", "r1")]


def test_an_event_between_the_rows_of_a_round_comes_after_it() -> None:
    rows = recorded("x L- L-")
    for index, one in enumerate(rows[3:]):
        one["at"] = (moment(1) + timedelta(seconds=index)).isoformat()
    switch = event("mode", 1 + 1 / 1800, mode="observe")
    written = decide(rows[:4], switch, rows[4:])
    assert [(one["action"], one["enforced"]) for one in written] == [("suspend", True), ("expire", True)]


@pytest.mark.parametrize(
    ("before", "actions"),
    [
        pytest.param(True, [], id="the event comes first in the file"),
        pytest.param(False, ["suspend", "expire"], id="the round comes first in the file"),
    ],
)
def test_a_round_and_an_event_of_one_moment_are_taken_in_the_files_order(
    before: bool, actions: list[str]
) -> None:
    first, second = recorded("x L-"), recorded("x L-", since=1)
    switch = event("mode", 1, mode="observe")
    rows = [*first, switch, *second] if before else [*first, *second, switch]
    assert [one["action"] for one in decide(rows)] == actions


def test_an_endpoint_without_a_row_is_not_serving_in_that_round() -> None:
    assert said(recorded("x L- . L-")) == []
    assert said(recorded("x L- . L- L-")) == ["3 suspend x"]


def test_a_row_that_says_not_serving_is_as_good_as_none() -> None:
    rows = recorded("x L- L- L-")
    rows[5]["serving"] = False
    assert said(rows) == []


def test_a_contract_without_a_verdict_does_not_apply_when_there_are_others() -> None:
    assert said(recorded("x L-,S+ S+ L-,S+")) == []
    assert said(recorded("x L-,S+ 0 L-,S+")) == ["2 suspend x"]


@pytest.mark.parametrize("missing", ["results", "null"])
def test_a_row_without_results_is_one_with_empty_results(missing: str) -> None:
    rows = recorded("x L- 0 L-")
    if missing == "null":
        rows[5]["results"] = None
    else:
        del rows[5]["results"]
    assert said(rows) == ["2 suspend x"]


@pytest.mark.parametrize(("silent", "action"), [(2, "suspend"), (3, "refuse")])
def test_an_endpoint_counts_as_reachable_until_three_rounds_of_nothing_but_unreachable(
    silent: int, action: str
) -> None:
    rows = recorded(f"""
        x  {"L+ " * (silent - 2)} L- L-
        b  {"L!,S! " * silent}
    """, healthy=("a",))  # fmt: skip
    assert said(rows)[0].split()[1:] == [action, "x"]


@pytest.mark.parametrize(
    ("flag", "actions"),
    [
        pytest.param("builtin", [], id="builtin tier"),
        pytest.param("runtime", [], id="runtime tier"),
        pytest.param("protected", ["protect"], id="protected"),
        pytest.param("manual", [], id="by hand"),
        pytest.param("our_side", [], id="on our side"),
    ],
)
def test_flags_of_a_row_mean_what_the_rules_say(flag: str, actions: list[str]) -> None:
    rows = recorded("x L- L-")
    for one in rows:
        if one["endpoint"] == "x":
            one[flag] = True
    assert [one["action"] for one in decide(rows)] == actions


def test_a_control_that_passes_filtering_weakens_the_round() -> None:
    rows = [
        *recorded("x F-,L+ F-,L+"),
        row("c", "F+,L+", 0, control=True),
        row("c", "F-,L+", 1, control=True),
    ]
    assert said(sorted(rows, key=lambda one: one["at"])) == ["0 weakened", "1 suspend x"]


def test_a_common_cause_is_written_before_what_follows_from_the_round() -> None:
    rows = recorded("""
        x  L-,S-  L-,S-
        y  L-,S+  L+,S+
        z  L-,S+  L+,S+
        w  L-,S+  L+,S+
    """)  # fmt: skip
    assert said(rows) == ["1 suspend x"]
    assert said(recorded("x L-,S- L-,S-\ny L-,S+ L+,S+\nz L-,S+ L+,S+", healthy=())) == [
        "0 common_cause",
        "1 suspend x",
    ]


def test_an_unsettled_language_is_written() -> None:
    assert said(recorded("x fr-,L+ " + "fr?,L+ " * 8)) == ["8 unsettled x"]


def test_what_no_longer_applies_is_not_among_a_files_actions() -> None:
    assert said(recorded("x L-,S+ S+ S+")) == []


@pytest.mark.parametrize(
    ("mode", "enforced"), [(Mode.ENFORCE, [True]), (Mode.OBSERVE, [False]), (Mode.OFF, [])], ids=str
)
def test_the_first_mode_is_given(mode: Mode, enforced: list[bool]) -> None:
    assert [one["enforced"] for one in decide(recorded("x L- L-"), mode=mode)] == enforced


def test_a_mode_event_ends_what_is_active_and_goes_on_in_the_new_mode() -> None:
    written = decide(recorded("x L- L-"), event("mode", 1.5, mode="observe"), recorded("x L- L-", since=2))
    assert [(one["action"], one["rule"], one["enforced"], one.get("level")) for one in written] == [
        ("suspend", "C12", True, 1),
        ("expire", "C16", True, None),
        ("suspend", "C12", False, 1),
    ]


def test_a_mode_event_before_the_first_round_counts() -> None:
    assert [one["enforced"] for one in decide(event("mode", -1, mode="observe"), recorded("x L- L-"))] == [
        False
    ]


@pytest.mark.parametrize(("false_positive", "level"), [(True, 1), (False, 2)])
def test_a_lift_event_ends_the_suspension_and_may_take_it_off_the_ladder(
    false_positive: bool, level: int
) -> None:
    lift = event("lift", 1.5, endpoint="x", false_positive=false_positive, reason="seen by hand")
    written = decide(recorded("x L- L-"), lift, recorded("x L- L-", since=2))
    assert [(one["action"], one["rule"], one.get("level")) for one in written] == [
        ("suspend", "C12", 1),
        ("lift", "C18", None),
        ("suspend", "C12", level),
    ]
    assert "seen by hand" in written[1]["reason"]


@pytest.mark.parametrize(
    ("judgement", "actions"),
    [("correct", ["suspend"]), ("unclear", ["suspend"]), ("false positive", ["suspend", "lift"])],
)
def test_a_review_event_lifts_an_open_false_positive(judgement: str, actions: list[str]) -> None:
    review = event("review", 1.5, endpoint="x", judgement=judgement)
    assert [one["action"] for one in decide(recorded("x L- L-"), review)] == actions


def test_a_review_event_takes_a_closed_false_positive_off_the_ladder() -> None:
    for judgement, level in (("false positive", 1), ("correct", 2), ("unclear", 2)):
        review = event("review", 4.5, endpoint="x", judgement=judgement)
        written = decide(recorded("x L- L- L+ L+"), review, recorded("x L- L-", since=5))
        assert [one.get("level") for one in written] == [1, None, level]


@pytest.mark.parametrize(
    "happening",
    [
        event("lift", 5, endpoint="nobody", false_positive=True, reason="r"),
        event("lift", 5, endpoint="a", false_positive=False, reason="r"),
        event("review", 5, endpoint="nobody", judgement="false positive"),
        event("review", 5, endpoint="a", judgement="false positive"),
        event("lift", 5, endpoint="x", false_positive=False, reason="r", model="another"),
        event("mode", 5, mode="enforce"),
        event("mode", 5, mode="observe", model="another"),
    ],
    ids=lambda happening: f"{happening['event']} {happening.get('endpoint', '')} {happening['model']}",
)
def test_an_event_that_concerns_nothing_changes_nothing(happening: Row) -> None:
    assert said(recorded("x L- L- L! L!"), happening) == ["1 suspend x"]


def test_models_share_rounds_names_and_endpoints_without_sharing_anything_else() -> None:
    first, second = recorded("x L- L+"), recorded("x L+ L-", model="n")
    assert said(sorted(first + second, key=lambda one: one["at"])) == []


def alone(rows: list[Row], model: str) -> list[dict[str, Any]]:
    return [one for one in decide(rows, policy=POLICY) if one["model"] == model]


@few
@given(histories(longest=20), histories(longest=20))
def test_models_interleaved_decide_what_each_decides_alone(first: History, second: History) -> None:
    end = PACE * 1000
    last = [HistoryRound(at=end, words={"a/1": "L+"}, is_manual=True)]
    one = recorded_history([*first, *last])
    other = recorded_history([*second, *last], model="n")
    together = sorted([*one, *other], key=lambda each: datetime.fromisoformat(each["at"]))
    assert alone(together, "m") == alone(one, "m")
    assert alone(together, "n") == alone(other, "n")


@few
@given(histories(), st.sampled_from([Mode.OBSERVE, Mode.ENFORCE]))
def test_a_file_decides_what_the_rules_functions_decide(history: History, mode: Mode) -> None:
    written = decide(recorded_history(history), mode=mode, policy=POLICY)
    decided = [one for one in play(history, mode=mode).decisions if one.action != "not_applicable"]
    assert [
        (
            datetime.fromisoformat(one["at"]),
            one["action"],
            one.get("endpoint"),
            one["rule"],
            one["enforced"],
            one.get("level"),
        )
        for one in written
    ] == [(one.at, str(one.action), one.endpoint, one.rule, one.is_enforced, one.level) for one in decided]


@few
@given(histories(), histories())
def test_written_decisions_are_in_time_order_over_all_models(first: History, second: History) -> None:
    rows = recorded_history(first) + recorded_history(second, model="n")
    times = [datetime.fromisoformat(one["at"]) for one in decide(rows, policy=POLICY)]
    assert times == sorted(times)


@few
@given(histories(longest=15))
def test_rounds_that_are_out_of_order_in_the_file_are_put_in_order(history: History) -> None:
    rows = recorded_history(history)
    backwards = sorted(rows, key=lambda one: datetime.fromisoformat(one["at"]), reverse=True)
    assert decide(backwards, policy=POLICY) == decide(rows, policy=POLICY)


def test_times_of_all_zones_mean_the_same_moments() -> None:
    rows = recorded("x L- L-")
    zones = [timezone(timedelta(hours=hours)) for hours in (-11, 0, 5.75, 14)]
    for index, one in enumerate(rows):
        one["at"] = datetime.fromisoformat(one["at"]).astimezone(zones[index % 4]).isoformat()
    rows[0]["at"] = START.astimezone(UTC).isoformat().replace("+00:00", "Z")
    assert said(rows) == ["1 suspend x"]


def test_fractions_of_seconds_count() -> None:
    short = (moment(0.8) - timedelta(microseconds=1)).isoformat()
    assert said(recorded("x L-"), [{**one, "at": short} for one in recorded("x L-", since=1)]) == []


def test_round_names_may_be_numbers_and_come_back_as_they_were() -> None:
    rows = [{**one, "round": int(one["round"])} for one in recorded("x L- L-")]
    assert decide(rows)[0]["round"] == 1


def test_a_policy_changes_the_decisions() -> None:
    assert said(recorded("x L-"), policy=Policy(rounds_to_suspend=1)) == ["0 suspend x"]
    assert said(recorded("x L- L-"), policy=Policy(floor=3)) == ["1 refuse x"]


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n"], ids=["nothing", "a blank line", "blank lines"])
def test_a_file_without_rows_decides_nothing(text: str) -> None:
    assert backtest(text.split("\n"), Policy(), mode=Mode.ENFORCE) == []


def test_blank_lines_and_unknown_keys_are_passed_over() -> None:
    rows = [json.dumps({**one, "note": {"any": [1, None]}}) for one in recorded("x L- L-")]
    with_blanks = [line for one in rows for line in (one, "", "   ")]
    assert spoken(backtest(with_blanks, Policy(), mode=Mode.ENFORCE)) == ["1 suspend x"]


def changed(**values: Any) -> str:
    """A good row with other values; a value of `...` takes the key away."""
    made = row("x", "L-", 2) | values
    return json.dumps({key: value for key, value in made.items() if value is not ...})


def happened(kind: Any, **values: Any) -> str:
    made = {"event": kind, "at": moment(2).isoformat(), "model": "m"} | values
    return json.dumps({key: value for key, value in made.items() if value is not ...})


DEEP = 100_000
HOSTILE = {
    "no JSON": "round 1: all well",
    "half a row": changed()[:-1],
    "something behind the row": changed() + " {}",
    "a list": "[]",
    "a number": "1",
    "a text": '"row"',
    "null": "null",
    "an empty object": "{}",
    "no round": changed(round=...),
    "no time": changed(at=...),
    "no model": changed(model=...),
    "no endpoint": changed(endpoint=...),
    "no provider": changed(provider=...),
    "an empty round": changed(round=""),
    "an empty endpoint": changed(endpoint=""),
    "a round that is true": changed(round=True),
    "a round that is half": changed(round=1.5),
    "an endpoint that is a number": changed(endpoint=3),
    "an endpoint that is a list": changed(endpoint=["x"]),
    "a provider that is null": changed(provider=None),
    "a model that is an object": changed(model={"m": 1}),
    "a time without its zone": changed(at="2026-01-05T00:30:00"),
    "a date": changed(at="2026-01-05"),
    "a time in words": changed(at="yesterday"),
    "the thirteenth month": changed(at="2026-13-05T00:30:00Z"),
    "a time that is a number": changed(at=1_767_571_200),
    "a time that is NaN": changed(at=float("nan")),
    "a time before time": changed(at="0001-01-01T00:00:00+14:00"),
    "a time after time": changed(at="9999-12-31T23:59:59-14:00"),
    "an unknown verdict": changed(results={"latency": "maybe"}),
    "a verdict of another case": changed(results={"latency": "FAIL"}),
    "a verdict that is null": changed(results={"latency": None}),
    "a verdict that is true": changed(results={"latency": True}),
    "a verdict that is NaN": changed(results={"latency": float("nan")}),
    "a verdict that is a list": changed(results={"latency": ["pass"]}),
    "a verdict that is an object": changed(results={"latency": {"verdict": "pass"}}),
    "an unknown contract": changed(results={"beauty": "pass"}),
    "results that are a list": changed(results=["pass"]),
    "results that are a text": changed(results="pass"),
    "results that are zero": changed(results=0),
    "serving that is a text": changed(serving="yes"),
    "serving that is a number": changed(serving=1),
    "control that is a list": changed(control=[]),
    "a language that is a number": changed(language=7),
    "a language that is a list": changed(language=["fr"]),
    "an unknown event": happened("party"),
    "an event that is null": happened(None),
    "an event that is a number": happened(3),
    "an event that is a list": happened(["mode"]),
    "an event without a time": happened("mode", mode="off", at=...),
    "an event without a model": happened("mode", mode="off", model=...),
    "a mode event without a mode": happened("mode"),
    "a mode event with an unknown mode": happened("mode", mode="on"),
    "a mode that is a list": happened("mode", mode=["off"]),
    "a mode that is an object": happened("mode", mode={}),
    "a lift without an endpoint": happened("lift", false_positive=True, reason="r"),
    "a lift whose flag is a text": happened("lift", endpoint="x", false_positive="no", reason="r"),
    "a review without a judgement": happened("review", endpoint="x"),
    "a review without an endpoint": happened("review", judgement="correct"),
    "a review with an unknown judgement": happened("review", endpoint="x", judgement="perhaps"),
    "a judgement that is a list": happened("review", endpoint="x", judgement=["correct"]),
    "deep lists": "[" * DEEP,
    "deep lists in a row": changed(results=...)[:-1] + ', "results": ' + "[" * DEEP + "]" * DEEP + "}",
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "a round of five thousand digits": changed(round=0).replace('"round": 0', '"round": ' + "9" * 5000),
    "a huge text in the place of a flag": changed(serving="x" * 1_000_000),
    "a huge object in the place of a tag": changed(endpoint={"x" * 100_000: 1}),
}  # fmt: skip


@pytest.mark.parametrize("bad", HOSTILE.values(), ids=HOSTILE)
def test_a_bad_row_is_refused_in_one_sentence_that_names_its_line(bad: str) -> None:
    rows = lines(recorded("x L- L-"))
    with pytest.raises(BacktestError) as refusal:
        backtest([*rows, "", bad, *lines(recorded("x L-", since=3))], Policy(), mode=Mode.ENFORCE)
    sentence = str(refusal.value)
    assert f"Line {len(rows) + 2} " in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 500
    assert sentence.isprintable()


def test_two_rows_of_one_endpoint_in_one_round_are_refused() -> None:
    rows = recorded("x L- L-")
    with pytest.raises(BacktestError, match=r"two rows for endpoint 'x'\.$"):
        decide(rows, rows[2])


def test_a_round_just_before_the_end_of_time_is_refused_or_decided_but_never_crashes() -> None:
    late = [{**one, "at": f"9999-12-31T{11 + int(one['round'])}:00:00Z"} for one in recorded("x L- L-")]
    try:
        written = decide(late)
    except BacktestError as refusal:
        assert str(refusal).endswith(".")  # noqa: PT017  (either outcome is fine, a traceback is not)
    else:
        assert [one["action"] for one in written] == ["suspend"]


@settings(max_examples=150)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda children: (
            st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3)
        ),
        max_leaves=5,
    ),
    st.sampled_from(
        [
            *(
                (row("x", "L-", 0), key)
                for key in [*row("x", "L-", 0), "language", "manual", "our_side", "event"]
            ),
            *((event("mode", 0, mode="off"), key) for key in ("event", "at", "model", "mode")),
            *((event("lift", 0, endpoint="x"), key) for key in ("endpoint", "false_positive", "reason")),
            *(
                (event("review", 0, endpoint="x", judgement="correct"), key)
                for key in ("endpoint", "judgement")
            ),
            *((row("x", "L-", 0), f"results/{contract}") for contract in ("latency", "language", "")),
        ]
    ),
)
def test_any_value_in_any_place_is_taken_or_refused_but_never_crashes(
    value: Any, place: tuple[Row, str]
) -> None:
    made, key = place
    name, _, contract = key.partition("/")
    changed_row = made | {name: {contract: value} if "/" in key else value}
    try:
        backtest([json.dumps(changed_row)], Policy(), mode=Mode.ENFORCE)
    except BacktestError as refusal:
        assert str(refusal).startswith(("Line 1 ", "Round "))  # noqa: PT017


def test_a_day_of_rounds_is_as_long_as_its_file_says() -> None:
    rows = recorded("x L- L- " + "L? " * (DAY - 2) + "L?")
    assert said(rows)[-1] == "1 suspend x"
    assert (moment(DAY) - START) == DAY * INTERVAL
