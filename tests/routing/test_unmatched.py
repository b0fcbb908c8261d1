"""Rule R4: reviewed names that nobody ever saw are told; runtime ones are in test_exclusions."""

from datetime import date

import pytest

from incidents.models import Notification
from routing import unmatched
from routing.builtin_exclusions import BuiltinEntry
from routing.unmatched import tell_unmatched_builtin
from tests.routing.conftest import NOW, MakeModel


@pytest.fixture(autouse=True)
def reviewed(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = tuple(
        BuiltinEntry(entry=name, reason="Seen.", reviewed=date(2026, 5, 6)) for name in ("alpha", "nobody")
    )
    monkeypatch.setattr(unmatched, "builtin_entries", lambda: entries)


def test_a_reviewed_name_never_seen_is_told_once(make_model: MakeModel) -> None:
    make_model("alpha/fp8", "beta")
    assert [tell_unmatched_builtin(NOW), tell_unmatched_builtin(NOW)] == [("nobody",), ("nobody",)]
    told = Notification.objects.filter(key__startswith="unmatched:builtin:")
    assert told.get().subject == "The reviewed exclusion of nobody names nothing ever seen"


def test_before_there_is_a_catalogue_every_name_is_unseen_and_none_is_told(db: None) -> None:
    assert tell_unmatched_builtin(NOW) == ()
