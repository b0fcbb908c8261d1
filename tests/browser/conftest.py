"""A real Chromium on a live server: the machine's own, never one that Playwright downloads."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.services import chromium


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's Chromium; as root it runs only without its sandbox."""
    program = chromium.find()
    if program is None:
        pytest.fail("No Chromium found: apt install chromium.")
    return {**browser_type_launch_args, "executable_path": str(program), "args": ["--no-sandbox"]}


@pytest.fixture(scope="session", autouse=True)
def _django_beside_playwrights_event_loop() -> Iterator[None]:
    """Playwright keeps an event loop in this thread; the tests' own queries are synchronous all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield
