"""A real browser, and pages opened in it: what one asks of a network, or complains about, fails its test."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# In milliseconds: a busy machine is not a fault of the page.
_PATIENCE = 120_000
expect.set_options(timeout=_PATIENCE)
# Told from inside the page, where a policy that is broken is heard of first.
_LISTEN = """
    window.broken = [];
    document.addEventListener('securitypolicyviolation', (event) =>
        window.broken.push(event.violatedDirective + ' ' + event.blockedURI));
"""

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium as it is installed on this machine; that there is none is a failure, since it was asked for."""
    named = os.environ.get("CHROMIUM")
    found = named if named else next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.fail(f"no browser: CHROMIUM names none, and none of {', '.join(_NAMES)} is on the path")
    with sync_playwright() as playwright:
        # A container's shared memory is too small for a browser.
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=found, args=flags, timeout=_PATIENCE)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open a file; at the end, nothing may have been asked of a network, logged, asked of a person, or broken."""
    complaints: list[str] = []
    pages: list[Page] = []

    def answer(route: Route) -> None:
        if route.request.url.startswith(("file:", "data:")):
            route.continue_()
        else:
            complaints.append(f"asked for {route.request.url}")
            route.abort()

    def open_file(path: Path, at: str = "", **options: Any) -> Page:
        page = browser.new_page(**options)
        page.set_default_timeout(_PATIENCE)
        page.add_init_script(_LISTEN)
        page.route("**/*", answer)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri() + at)
        pages.append(page)
        return page

    yield open_file
    broken = [each for page in pages for each in page.evaluate("window.broken || []")]
    for page in pages:
        page.close()
    assert complaints + broken == []
