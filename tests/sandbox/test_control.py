"""The control endpoint: counters that show whether anything was run twice, and faults changed at run time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.driver import MODEL, ROLE_PLAY, STRUCTURED, Gateway, scenario, with_fault


def test_the_state_counts_requests_by_endpoint_and_kind() -> None:
    gateway = Gateway(scenario({"tag": "acme"}, {"tag": "globex"}))
    gateway.pinned("acme")
    gateway.pinned("acme", ROLE_PLAY, stream=True)
    gateway.pinned("globex", response_format=STRUCTURED)
    counted = {row["tag"]: row for row in gateway.get("/sandbox/state").json["endpoints"]}
    assert (counted["acme"]["requests"], counted["acme"]["kinds"]) == (2, {"prose": 1, "role_play": 1})
    assert (counted["globex"]["requests"], counted["globex"]["kinds"]) == (1, {"structured": 1})
    assert (counted["acme"]["completed"], counted["acme"]["streamed"], counted["acme"]["in_flight"]) == (
        2,
        1,
        0,
    )
    assert counted["acme"]["languages"] == {"en": 2}
    assert counted["acme"]["cost_usd"] > 0


def test_a_request_id_that_comes_twice_is_shown() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    for request_id in ("run-1", "run-2", "run-1"):
        gateway.chat(headers={"X-Request-Id": request_id})
    gateway.chat(headers={"Idempotency-Key": "run-2"})
    assert gateway.get("/sandbox/state").json["repeated_request_ids"] == {"run-1": 2, "run-2": 2}


def test_refusals_before_any_upstream_are_counted_apart() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    gateway.chat(key=None)
    gateway.chat(provider={"only": ["nobody"]})
    state = gateway.get("/sandbox/state").json
    assert state["refusals"] == {"401": 1, "404": 1}
    assert (state["requests"], state["endpoints"]) == (0, [])
    assert state["paths"]["POST /api/v1/chat/completions"] == 2


def test_the_log_has_a_line_for_each_answer_and_can_be_read_on() -> None:
    gateway = Gateway(with_fault("corrupted_beginning"))
    first = gateway.pinned("acme/fp8", headers={"X-Request-Id": "run-1"})
    gateway.pinned("globex/fp8")
    lines = gateway.get("/sandbox/log").json["data"]
    assert [(line["number"], line["tag"], line["faults"]) for line in lines] == [
        (1, "acme/fp8", ["corrupted_beginning"]),
        (2, "globex/fp8", []),
    ]
    assert lines[0]["generation_id"] == first.headers["x-generation-id"]
    assert lines[0]["request_id"] == "run-1"
    assert [line["number"] for line in gateway.get("/sandbox/log?after=1").json["data"]] == [2]
    assert gateway.get("/sandbox/log?after=x").status == 400


def test_counters_can_be_cleared() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    gateway.chat()
    gateway.send("DELETE", "/sandbox/state", b"", [])
    state = gateway.get("/sandbox/state").json
    assert (state["requests"], state["endpoints"]) == (0, [])


def test_an_endpoints_faults_are_replaced_at_run_time_and_taken_away_again() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    target = {"model": MODEL, "tag": "acme"}
    reply = gateway.post("/sandbox/faults", {**target, "faults": [{"kind": "server_error", "times": 1}]})
    assert reply.json == {"ok": True, "replaced": ["faults"]}
    assert [gateway.chat().status, gateway.chat().status] == [503, 200]
    gateway.post("/sandbox/faults", {**target, "faults": [{"kind": "server_error", "times": 1}]})
    assert gateway.chat().status == 503
    gateway.post("/sandbox/faults", {**target, "faults": []})
    assert gateway.chat().status == 200


def test_the_gateways_faults_and_the_keys_are_replaced_at_run_time() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    gateway.post("/sandbox/faults", {"gateway": [{"kind": "down"}]})
    assert gateway.chat().status == 502
    gateway.post("/sandbox/faults", {"gateway": [], "keys": [{"state": "out_of_credit"}]})
    assert gateway.chat().status == 402


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            {"model": MODEL, "tag": "nobody", "faults": []},
            f"faults: there is no endpoint with `model` '{MODEL}' and `tag` 'nobody'.",
        ),
        (
            {"model": MODEL, "tag": "acme", "faults": [{"kind": "slow", "factor": "much"}]},
            f"models.{MODEL}.endpoints.acme.faults[0]: `factor` must be a number, not 'much'.",
        ),
        ({"fault": []}, "faults: `fault` is not a key here; known are model, tag, faults, gateway, keys."),
        (
            {"keys": [{"state": "lost"}]},
            "keys.keys[0]: `state` must be one of ok, out_of_credit, revoked, limit_reached, not 'lost'.",
        ),
        ([], "The request body must be a JSON object."),
    ],
)
def test_a_wrong_replacement_is_refused_with_one_sentence(body: Any, told: str) -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    reply = gateway.post("/sandbox/faults", body)
    assert (reply.status, reply.json["error"]["message"]) == (400, told)
    assert gateway.chat().status == 200


def test_nothing_is_replaced_when_a_part_is_wrong() -> None:
    gateway = Gateway(scenario({"tag": "acme"}))
    body = {"gateway": [{"kind": "down"}], "model": MODEL, "tag": "nobody", "faults": []}
    assert gateway.post("/sandbox/faults", body).status == 400
    assert gateway.chat().status == 200


def test_a_caller_who_leaves_is_counted_as_cancelled() -> None:
    gateway = Gateway(with_fault("trickle", seconds=60))
    reply = gateway.chat(provider={"only": ["acme/fp8"]}, stream=True, leave_after_s=5)
    assert reply.ending == "left"
    row = gateway.get("/sandbox/state").json["endpoints"][0]
    assert (row["cancelled"], row["completed"], row["in_flight"]) == (1, 0, 0)
    generation = gateway.get(f"/api/v1/generation?id={reply.headers['x-generation-id']}").json["data"]
    assert generation["cancelled"] is True


@pytest.mark.parametrize("path", ["/sandbox/nothing", "/api/v1/nothing", "/", "/api/v1", "/api/v2/models"])
def test_an_unknown_path_is_a_404_in_json(path: str) -> None:
    reply = Gateway(scenario({"tag": "acme"})).get(path)
    assert (reply.status, reply.json["error"]["message"]) == (404, f"No route for GET {path}.")
