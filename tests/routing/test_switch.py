"""Rule C17: one switch stops all enforcement everywhere."""

import pytest

from incidents.models import Notification
from routing.exclusions import resume_enforcement, stop_enforcement
from routing.models import EnforcementSwitch
from routing.switch import SwitchError, is_enforcement_stopped
from routing.versions import current_version
from tests.routing.conftest import NOW, decided, latest_decision, told

pytestmark = pytest.mark.django_db


def test_stopping_and_resuming_are_decisions_told_and_raise_the_version() -> None:
    since, version = latest_decision(), current_version()
    stop_enforcement(actor="ada", reason="The gateway is upgraded.", now=NOW)
    assert is_enforcement_stopped()
    assert EnforcementSwitch.objects.get().changed_by == "ada"
    resume_enforcement(actor="ada", reason="Done.", now=NOW)
    assert not is_enforcement_stopped()
    assert decided(since) == [("stop", "C17", ""), ("resume", "C17", "")]
    assert told(since) == ["All enforcement is stopped", "Enforcement is resumed"]
    assert current_version() == version + 2
    assert set(Notification.objects.values_list("severity", flat=True)) == {"severe"}


def test_the_switch_is_not_turned_twice_the_same_way() -> None:
    with pytest.raises(SwitchError, match="Enforcement is resumed already"):
        resume_enforcement(actor="ada", reason="why", now=NOW)
    stop_enforcement(actor="ada", reason="why", now=NOW)
    with pytest.raises(SwitchError, match="All enforcement is stopped already"):
        stop_enforcement(actor="ada", reason="why", now=NOW)


def test_the_switch_needs_a_reason() -> None:
    with pytest.raises(SwitchError, match="A reason is needed"):
        stop_enforcement(actor="ada", reason=" ", now=NOW)
    assert not is_enforcement_stopped()
