"""A real headless Chromium for the tests of HTML pages, driven by Playwright; axe-core for contrast and the rest of WCAG AA. Both come from PyPI.

The browser is the distribution's own (`apt-get install chromium`); screenshots go to `.ci/artefacts`, which git ignores.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ARTEFACTS = Path(__file__).parents[2] / ".ci/artefacts"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def program() -> str:
    """Return the browser's program, or skip the test with how to get it."""
    pytest.importorskip("playwright", reason="playwright is missing: pip install -e '.[dev]'")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no chromium here: apt-get install chromium")
    return found


@contextlib.contextmanager
def started() -> Iterator[object]:
    """Start a browser, and end it."""
    path = program()
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only where it is installed

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Looked:
    """A page that is open, and what it did on the way: messages of the console, requests that it made and that were refused."""

    page: object
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def violations(self) -> list[str]:
        """Return what axe-core finds, one line a rule and place."""
        from axe_playwright_python.base import AXE_FILE_PATH  # noqa: PLC0415  # as above

        self.page.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
        found = self.page.evaluate("tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", list(RULES))
        return [f"{one['id']}: {node['target']} {node.get('failureSummary', '')}" for one in found["violations"] for node in one["nodes"]]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")

    def keep(self, name: str) -> None:
        """Keep a screenshot of the whole page."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)


@contextlib.contextmanager
def opened(browser, path: Path, *, width: int = 1280, scheme: str = "light", has_script: bool = True) -> Iterator[Looked]:
    """Open a file as a page of so many pixels, and close it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=has_script)
    page = context.new_page()
    looked = Looked(page)
    page.on("console", lambda message: looked.said.append(message.text))
    page.on("pageerror", lambda error: looked.said.append(str(error)))
    page.on("request", lambda request: looked.asked.append(request.url))
    page.on("requestfailed", lambda request: looked.refused.append(request.failure))
    page.on("dialog", lambda dialog: (looked.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    try:
        page.goto(path.as_uri())
        yield looked
    finally:
        context.close()
