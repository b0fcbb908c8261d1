"""Rows the routing tests start from: one gateway, models, and discoveries made by hand."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from routing.catalogue import apply_discovery, first_gateway
from routing.gateways.base import DiscoveredEndpoint, Discovery
from routing.models import RoutedModel

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

MakeModel = Callable[..., RoutedModel]


def discovery(*tags: str, model: str = "author/model") -> Discovery:
    """A readable list of `tags`, with display names like `Alpha`."""
    rows = [
        DiscoveredEndpoint(tag=tag, provider_slug=tag.split("/")[0], provider_name=tag.split("/")[0].title())
        for tag in tags
    ]
    return Discovery(model=model, endpoints=rows)


@pytest.fixture
def make_model(db: None) -> MakeModel:
    """Makes a watched model that the given tags serve as of `NOW`."""

    def make(*tags: str, slug: str = "author/model", **columns: object) -> RoutedModel:
        model = RoutedModel.objects.create(gateway=first_gateway(), slug=slug, **columns)
        if tags:
            apply_discovery(model, discovery(*tags, model=slug), now=NOW)
        return model

    return make
