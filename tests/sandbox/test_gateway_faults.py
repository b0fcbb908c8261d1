"""Faults of the gateway itself: discovery, edge, its own limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sandbox.driver import MODEL, Gateway, Reply, scenario

PATH = f"/api/v1/models/{MODEL}/endpoints"


def gateway(*faults: dict[str, Any]) -> Gateway:
    endpoints = [{"tag": f"host-{letter}", "provider": f"Host {letter}"} for letter in "abcde"]
    return Gateway(scenario(*endpoints, gateway={"faults": list(faults)}))


def listed(reply: Reply) -> list[str]:
    return [row["tag"] for row in reply.json["data"]["endpoints"]]


def test_without_faults_all_endpoints_are_listed_in_the_files_order() -> None:
    assert listed(gateway().get(PATH)) == [f"host-{letter}" for letter in "abcde"]


def test_an_empty_list_is_readable_and_empty() -> None:
    sandbox = gateway({"kind": "discovery_empty"})
    assert listed(sandbox.get(PATH)) == []
    assert sandbox.get("/api/v1/models").json["data"] == []
    assert sandbox.chat().status == 200


@pytest.mark.parametrize("keep", [0, 2])
def test_a_list_may_shrink(keep: int) -> None:
    assert len(listed(gateway({"kind": "discovery_shrunk", "keep": keep}).get(PATH))) == keep


def test_rows_may_come_twice() -> None:
    assert listed(gateway({"kind": "discovery_duplicated"}).get(PATH))[:2] == ["host-a", "host-a"]


def test_a_list_may_be_huge() -> None:
    tags = listed(gateway({"kind": "discovery_huge", "endpoints": 500}).get(PATH))
    assert len(set(tags)) == 500


def test_a_list_may_be_nested_beyond_any_parser() -> None:
    body = gateway({"kind": "discovery_nested", "depth": 5000}).get(PATH).body
    assert body.count(b"[") == body.count(b"]") == 5000


@pytest.mark.parametrize("variant", ["html", "truncated"])
def test_a_list_may_be_unreadable(variant: str) -> None:
    sandbox = gateway({"kind": "discovery_unreadable", "variant": variant})
    for path in (PATH, "/api/v1/models"):
        reply = sandbox.get(path)
        assert reply.status == 200
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            json.loads(reply.body)


def test_a_list_may_have_the_wrong_shape() -> None:
    assert gateway({"kind": "discovery_unreadable", "variant": "wrong_shape"}).get(PATH).json == {
        "data": "unavailable"
    }


@pytest.mark.parametrize("status", [403, 500, 503])
def test_discovery_may_fail_with_a_status(status: int) -> None:
    sandbox = gateway({"kind": "discovery_error", "status": status})
    reply = sandbox.get(PATH)
    assert reply.status == reply.json["error"]["code"] == status
    assert sandbox.chat().status == 200


def test_a_discovery_fault_may_concern_one_model_and_a_time() -> None:
    sandbox = gateway({"kind": "discovery_empty", "model": MODEL, "after_s": 10, "until_s": 20})
    counts = []
    for now_s in (9, 10, 20):
        sandbox.time.now_s = 1000 + now_s
        counts.append(len(listed(sandbox.get(PATH))))
    assert counts == [5, 0, 5]
    assert listed(gateway({"kind": "discovery_empty", "model": "some/other"}).get(PATH))


@pytest.mark.parametrize("html", [True, False], ids=["page", "json"])
def test_the_gateway_may_be_down_for_everything(html: bool) -> None:
    sandbox = gateway({"kind": "down", "status": 503, "html": html})
    for reply in (sandbox.get(PATH), sandbox.get("/api/v1/models"), sandbox.chat()):
        assert reply.status == 503
        assert reply.text.startswith("<!DOCTYPE html>" if html else '{"error"')
    assert not sandbox.state.log


def test_the_gateway_may_reset_every_connection() -> None:
    sandbox = gateway({"kind": "unreachable"})
    assert sandbox.get(PATH).ending == sandbox.chat().ending == "reset"


def test_the_gateway_may_be_silent() -> None:
    assert (gateway({"kind": "silent"}).chat().status, gateway({"kind": "silent"}).get(PATH).status) == (
        None,
        None,
    )


def test_the_gateway_may_be_slow() -> None:
    assert gateway({"kind": "slow", "seconds": 7}).get(PATH).parts[0][0] == pytest.approx(7)


def test_the_gateways_own_rate_limit_reaches_no_upstream() -> None:
    sandbox = gateway({"kind": "rate_limited", "retry_after": 5})
    reply = sandbox.chat()
    assert (reply.status, reply.headers["retry-after"]) == (429, "5")
    assert "x-ratelimit-reset" in reply.headers
    assert not sandbox.state.log


def test_a_false_all_ignored_strikes_only_requests_that_ignore_somebody() -> None:
    sandbox = gateway({"kind": "all_ignored"})
    assert sandbox.chat().status == 200
    assert sandbox.chat(provider={"ignore": ["host-a"]}).status == 404


def test_a_gateway_may_ignore_pins() -> None:
    sandbox = gateway({"kind": "ignores_pins"})
    assert len({sandbox.pinned("host-a").json["provider"] for _ in range(40)}) > 1


def test_a_gateway_fault_may_have_a_probability() -> None:
    sandbox = gateway({"kind": "down", "probability": 0.5})
    statuses = [sandbox.get("/api/v1/models").status for _ in range(60)]
    assert 15 < statuses.count(502) < 45
