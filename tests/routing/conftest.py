"""Rows the routing tests start from: one gateway, models, and discoveries made by hand."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from incidents.models import Decision, Notification
from routing import snapshot
from routing.catalogue import apply_discovery, first_gateway
from routing.exclusions import NewExclusion
from routing.gateways.base import DiscoveredEndpoint, Discovery
from routing.models import RoutedModel
from routing.snapshot_file import SnapshotFile

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

MakeModel = Callable[..., RoutedModel]


def offered(tag: str, **columns: Any) -> DiscoveredEndpoint:
    """One row of a list, with a display name like `Alpha AI`."""
    provider = tag.partition("/")[0]
    return DiscoveredEndpoint(
        tag=tag, provider_slug=provider, provider_name=f"{provider.title()} AI", **columns
    )


def discovery(*rows: str | DiscoveredEndpoint, model: str = "author/model") -> Discovery:
    """A readable list of endpoints, named by their tags or given whole."""
    endpoints = [offered(row) if isinstance(row, str) else row for row in rows]
    return Discovery(model=model, endpoints=endpoints)


def asked(entry: str, **columns: Any) -> NewExclusion:
    """A runtime exclusion as a person asks for it."""
    return NewExclusion(
        **{"entry": entry, "reason": "Wrong language, seen twice.", "actor": "ada", **columns}
    )


def decided(since: int = 0) -> list[tuple[str, str, str]]:
    """What was decided after decision number `since`, in order: action, rule, endpoint."""
    rows = Decision.objects.filter(pk__gt=since).order_by("pk")
    return list(rows.values_list("action", "rule", "endpoint_tag"))


def latest_decision() -> int:
    """The number of the latest decision."""
    return Decision.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def told(since: int = 0) -> list[str]:
    """The subjects of what was told of decisions after number `since`, in order."""
    rows = Notification.objects.filter(decision__pk__gt=since).order_by("pk")
    return list(rows.values_list("subject", flat=True))


@pytest.fixture
def make_model(db: None) -> MakeModel:
    """Makes a watched model that the given tags serve as of `NOW` (or as of `at`)."""

    def make(*tags: str, slug: str = "author/model", at: datetime = NOW, **columns: Any) -> RoutedModel:
        model = RoutedModel.objects.create(gateway=first_gateway(), slug=slug, **columns)
        if tags:
            apply_discovery(model, discovery(*tags, model=slug), now=at)
        return model

    return make


@pytest.fixture
def ada(db: None) -> User:
    """A person."""
    return User.objects.create_user("ada")


@pytest.fixture
def live_snapshot(transactional_db: None) -> Iterator[snapshot.Refresher]:
    """The refresher of this process with its real thread and database, stopped afterwards."""
    refresher = snapshot.Refresher(snapshot._database, SnapshotFile(Path(settings.STATE_DIR)))
    before, snapshot._refresher = snapshot._refresher, refresher
    yield refresher
    refresher.stop()
    snapshot._refresher = before
