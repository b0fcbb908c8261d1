"""Which adapter speaks to which gateway: adding one is a file beside this and a line here."""

from collections.abc import Mapping

from routing.gateways.base import Gateway
from routing.gateways.openrouter import OpenRouter

ADAPTERS: Mapping[str, type[OpenRouter]] = {"openrouter": OpenRouter}


def build(slug: str, *, base_url: str, api_key: str) -> Gateway:
    """A client of the gateway `slug`; it belongs to the event loop it is used in. Raises `LookupError`."""
    adapter = ADAPTERS.get(slug)
    if adapter is None:
        raise LookupError(f"There is no adapter for gateway {slug!r}; there are: {', '.join(ADAPTERS)}.")
    return adapter(base_url=base_url, api_key=api_key)
