"""C19: what a decision says: its rule, whether it is enforced, level and end where there is one."""

from collections.abc import Callable

import pytest

from canary.domain.decision import Decision
from incidents.domain.actions import Action
from routing.domain.modes import Mode
from tests.canary.domain.builders import DAY, HEALTHY, Run, moment, run

A_AND_B = dict.fromkeys(HEALTHY, "L+")
END = 1 + DAY


def refused(model: Run) -> None:
    model.rounds("x L- L-", healthy=("a",))


def protected(model: Run) -> None:
    model.flags = {"x": {"is_protected": True}}
    model.rounds("x L- L-")


def renewed(model: Run) -> None:
    model.quietly(END + 1, A_AND_B | {"x": "L-"}, since=0)


def expired(model: Run) -> None:
    model.quietly(END + 1, A_AND_B | {"x": "L?"}, since=2) if model.rounds("x L- L-") else None


def lifted(model: Run) -> None:
    model.rounds("x L- L-").lift(1.5, "x")


def weakened(model: Run) -> None:
    model.flags = {"x": {"is_control": True}}
    model.rounds("x F+,L+")


def below_floor(model: Run) -> None:
    model.rounds("x L+ .", healthy=("a",))


def blind(model: Run) -> None:
    model.rounds("x L? L? L?", healthy=())


CASES = [
    pytest.param(lambda model: model.rounds("x L- L-"), Action.SUSPEND, "C12", id="a suspension"),
    pytest.param(refused, Action.REFUSE, "C14", id="a refusal"),
    pytest.param(protected, Action.PROTECT, "C14", id="a protection"),
    pytest.param(lambda model: model.rounds("x L- L- L+ L+"), Action.RECOVER, "C16", id="a recovery"),
    pytest.param(renewed, Action.RENEW, "C16", id="a renewal"),
    pytest.param(expired, Action.EXPIRE, "C16", id="an end"),
    pytest.param(lifted, Action.LIFT, "C18", id="a lift"),
    pytest.param(weakened, Action.WEAKENED, "C6", id="a weakened probe"),
    pytest.param(
        lambda model: model.rounds("c L-\nd L-\ne L-", healthy=()),
        Action.COMMON_CAUSE,
        "C13",
        id="a common cause",
    ),
    pytest.param(below_floor, Action.BELOW_FLOOR, "C14", id="capacity below the floor"),
    pytest.param(
        lambda model: model.rounds("x fr- " + "fr?,L+ " * 8),
        Action.UNSETTLED,
        "C10",
        id="an unsettled language",
    ),
    pytest.param(blind, Action.BLIND, "C20", id="a blind model"),
]


def the_one(model: Run, action: Action) -> Decision:
    (decision,) = [one for one in model.decisions if one.action is action]
    return decision


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.OBSERVE])
@pytest.mark.parametrize(("happens", "action", "rule"), CASES)
def test_every_decision_names_its_rule_and_whether_it_is_enforced(
    happens: Callable[[Run], object], action: Action, rule: str, mode: Mode
) -> None:
    model = run(mode=mode)
    happens(model)
    decision = the_one(model, action)
    assert (decision.rule, decision.is_enforced, decision.is_false_positive) == (
        rule,
        mode is Mode.ENFORCE,
        False,
    )
    has_end = action in (Action.SUSPEND, Action.RENEW)
    assert (decision.level is not None, decision.until is not None) == (has_end, has_end)
    assert decision.reason.strip()


def test_would_suspend_is_told_apart_from_suspended() -> None:
    reasons = {
        mode: run(mode=mode).rounds("x L- L-").decisions[-1].reason for mode in (Mode.ENFORCE, Mode.OBSERVE)
    }
    assert reasons[Mode.OBSERVE].lower().startswith("would suspend")
    assert not reasons[Mode.ENFORCE].lower().startswith("would")


@pytest.mark.parametrize(("happens", "action", "rule"), CASES)
def test_no_reason_accuses_anyone_of_a_cause(
    happens: Callable[[Run], object], action: Action, rule: str
) -> None:
    model = run()
    happens(model)
    words = the_one(model, action).reason.lower()
    assert not any(
        word in words for word in ("fraud", "cheat", "bad ", "broken", "because", "fault", "cause of")
    )


def test_decisions_come_in_time_order() -> None:
    model = run().rounds("x L- L- L-").quietly(30, A_AND_B | {"x": "L-"}, since=20)
    model.wait(20 * DAY)
    times = [one.at for one in model.decisions]
    assert times == sorted(times)


def test_a_decision_is_dated_to_the_start_of_its_round() -> None:
    assert run().rounds("x L- L-").decisions[-1].at == moment(1)
