"""Whether an answer came from the pinned provider (rule C2): router metadata first, else the display name."""

from collections.abc import Iterator, Mapping
from typing import Any

from routing.domain.matching import base_slug
from routing.gateways.base import Attribution, Exchange
from routing.gateways.hostile_json import as_list, as_mapping, as_name


def attribute(exchange: Exchange, *, tag: str, names: Mapping[str, frozenset[str]]) -> Attribution:
    """Compare who served `exchange` with the provider of `tag`.

    `names` holds the base slugs by case-folded display name. A name is never turned into a slug by
    lower-casing it (`Google` is `google-vertex`); it counts as a slug only when it is one that is known.
    """
    pinned = base_slug(tag)
    slugs = frozenset({pinned}).union(*names.values())
    for name in _named(exchange):
        served = names.get(name.casefold()) or slugs & {name.casefold()}
        if served:
            return Attribution.PINNED if pinned in served else Attribution.OTHER
    return Attribution.UNKNOWN


def named_by_router(router: Mapping[str, Any]) -> str | None:
    """The display name of who served by the router's metadata, which may be hostile; None when it names nobody."""
    return next(filter(None, _by_router(router)), None)


def _named(exchange: Exchange) -> Iterator[str]:
    candidates = [*_by_router(exchange.router_metadata), exchange.served_by]
    if exchange.error is not None:
        candidates.append(exchange.error.provider_name)
    return (name for name in candidates if name)


def _by_router(router: Mapping[str, Any]) -> Iterator[str | None]:
    """The provider of the endpoint the router selected, then those of its attempts, the last first."""
    for entry in as_list(as_mapping(router.get("endpoints")).get("available")):
        if as_mapping(entry).get("selected") is True:
            yield as_name(as_mapping(entry).get("provider"))
    for entry in reversed(as_list(router.get("attempts"))):
        yield as_name(as_mapping(entry).get("provider"))
