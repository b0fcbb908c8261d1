"""Where the machine's Chromium is. Playwright's own download is not used: CI installs Debian's by apt."""

import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_APPLICATIONS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)


def find() -> Path | None:
    """The program, or None."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    return next((path for path in MAC_APPLICATIONS if path.exists()), None)
