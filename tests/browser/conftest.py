"""A real Chromium on a live server, watched for everything it complains about."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page
from pytest_django.live_server_helper import LiveServer

from tests import factories as make
from tests.services import chromium

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Chromium logs every answer of 400 and above; tests that provoke one say so.
FAILED_REQUEST = "Failed to load resource"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The machine's own Chromium, never one that Playwright downloads; as root it runs only without its sandbox."""
    program = chromium.find()
    if program is None:
        pytest.fail("No Chromium found: apt install chromium.")
    return {**browser_type_launch_args, "executable_path": str(program), "args": list(FLAGS)}


@pytest.fixture(scope="session", autouse=True)
def _django_beside_playwrights_event_loop() -> Iterator[None]:
    """Playwright keeps an event loop in this thread; the tests' own queries are synchronous all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """What the browser complained about: errors and warnings of its console, the CSP's too, and of scripts."""
    found: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            found.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


@pytest.fixture
def site(page: Page, live_server: LiveServer, complaints: list[str]) -> Iterator["Site"]:
    """The site in the browser; at the end nothing but what the test expected may have been complained about."""
    opened = Site(page, live_server.url)
    yield opened
    assert [words for words in complaints if not any(known in words for known in opened.expected)] == []


class Site:
    """The site as one person sees it. `expected` are parts of complaints a test provokes."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.expected: list[str] = []

    def log_in(self, role: str) -> None:
        """Log in through the form, as somebody of that role."""
        make.make_user(role, can_log_in=True)
        self.open("/admin/")
        self.page.get_by_label("Username").fill(role)
        self.page.get_by_label("Password").fill(make.PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("heading", name="Fleet").wait_for()

    def open(self, path: str) -> None:
        """Open a page."""
        self.page.goto(self.url + path)
