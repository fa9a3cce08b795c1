"""Headless Chromium that draws the viewer's page in software, for tests."""

from __future__ import annotations

import shutil
from typing import Any

OPTIONS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
"""Where it is installed, or None (``make chromium``)."""


def launched(playwright: Any) -> Any:
    """Return the browser, started by a playwright."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
