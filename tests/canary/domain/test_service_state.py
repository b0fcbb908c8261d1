"""One word an endpoint: what keeps it out of service, or how it stands in it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from canary.domain.capacity import EndpointState, Held
from canary.domain.scoring import Standing
from canary.domain.service_state import ServiceState, service_state

AT = datetime(2026, 1, 2, tzinfo=UTC)
ANSWERS = Standing(has_answered=True)


def held(*, is_shadow: bool) -> Held:
    return Held(started_at=AT, until=AT + timedelta(days=1), level=1, is_shadow=is_shadow)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        pytest.param({}, ServiceState.PRODUCTION, id="serving and answering"),
        pytest.param(
            {"standing": Standing(has_answered=True, failing=1)}, ServiceState.FAILING, id="failing once"
        ),
        pytest.param(
            {"suspension": held(is_shadow=True)}, ServiceState.WOULD_SUSPEND, id="a shadow keeps nothing out"
        ),
        pytest.param(
            {"suspension": held(is_shadow=False)}, ServiceState.SUSPENDED, id="an enforced suspension does"
        ),
        pytest.param({"standing": Standing()}, ServiceState.NEW, id="new until it has answered"),
        pytest.param(
            {"standing": Standing(has_answered=True, silent_rounds=2)},
            ServiceState.PRODUCTION,
            id="silent for two rounds",
        ),
        pytest.param(
            {"standing": Standing(has_answered=True, silent_rounds=3)},
            ServiceState.SILENT,
            id="silent for three",
        ),
        pytest.param({"is_admitted": False}, ServiceState.NOT_ADMITTED, id="kept out by the preferences"),
        pytest.param({"in_other_tier": True}, ServiceState.EXCLUDED, id="excluded by a person or the code"),
        pytest.param({"is_serving": False}, ServiceState.LEFT, id="left"),
        pytest.param(
            {"in_other_tier": True, "suspension": held(is_shadow=False)},
            ServiceState.EXCLUDED,
            id="excluded wins",
        ),
        pytest.param(
            {"is_serving": False, "in_other_tier": True}, ServiceState.LEFT, id="left wins over all"
        ),
    ],
)
def test_the_state_of_an_endpoint(values: dict[str, Any], state: ServiceState) -> None:
    assert (
        service_state(EndpointState(**{"tag": "a/b", "provider": "a", "standing": ANSWERS, **values}))
        is state
    )


def test_capacity_is_what_serves_whatever_is_said_of_it() -> None:
    production = {ServiceState.PRODUCTION, ServiceState.FAILING, ServiceState.WOULD_SUSPEND}
    assert {state for state in ServiceState if state.is_production} == production
