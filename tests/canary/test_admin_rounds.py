"""Rounds and probe runs: everything shown, nothing of it believed to be HTML."""

import pytest
from django.urls import reverse

from tests import factories as make

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e"


def test_hostile_answers_and_evidence_are_shown_as_text() -> None:
    model = make.make_model()
    endpoint = make.make_endpoint(model)
    run = make.make_run(
        make.make_round(model, note=HOSTILE), endpoint, "language", text=HOSTILE, evidence={HOSTILE: [HOSTILE]},
        served_by=HOSTILE, generation_id=HOSTILE,
    )  # fmt: skip
    client = make.make_client("viewer")
    for address in (
        reverse("admin:canary_proberun_change", args=[run.pk]),
        reverse("admin:canary_round_change", args=[run.round_id]),
        reverse("admin:canary_proberun_changelist"),
        reverse("admin:canary_round_changelist"),
    ):
        text = client.get(address).content.decode()
        assert "<script>alert" not in text
        assert "<img src=x" not in text
    assert (
        "&lt;script&gt;alert(1)"
        in client.get(reverse("admin:canary_proberun_change", args=[run.pk])).content.decode()
    )


def test_a_round_shows_raw_and_effective_verdicts_with_their_reasons() -> None:
    model = make.make_model()
    endpoint = make.make_endpoint(model)
    round_ = make.make_round(model, is_weakened=True)
    make.make_endpoint_round(
        round_, endpoint, "frozen", raw={"filtering": "pass", "language": "fail"},
        effective={"filtering": "inconclusive", "language": "fail"},
        reasons={"filtering": "ok", "language": "mojibake"},
    )  # fmt: skip
    make.make_run(round_, endpoint, "language", ordinal=1, verdict="fail", reason="mojibake")
    text = (
        make.make_client("viewer")
        .get(reverse("admin:canary_round_change", args=[round_.pk]))
        .content.decode()
    )
    assert "pass set aside" in text
    assert "mojibake" in text
    assert "confirmation 1" in text
    assert "weakened" in text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "scored"),
        ({"is_scored": False}, "not scored"),
        ({"is_scored": False, "is_manual": True, "slot": None}, "by hand, not scored"),
    ],
)
def test_a_round_says_whether_it_counted(values: dict[str, object], words: str) -> None:
    make.make_round(make.make_model(), **values)
    text = make.make_client("viewer").get(reverse("admin:canary_round_changelist")).content.decode()
    assert f">{words}</span>" in text


def test_an_answer_that_was_not_kept_is_said_to_be_missing() -> None:
    model = make.make_model()
    run = make.make_run(make.make_round(model), make.make_endpoint(model))
    text = (
        make.make_client("viewer")
        .get(reverse("admin:canary_proberun_change", args=[run.pk]))
        .content.decode()
    )
    assert "not kept" in text


@pytest.mark.parametrize(
    ("filtering", "shown"),
    [
        pytest.param("fail", "bites", id="a control failed: the probe bites"),
        pytest.param("unreachable", "unproved", id="a control said nothing"),
    ],
)
def test_the_filtering_probe_bites_only_where_a_control_proved_it(filtering: str, shown: str) -> None:
    model = make.make_model()
    control = make.make_endpoint(model, is_control=True)
    make.make_endpoint_round(make.make_round(model), control, raw={"filtering": filtering})
    page = make.make_client("viewer").get(reverse("admin:canary_round_changelist"))
    assert shown in page.content.decode()
