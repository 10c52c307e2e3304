"""What a real browser makes of the pages about many hosts: an audit of two hundred, hostile names, and what `peers` found on the recorded fleet."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from driftwatch.report.audit import html
from driftwatch.report.audit.night import Difference
from driftwatch.report.page import Page
from tests.fleet.test_formats import fleet
from tests.report import browser as chromium
from tests.report.test_browser import WORD

ROOT = Path(__file__).parents[2]


def hostile():
    """Return a night in which every text is hostile."""
    night = fleet()
    ways = tuple(replace(way, says=WORD, hosts=(WORD,), look=WORD, differences=(Difference(WORD, "~", WORD, WORD),)) for way in night.ways)
    return replace(night, against=WORD, ways=ways, rows=tuple(replace(row, host=WORD, reason=WORD) for row in night.rows[:3]), twins=((WORD, WORD),))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "audit.html").write_text(html.render(fleet(), Page()), encoding="utf-8")
    (folder / "hostile.html").write_text(html.render(hostile(), Page()), encoding="utf-8")
    argv = [sys.executable, "-m", "driftwatch", "peers", "tests/hosts/fleet-h100.tar.xz", "--format", "html", "-o", str(folder / "peers.html")]
    assert subprocess.run(argv, cwd=ROOT, check=False).returncode == 1
    return folder


@pytest.mark.parametrize(("name", "scheme", "width"), [
    ("audit", "light", 1280), ("audit", "dark", 390), ("peers", "dark", 1280), ("peers", "light", 390), ("hostile", "light", 390),
])
def test_it_loads_nothing_says_nothing_and_meets_wcag_aa(browser, pages, name, scheme, width):
    path = pages / f"{name}.html"
    with chromium.opened(browser, path, width=width, scheme=scheme) as looked:
        looked.keep(f"fleet-{name}-{scheme}-{width}")
        looked.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert looked.overflow() <= 0
        assert looked.violations() == []
        assert (looked.said, looked.asked) == ([], [path.as_uri()])


def test_a_marked_cell_opens_its_line_without_a_script(browser, pages):
    with chromium.opened(browser, pages / "audit.html") as looked:
        cell = looked.page.locator("td a[href='#B']").first
        cell.focus()
        looked.page.keyboard.press("Enter")
        assert looked.page.locator("#way-B").get_attribute("open") is not None


def test_hosts_are_filtered_by_keyboard(browser, pages):
    with chromium.opened(browser, pages / "audit.html") as looked:
        looked.page.keyboard.press("/")
        looked.page.keyboard.type("gpu-r07-03")
        assert looked.page.locator("tr[data-f]:not([hidden])").count() == 1
