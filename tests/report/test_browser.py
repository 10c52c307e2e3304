"""What a real browser makes of the HTML report: no error, no request, keyboard, a phone's width, contrast, and hostile text that does nothing."""

from functools import partial

import pytest

from driftwatch.explain.chronicle import Moment
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.report import html
from driftwatch.report.page import Page
from driftwatch.report.timeline import render_timeline
from tests.report import browser as chromium
from tests.report.scenes import SCENES
from tests.report.test_html import WORDS
from tests.report.test_text import hostile

WORD = " ".join(WORDS)
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]


def story(word):
    """Return five moments: memory falls, a version moves, once nothing is known, and the last one is bad."""
    moments = []
    for day, free in enumerate((21.9, 21.7, None, 20.1, 3.5), 1):
        log = {"servers/sglang/log/free_after_load_gib": free} if free is not None else {}
        status = "timeout" if free is None else "ok"
        probes = {name: ProbeResult(status, tells=(f"{name}/*",)) for name in ("servers", "packages", "env")}
        facts = log and {**log, "packages/torch/version": "2.9.1" if day < 4 else f"2.10.0 {word}", f"env/{word}": str(day > 4)}
        moments.append(Moment(f"gpu-a@{day}", f"2026-03-0{day}T00:00:00Z", (word,), partial(Snapshot, "gpu-a", None, probes=probes, facts=facts)))
    return moments


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write the scenes, and one page that says every hostile word."""
    folder = tmp_path_factory.mktemp("pages")
    for name, scene in SCENES.items():
        (folder / f"{name}.html").write_text(html.render(scene, Page()), encoding="utf-8")
    (folder / "timeline.html").write_text(render_timeline("gpu-a", story("plain"), (), Page()), encoding="utf-8")
    (folder / "hostile-timeline.html").write_text(render_timeline(WORD, story(WORD), (), Page()), encoding="utf-8")
    (folder / "hostile.html").write_text(html.render(hostile(WORD), Page()), encoding="utf-8")
    return folder


@pytest.mark.parametrize("scene", ["b", "e", "same", "hostile", "timeline", "hostile-timeline"])
def test_it_loads_nothing_says_nothing_and_meets_wcag_aa_in_both_schemes_and_at_both_widths(browser, pages, scene):
    for scheme, width in LOOKS if scene == "b" else LOOKS[1:3] if scene in ("e", "timeline") else LOOKS[3:]:
        path = pages / f"{scene}.html"
        with chromium.opened(browser, path, width=width, scheme=scheme) as looked:
            assert looked.overflow() <= 0
            looked.keep(f"{scene}-{scheme}-{width}")
            looked.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert looked.overflow() <= 0
            assert scene == "e" or looked.violations() == []  # axe takes 10 s for 600 rows
            assert (looked.said, looked.asked) == ([], [path.as_uri()])


def test_hostile_text_is_shown_and_makes_no_element(browser, pages):
    with chromium.opened(browser, pages / "hostile.html") as looked:
        assert looked.page.locator("img, iframe, main script, main style, a[href^='http'], [onmouseover], [onload], [onerror]").count() == 0
        assert "<script>alert(1)</script>" in looked.page.locator("h1").inner_text()
        assert looked.said == []


def test_the_policy_refuses_a_script_a_style_and_a_request_that_got_in(browser, pages, tmp_path):
    inside = '<script>document.title = "run"</script><p style="color: red">x</p><img src="http://127.0.0.1:9/x.png">'
    path = tmp_path / "forced.html"
    path.write_text((pages / "a.html").read_text().replace("<main", f"{inside}<main"))
    with chromium.opened(browser, path) as looked:
        assert looked.page.title() != "run"
        assert len([one for one in looked.said if "Content Security Policy" in one]) >= 3
        assert looked.refused == ["csp"]


def test_the_filter_works_by_keyboard_and_escape_brings_everything_back(browser, pages):
    with chromium.opened(browser, pages / "e.html") as looked:
        page, rows = looked.page, looked.page.locator("[data-f]:visible")
        page.keyboard.press("/")
        page.keyboard.type("psutil")
        assert page.locator("#hits").inner_text().startswith("1 of ")
        assert rows.count() == 1
        page.keyboard.press("Escape")
        assert page.locator("#hits").inner_text() == ""
        assert page.locator("[data-f][hidden]").count() == 0


def test_groups_fold_by_keyboard_one_by_one_and_all_at_once(browser, pages):
    with chromium.opened(browser, pages / "e.html") as looked:
        page, last = looked.page, looked.page.locator("details.grp").last
        assert last.get_attribute("open") is None
        last.locator("summary").focus()
        page.keyboard.press("Space")
        assert last.get_attribute("open") == ""
        page.locator("#unfold").focus()
        page.keyboard.press("Enter")
        assert page.locator("details.grp:not([open])").count() == 0
        page.keyboard.press("Enter")
        assert page.locator("details.grp[open]").count() == 0


def test_tab_reaches_the_report_first_and_every_command(browser, pages):
    with chromium.opened(browser, pages / "b.html") as looked:
        looked.page.keyboard.press("Tab")
        assert looked.page.evaluate("document.activeElement.textContent") == "Skip to the report"
        commands = looked.page.locator("code.cmd")
        assert commands.count() == looked.page.locator("code.cmd[tabindex='0']").count() > 2


def test_without_a_script_everything_is_readable(browser, pages):
    with chromium.opened(browser, pages / "e.html", has_script=False) as looked:
        assert looked.page.locator(".tools:visible").count() == 0
        assert looked.page.locator(".word").inner_text() == SCENES["e"].word
        looked.page.locator("details.grp").last.locator("summary").click()
        assert looked.page.locator("details.grp").last.locator("[data-f]").first.is_visible()


def test_on_paper_every_group_is_open_and_the_tools_are_gone(browser, pages):
    with chromium.opened(browser, pages / "e.html") as looked:
        looked.page.emulate_media(media="print")
        assert looked.page.locator(".tools:visible").count() == 0
        assert looked.page.locator("tr[data-f]").last.is_visible()
