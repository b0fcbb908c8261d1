"""A person logs in: the pages work under their own strict policy."""

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_administrator_logs_in_and_the_policy_blocks_nothing(
    page: Page, live_server: LiveServer, scheme: str
) -> None:
    get_user_model().objects.create_superuser("ada", password="long enough to log in")
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]

    page.goto(live_server.url)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("long enough to log in")
    page.get_by_role("button", name="Log in").click()

    expect(page).to_have_title("Fleet | Routewarden")
    assert complaints == []
