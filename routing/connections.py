"""From a gateway's row and the environment to a client that speaks to it."""

from django.conf import settings

from routing.gateways import directory
from routing.gateways.base import Gateway
from routing.models import Gateway as GatewayRow


def open_gateway(row: GatewayRow) -> Gateway:
    """A client of the gateway; the caller closes it. The key comes from the environment only."""
    base_url = row.base_url or settings.OPENROUTER_BASE_URL
    return directory.build(row.slug, base_url=base_url, api_key=settings.OPENROUTER_API_KEY)
