"""Keys: missing, revoked, out of credit, over their limit; for everybody or for one token; for a while."""

from __future__ import annotations

import pytest

from tests.sandbox.driver import MODEL, Gateway, scenario


def gateway(*keys: dict[str, object]) -> Gateway:
    return Gateway(scenario({"tag": "acme"}, keys=list(keys)))


@pytest.mark.parametrize("path", ["/api/v1/key", "/api/v1/generation?id=gen-1"])
def test_a_missing_key_is_the_recorded_401(path: str) -> None:
    reply = gateway().get(path, key=None)
    assert (reply.status, reply.json) == (
        401,
        {"error": {"message": "Missing Authentication header", "code": 401}},
    )


def test_discovery_needs_no_key() -> None:
    for path in ("/models", "/providers", f"/models/{MODEL}/endpoints"):
        assert gateway().get(f"/api/v1{path}", key=None).status == 200


@pytest.mark.parametrize(
    ("state", "status", "key_status"),
    [("ok", 200, 200), ("revoked", 401, 401), ("out_of_credit", 402, 200), ("limit_reached", 403, 200)],
)
def test_each_state_of_a_key_has_its_status(state: str, status: int, key_status: int) -> None:
    sandbox = gateway({"state": state})
    reply = sandbox.chat(headers={"X-OpenRouter-Metadata": "enabled"})
    assert reply.status == status
    assert sandbox.get("/api/v1/key").status == key_status
    if status != 200:
        assert reply.json["error"]["code"] == status
        assert "openrouter_metadata" not in reply.json
        assert not sandbox.state.log


def test_a_key_out_of_credit_has_nothing_remaining() -> None:
    assert gateway({"state": "out_of_credit"}).get("/api/v1/key").json["data"]["limit_remaining"] == 0


def test_a_state_may_be_one_tokens_alone() -> None:
    sandbox = gateway({"token": "sk-bad", "state": "revoked"})
    assert sandbox.chat(key="sk-bad").status == 401
    assert sandbox.chat(key="sk-good").status == 200


def test_a_state_may_last_for_a_while() -> None:
    sandbox = gateway({"state": "revoked", "after_s": 10, "until_s": 20})
    statuses = []
    for now_s in (9, 10, 19, 20):
        sandbox.time.now_s = 1000 + now_s
        statuses.append(sandbox.chat().status)
    assert statuses == [200, 401, 401, 200]


def test_a_limit_is_spent_and_then_reached() -> None:
    sandbox = gateway({"limit_usd": 0.0005})
    statuses = [sandbox.chat().status for _ in range(4)]
    assert statuses == [200, 200, 403, 403]
    data = sandbox.get("/api/v1/key").json["data"]
    assert data["limit"] == 0.0005
    assert data["limit_remaining"] == 0
    assert data["usage"] > 0.0005


def test_the_label_does_not_show_the_whole_key() -> None:
    assert (
        gateway().get("/api/v1/key", key="sk-or-v1-abcdefghijkl").json["data"]["label"]
        == "sk-or-v1-abc...jkl"
    )
