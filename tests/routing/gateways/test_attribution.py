"""Who served an answer, compared with who was asked."""

from typing import Any

import pytest

from routing.gateways.attribution import attribute, named_by_router
from routing.gateways.base import Attribution, Exchange, GatewayError

NAMES = {
    "google": frozenset({"google-vertex"}),
    "google ai studio": frozenset({"google-ai-studio"}),
    "deepinfra": frozenset({"deepinfra"}),
    "wandb": frozenset({"wandb", "wandb-legacy"}),
}


def selected(provider: str) -> dict[str, Any]:
    return {
        "attempt": 1,
        "endpoints": {
            "available": [
                {"provider": "DeepInfra", "selected": False},
                {"provider": provider, "selected": True},
            ]
        },
    }


@pytest.mark.parametrize(
    ("exchange", "tag", "expected"),
    [
        pytest.param(Exchange(served_by="Google"), "google-vertex/us-east5", "pinned", id="display name"),
        pytest.param(Exchange(served_by="GOOGLE"), "google-vertex", "pinned", id="in any case"),
        pytest.param(Exchange(served_by="Google"), "google-ai-studio", "other", id="another provider"),
        pytest.param(Exchange(served_by="WandB"), "wandb-legacy/fp8", "pinned", id="one name, two slugs"),
        pytest.param(
            Exchange(served_by="Nobody Inc"), "deepinfra", "unknown", id="a name the catalogue lacks"
        ),
        pytest.param(Exchange(), "deepinfra", "unknown", id="no name at all"),
        pytest.param(Exchange(served_by="openai"), "openai", "pinned", id="the pinned slug itself"),
        pytest.param(Exchange(served_by="google-vertex"), "deepinfra", "other", id="another known slug"),
        pytest.param(
            Exchange(served_by="DeepInfra", router_metadata=selected("Google")),
            "deepinfra",
            "other",
            id="router first",
        ),
        pytest.param(
            Exchange(router_metadata=selected("Google")), "google-vertex", "pinned", id="router alone"
        ),
        pytest.param(
            Exchange(served_by="DeepInfra", router_metadata=selected("New Host")),
            "deepinfra",
            "pinned",
            id="a router name the catalogue lacks leaves it to the display name",
        ),
        pytest.param(
            Exchange(router_metadata={"attempts": [{"provider": "Google"}, {"provider": "DeepInfra"}]}),
            "deepinfra",
            "pinned",
            id="the last attempt served",
        ),
        pytest.param(
            Exchange(router_metadata={"endpoints": "x", "attempts": 3}), "deepinfra", "unknown", id="hostile"
        ),
        pytest.param(
            Exchange(error=GatewayError(status=502, message="", provider_name="DeepInfra")),
            "deepinfra/fp8",
            "pinned",
            id="the provider an error names",
        ),
    ],
)
def test_the_router_says_first_then_the_display_name_who_served(
    exchange: Exchange, tag: str, expected: str
) -> None:
    assert attribute(exchange, tag=tag, names=NAMES) == Attribution(expected)


@pytest.mark.parametrize(
    ("router", "name"),
    [
        ({**selected("Google"), "attempts": [{"provider": "DeepInfra"}]}, "Google"),
        ({"attempts": [{"provider": "Google"}, {"provider": "DeepInfra"}]}, "DeepInfra"),
        ({"attempts": [{"provider": "Google"}, {"provider": 3}, "x"]}, "Google"),
        ({"endpoints": {"available": [{"provider": "Google", "selected": False}]}}, None),
        ({"endpoints": [], "attempts": None}, None),
        ({}, None),
    ],
    ids=["selected", "last attempt", "last attempt that names one", "nobody selected", "hostile", "empty"],
)
def test_the_router_names_the_endpoint_it_selected_else_the_last_it_tried(
    router: dict[str, Any], name: str | None
) -> None:
    assert named_by_router(router) == name
