"""What an endpoint's state comes to in one word, for people: whether it serves, and if not, what keeps it out."""

from enum import StrEnum

from canary.domain.capacity import EndpointState


class ServiceState(StrEnum):
    """One word an endpoint; the first that applies, in this order."""

    LEFT = "left"
    EXCLUDED = "excluded"
    SUSPENDED = "suspended"
    NOT_ADMITTED = "not admitted"
    NEW = "not answered yet"
    SILENT = "unreachable"
    WOULD_SUSPEND = "would be suspended"
    FAILING = "failing"
    PRODUCTION = "in production"

    @property
    def is_production(self) -> bool:
        """Whether the endpoint counts as capacity (Terms, production endpoint)."""
        return self in (ServiceState.PRODUCTION, ServiceState.FAILING, ServiceState.WOULD_SUSPEND)


def service_state(endpoint: EndpointState) -> ServiceState:
    """The state of `endpoint` by what is in force; a shadow suspension keeps nothing out."""
    held = endpoint.suspension
    ordered = (
        (not endpoint.is_serving, ServiceState.LEFT),
        (endpoint.in_other_tier, ServiceState.EXCLUDED),
        (held is not None and not held.is_shadow, ServiceState.SUSPENDED),
        (not endpoint.is_admitted, ServiceState.NOT_ADMITTED),
        (not endpoint.standing.has_answered, ServiceState.NEW),
        (not endpoint.standing.is_reachable, ServiceState.SILENT),
        (held is not None, ServiceState.WOULD_SUSPEND),
        (endpoint.standing.failing > 0, ServiceState.FAILING),
    )
    return next((state for applies, state in ordered if applies), ServiceState.PRODUCTION)
