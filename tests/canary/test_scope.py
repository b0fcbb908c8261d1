"""Rule C0: the canary judges only what code can judge, stores no score of taste, and sends nobody's text."""

import re
import socket

import pytest
from django.apps import apps

from canary.domain.verdicts import Contract, Reason, Verdict
from canary.probes.registry import PROBES
from routing.judges.languages import LANGUAGES
from tests.canary.probes.exchanges import FACTS, finished, request_for

TASTE = re.compile(r"quality|style|persona|taste|rating|score(?!d)")


def test_no_stored_field_holds_a_score_of_style_persona_or_quality() -> None:
    fields = {
        f"{model._meta.label}.{field.name}"
        for app in ("routing", "canary", "incidents")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.get_fields()
    }
    assert fields
    assert [name for name in sorted(fields) if TASTE.search(name.rpartition(".")[2])] == []


def test_no_contract_verdict_or_reason_speaks_of_taste() -> None:
    words = [*Contract, *Verdict, *Reason]
    assert [word for word in words if TASTE.search(word)] == []


@pytest.mark.parametrize("contract", Contract)
def test_judging_needs_no_network_and_so_no_model(
    contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a judge opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    probe = next(probe for probe in PROBES if probe.contract is contract)
    assert probe.judge(finished(), request_for(contract)).verdict in Verdict


@pytest.mark.parametrize("contract", Contract)
def test_what_is_sent_depends_on_the_shipped_prompts_alone(contract: Contract) -> None:
    probe = next(probe for probe in PROBES if probe.contract is contract)
    for language in LANGUAGES:
        for variant in range(3):
            sent = [
                probe.request(FACTS, language=language, variant=variant, limit_s=limit_s).body["messages"]
                for limit_s in (1.0, 10.0)
            ]
            assert sent[0] == sent[1]
