"""Faults of who answered and of which endpoints there are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.driver import MODEL, Gateway, with_fault

METADATA = {"X-OpenRouter-Metadata": "enabled"}


def listed(gateway: Gateway) -> list[str]:
    rows = gateway.get(f"/api/v1/models/{MODEL}/endpoints").json["data"]["endpoints"]
    return [row["tag"] for row in rows]


@pytest.mark.parametrize(("params", "name"), [({}, "Globex"), ({"provider": "Initech"}, "Initech")])
def test_served_by_other_names_another_provider_in_body_and_metadata(
    params: dict[str, Any], name: str
) -> None:
    gateway = Gateway(with_fault("served_by_other", **params))
    reply = gateway.pinned("acme/fp8", headers=METADATA)
    assert reply.json["provider"] == name
    assert reply.json["openrouter_metadata"]["attempts"][0]["provider"] == name
    selected = [
        row["provider"]
        for row in reply.json["openrouter_metadata"]["endpoints"]["available"]
        if row["selected"]
    ]
    assert selected == (["Globex"] if name == "Globex" else [])
    chunks = gateway.pinned("acme/fp8", stream=True).chunks
    assert {chunk["provider"] for chunk in chunks} == {name}


def test_an_answer_may_name_nobody() -> None:
    gateway = Gateway(with_fault("not_attributed"))
    assert (
        gateway.pinned("acme/fp8", headers=METADATA)
        .json.keys()
        .isdisjoint({"provider", "openrouter_metadata"})
    )
    chunks = gateway.pinned("acme/fp8", stream=True, headers=METADATA).chunks
    assert all("provider" not in chunk and "openrouter_metadata" not in chunk for chunk in chunks)


def test_a_gone_endpoint_is_neither_listed_nor_reachable_and_returns() -> None:
    gateway = Gateway(with_fault("gone", after_s=10, until_s=20))
    seen = []
    for now_s in (9.9, 10, 19.9, 20):
        gateway.time.now_s = 1000 + now_s
        seen.append((listed(gateway), gateway.pinned("acme/fp8").status))
    both, one = ["acme/fp8", "globex/fp8"], ["globex/fp8"]
    assert [tags for tags, _ in seen] == [both, one, one, both]
    assert [status for _, status in seen] == [200, 404, 404, 200]


def test_a_provider_whose_endpoint_is_gone_is_still_a_provider() -> None:
    rows = Gateway(with_fault("gone")).get("/api/v1/providers").json["data"]
    assert [row["slug"] for row in rows] == ["acme", "globex"]


def test_an_endpoint_may_be_listed_but_closed_to_the_account() -> None:
    gateway = Gateway(with_fault("not_allowed"))
    assert listed(gateway) == ["acme/fp8", "globex/fp8"]
    refused = gateway.pinned("acme/fp8", headers=METADATA)
    assert refused.status == 404
    assert refused.json["openrouter_metadata"]["attempt"] == 0
    assert {gateway.chat().json["provider"] for _ in range(20)} == {"Globex"}
