"""What providers wrote is removed after EVIDENCE_DAYS: the answer, and what the evidence quotes of it."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from canary import retention
from canary.evidence import REMOVED
from canary.models import ProbeRun, RunState
from tests.factories import NOW, make_endpoint, make_model, make_round, make_run

pytestmark = pytest.mark.django_db

EVIDENCE = {"position": 4, "excerpt": "It was raining."}
DAY = timedelta(days=1)


def runs_done(*moments: datetime | None) -> list[ProbeRun]:
    """One run for each moment, with an answer and evidence that quotes it."""
    model = make_model()
    endpoint = make_endpoint(model)
    return [
        make_run(make_round(model), endpoint, done_at=moment, text="It was raining.", evidence=EVIDENCE)
        for moment in moments
    ]


def stored(run: ProbeRun) -> tuple[str, object, bool]:
    run.refresh_from_db()
    return run.text, run.evidence, run.is_redacted


def test_answer_and_quotations_go_and_the_rest_stays() -> None:
    (run,) = runs_done(NOW - DAY)
    assert retention.remove_evidence_text(before=NOW) == 1
    assert stored(run) == ("", {"position": 4, "excerpt": REMOVED}, True)
    assert (run.verdict, run.reason, run.ttft_ms) == ("pass", "ok", 400.0)


def test_quotations_go_also_where_no_answer_was_kept() -> None:
    (run,) = runs_done(NOW - DAY)
    ProbeRun.objects.filter(pk=run.pk).update(text="")
    assert retention.remove_evidence_text(before=NOW) == 1
    assert stored(run) == ("", {"position": 4, "excerpt": REMOVED}, True)


def test_what_is_not_old_enough_or_not_done_stays() -> None:
    young, unfinished = runs_done(NOW, NOW - DAY)
    ProbeRun.objects.filter(pk=unfinished.pk).update(state=RunState.SENT, verdict="", reason="", done_at=None)
    assert retention.remove_evidence_text(before=NOW) == 0
    assert [stored(run) for run in (young, unfinished)] == [("It was raining.", EVIDENCE, False)] * 2


@pytest.mark.parametrize("count", [3, 4, 5])
def test_all_batches_are_worked_off_and_nothing_is_looked_at_twice(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    runs = runs_done(*[NOW - DAY] * count)
    assert retention.remove_evidence_text(before=NOW) == count
    assert all(stored(run)[2] for run in runs)
    with CaptureQueriesContext(connection) as queries:
        assert retention.remove_evidence_text(before=NOW) == 0
    assert len(queries) == 1


def test_what_is_to_be_removed_is_found_by_an_index() -> None:
    """Runs are kept for ever; those that still hold text are few among them."""
    old = ProbeRun.objects.filter(done_at__lt=NOW, is_redacted=False).order_by("done_at")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    assert "run_to_redact" in old.explain()
