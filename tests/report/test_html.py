"""The HTML report as a file: self-contained, nothing in it can run, load or break out. What a browser makes of it: test_browser.py."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from driftwatch.report import bars, html
from driftwatch.report.page import Page
from tests.report.scenes import SCENES
from tests.report.test_markdown import MARKUP
from tests.report.test_text import HOSTILE, hostile

PAGE = Page()
INJECTIONS = (
    '" onmouseover="alert(1)', "' style='x' onload='y", "</script><script>alert(1)</script>", "</style>", "{{ 7 * 7 }}", "<img src=x onerror=alert(1)>",
)
WORDS = [*HOSTILE, *MARKUP, *INJECTIONS]


class Elements(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found, self.texts, self.inside = [], {}, ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        self.texts.setdefault(self.inside, []).append(data)


@pytest.mark.parametrize("scene", SCENES)
def test_every_suspect_ruled_out_and_open_question_is_in_it(scene):
    said = "".join(part for parts in Elements(html.render(SCENES[scene], PAGE)).texts.values() for part in parts)
    for one in SCENES[scene].suspects:
        assert one.fact in said
        assert all(term.says in said for term in one.because)
    for one in (*SCENES[scene].ruled_out, *SCENES[scene].not_checked):
        assert (one.because if hasattr(one, "because") else one.reason) in said


@pytest.mark.parametrize("word", WORDS, ids=[f"word{number}" for number in range(len(WORDS))])
def test_no_element_has_a_style_a_handler_or_a_link_outside_whatever_a_host_says(word):
    for tag, attributes in Elements(html.render(hostile(word), PAGE)).found:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert not [name for name in ("href", "src", "action") if name in attributes and not attributes[name].startswith(("#", "data:,"))]
        assert tag not in ("img", "iframe", "object", "embed", "form", "base")


@pytest.mark.parametrize("word", WORDS, ids=[f"word{number}" for number in range(len(WORDS))])
def test_there_is_one_script_and_one_style_and_the_policy_names_both_by_their_digests(word):
    page = Elements(html.render(hostile(word), PAGE))
    policy = next(attributes["content"] for tag, attributes in page.found if tag == "meta" and "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        (text,) = [text for text in page.texts[tag] if text.strip()]
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
        assert [one for one, _ in page.found].count(tag) == 1


@pytest.mark.parametrize("word", WORDS, ids=[f"word{number}" for number in range(len(WORDS))])
def test_no_control_character_reaches_the_page(word):
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", html.render(hostile(word), PAGE)) is None


def test_the_same_explanation_gives_the_same_bytes():
    assert html.render(SCENES["e"], PAGE) == html.render(SCENES["e"], Page(120, color=True))


def test_the_sum_is_drawn_to_scale_with_what_is_missing_outside_the_edge():
    working, broken = bars.bars(SCENES["b"].suspects[0].sum)
    assert [(part.kind, part.wide) for part in working.parts] == [("load", 7230), ("kv", 760), ("free", 1410)]
    assert working.end == working.edge == 9400
    assert (broken.parts[-1].kind, broken.parts[-1].at, broken.parts[-1].wide) == ("over", 9400, 2060)


@pytest.mark.parametrize(("good", "bad", "said"), [
    ("2026-02-26T14:05:00Z", "2026-03-02T14:05:00Z", "4 days later"), ("2026-02-26T14:05:00Z", "2026-02-26T17:00:00Z", "2 hours later"),
    ("2026-02-26T14:05:00Z", "2026-02-26T14:04:00Z", "1 minute earlier"), (None, "2026-02-26T14:04:00Z", ""), ("x", None, ""),
])
def test_the_time_between_both_sides_is_told_in_its_largest_unit(good, bad, said):
    assert html.say_gap(good, bad) == said
