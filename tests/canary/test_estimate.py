"""Rule C21: what a model will cost is estimated before it is watched."""

from decimal import Decimal

import pytest

from canary.admin.forms import in_words
from canary.estimate import Estimate, estimate
from routing.gateways.base import ModelNotFound
from tests import factories as make
from tests.canary.conftest import MODEL, SandboxGateway


@pytest.mark.django_db
def test_the_estimate_is_the_catalogues_price_of_a_day_of_rounds(sandbox: SandboxGateway) -> None:
    half_hourly = estimate(make.make_gateway(), MODEL, interval_s=1800)
    hourly = estimate(make.make_gateway(), MODEL, interval_s=3600)
    assert (half_hourly.endpoints, half_hourly.unpriced, half_hourly.runs_a_round) == (6, 0, 24)
    # 24 runs of 150 tokens at 1 USD and 250 at 2 USD a million, 48 times a day.
    assert half_hourly.day_usd == Decimal("0.7488")
    assert hourly.day_usd * 2 == half_hourly.day_usd


@pytest.mark.django_db
def test_a_model_the_gateway_does_not_have_has_no_estimate(sandbox: SandboxGateway) -> None:
    with pytest.raises(ModelNotFound):
        estimate(make.make_gateway(), "acme/nothing", interval_s=1800)


@pytest.mark.parametrize(("day_usd", "is_over"), [(Decimal("2.00"), False), (Decimal("2.01"), True)])
def test_an_estimate_above_the_budget_says_so(day_usd: Decimal, is_over: bool) -> None:
    found = Estimate(endpoints=3, unpriced=0, runs_a_round=12, day_usd=day_usd)
    words = in_words(found, interval_s=1800, budget_usd=Decimal(2))
    assert ("more than its budget" in words) is is_over
    assert "price" not in words


def test_endpoints_without_a_price_are_said() -> None:
    found = Estimate(endpoints=3, unpriced=2, runs_a_round=12, day_usd=Decimal(1))
    assert "2 of them name no price." in in_words(found, interval_s=1800, budget_usd=Decimal(2))
