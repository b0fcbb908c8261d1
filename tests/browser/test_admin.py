"""What people do in the admin, done in a real browser under the strict CSP."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from canary.models import Suspension
from incidents.models import Decision
from routing.models import Exclusion, RoutedModel
from tests import factories as make
from tests.browser.conftest import FAILED_REQUEST, Site
from tests.fleets import make_fleet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGES = (
    "/admin/", "/admin/routing/endpoint/", "/admin/routing/routedmodel/", "/admin/routing/exclusion/",
    "/admin/routing/exclusion/add/", "/admin/routing/enforcementswitch/", "/admin/canary/suspension/",
    "/admin/canary/round/", "/admin/canary/proberun/", "/admin/incidents/decision/", "/admin/incidents/notification/",
)  # fmt: skip


def test_an_owner_watches_a_model_by_its_slug(site: Site, settings: Settings) -> None:
    settings.OPENROUTER_BASE_URL = "http://127.0.0.1:9/api/v1"
    site.log_in("owner")
    page = site.page
    page.get_by_role("link", name="Add one by its slug").click()
    page.get_by_label("Slug").fill("qwen3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("is not a model slug: write author/name")).to_be_visible()
    page.get_by_label("Slug").fill("qwen/qwen3-235b")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("could not be asked what it would cost")).to_be_visible()
    page.get_by_label("Watch it").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert RoutedModel.objects.get().slug == "qwen/qwen3-235b"
    site.open("/admin/")
    expect(page.get_by_role("heading", name="qwen/qwen3-235b")).to_be_visible()


def test_an_operator_excludes_by_a_wrong_name_then_the_right_one_and_lifts_it(site: Site) -> None:
    make_fleet(make.soon(0))
    site.log_in("operator")
    page = site.page
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Exclusions").click()
    page.get_by_role("link", name="Add exclusion").click()
    page.get_by_label("Provider or endpoint").fill("firework")
    page.get_by_label("Reason").fill("half of the answers are cut off")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("Did you mean fireworks?")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("half of the answers are cut off")
    page.get_by_label("Provider or endpoint").fill("fireworks")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("Excluded: fireworks.")).to_be_visible()
    page.get_by_role("button", name="Lift…").click()
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_text("This field is required.")).to_be_visible()
    page.get_by_label("Reason").fill("they fixed it")
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_text("Exclusions lifted: 1.")).to_be_visible()
    assert Exclusion.objects.get(entry="fireworks").lift_reason == "they fixed it"
    actions = Decision.objects.filter(actor="operator").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["exclude", "exclusion_lift"]


def test_an_operator_lifts_a_suspension_as_a_false_positive(site: Site) -> None:
    make_fleet(make.soon(0))
    site.log_in("operator")
    page = site.page
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Suspensions").click()
    page.get_by_role("row", name="deepinfra/fp8").get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option(label="Lift chosen suspensions…")
    page.get_by_role("button", name="Go").click()
    page.get_by_label("Reason").fill("our prompt was wrong")
    page.get_by_label("Yes: it should not have been suspended").check()
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_text("Suspensions lifted: 1.")).to_be_visible()
    assert Suspension.objects.get(endpoint__tag="deepinfra/fp8").judgement == "false positive"


def test_an_owner_stops_all_enforcement_and_every_page_says_so(site: Site) -> None:
    make_fleet(make.soon(0))
    site.log_in("owner")
    page = site.page
    page.get_by_role("link", name="Stop…").click()
    page.get_by_label("Reason").fill("incident 12")
    page.get_by_role("button", name="Stop all enforcement").click()
    expect(page.get_by_text("Enforcement is stopped everywhere.")).to_be_visible()
    site.open("/admin/incidents/decision/")
    expect(page.get_by_text("Enforcement is stopped.", exact=True)).to_be_visible()


def test_the_fleet_refreshes_itself_and_keeps_the_place(site: Site) -> None:
    models = make_fleet(make.soon(0))
    site.log_in("viewer")
    page = site.page
    endpoint = models["acme/small"].endpoints.get(tag="mistral")
    page.locator(f"#endpoint-{endpoint.pk}").focus()
    page.evaluate("window.scrollTo(0, 300)")
    make.make_exclusion("mistral", reason="found while you looked", created_at=make.soon(0))
    expect(page.get_by_text("found while you looked")).to_be_visible(timeout=15_000)
    assert page.evaluate("document.activeElement.id") == f"endpoint-{endpoint.pk}"
    assert page.evaluate("window.scrollY") == 300


@pytest.mark.parametrize(
    ("trouble", "words"), [("down", "the server cannot be reached"), ("broken", "the server answered 500")]
)
def test_a_fleet_that_cannot_be_refreshed_says_so_and_keeps_what_it_shows(
    site: Site, trouble: str, words: str
) -> None:
    make_fleet(make.soon(0))
    site.expected = [FAILED_REQUEST, "net::ERR", "Response Status Error Code", "htmx:"]
    site.log_in("viewer")
    page = site.page
    if trouble == "down":
        page.route("**/admin/fleet/", lambda route: route.abort())
    else:
        page.route("**/admin/fleet/", lambda route: route.fulfill(status=500, body="no"))
    expect(page.get_by_text(words)).to_be_visible(timeout=15_000)
    expect(page.get_by_role("heading", name="acme/large")).to_be_visible()
    page.unroute("**/admin/fleet/")
    expect(page.get_by_text(words)).to_be_hidden(timeout=15_000)


def test_a_fleet_whose_login_ran_out_says_so(site: Site) -> None:
    make_fleet(make.soon(0))
    site.expected = [FAILED_REQUEST, "Response Status Error Code"]
    site.log_in("viewer")
    site.page.context.clear_cookies()
    expect(site.page.get_by_text("you are logged out")).to_be_visible(timeout=15_000)
    expect(site.page.get_by_role("heading", name="acme/large")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1440)])
def test_every_page_fits_light_and_dark_from_a_phone_to_a_desk(
    site: Site, tmp_path: Path, scheme: str, width: int
) -> None:
    make_fleet(make.soon(0))
    page = site.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    site.log_in("owner")
    for path in PAGES:
        site.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    site.open("/admin/")
    page.screenshot(path=tmp_path / f"fleet-{scheme}-{width}.png", full_page=True)
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(11, 17, 32)")
