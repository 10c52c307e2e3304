"""The Markdown report: everything is told, nothing pings, links or breaks out, and it fits into an issue."""

import dataclasses
import os
import pathlib
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from driftwatch.explain.explanation import Event
from driftwatch.report import markdown
from driftwatch.report.page import Page
from tests.report.scenes import SCENES, changed
from tests.report.test_text import HOSTILE, hostile

GOLDEN = pathlib.Path(__file__).parent / "golden"
PAGE = Page()
MARKUP = (
    "<script>alert(1)</script>", "a | b \\| c", "``` not closed", "`x` ``y``", "[text](javascript:alert(1))", "![x](http://example.org/x.png)",
    "@someone #12 GH-7",
    "team/repo#5", "https://example.org/issues/4", "&#64;someone &lt;b&gt;", "</details><details>", "<!-- ", "# heading", "- item", "$x$",
    "~~gone~~ **bold** _it_",
)
WORDS = [*HOSTILE, *MARKUP]
TAGS = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "h3", "ol", "ul", "li", "pre", "details", "summary", "sub", "em"}


class Tags(HTMLParser):
    """The tags of a page, and the text that stands outside of code."""

    def __init__(self, page):
        super().__init__()
        self.seen, self.open, self.prose = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open += [tag] if tag == "code" else []

    def handle_endtag(self, tag):
        self.open[-1:] = [] if tag == "code" else self.open[-1:]

    def handle_data(self, data):
        self.prose += [] if self.open else [data]


def shown(explanation):
    return Tags(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown.render(explanation, PAGE, all_changes=True)))


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_written_exactly_as_it_was_agreed(scene):
    written = markdown.render(SCENES[scene], PAGE)
    file = GOLDEN / f"{scene}.md"
    if "DRIFTWATCH_REDRAW" in os.environ:
        file.write_text(written, encoding="utf-8")
    assert written == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("scene", SCENES)
def test_every_suspect_and_every_open_question_is_named(scene):
    written = markdown.render(SCENES[scene], PAGE)
    for one in (*SCENES[scene].suspects, *SCENES[scene].ruled_out, *SCENES[scene].not_checked):
        name = one.fact if hasattr(one, "fact") else one.subject.name
        assert name in written or markdown.say(name) in written


@pytest.mark.parametrize("word", WORDS, ids=[f"word{number}" for number in range(len(WORDS))])
def test_what_a_host_says_makes_no_tag_no_mention_and_no_link(word):
    found = shown(hostile(word))
    assert set(found.seen) <= TAGS
    assert re.search(r"@\w|#\d|GH-\d|://", "".join(found.prose)) is None


@pytest.mark.parametrize("word", WORDS, ids=[f"word{number}" for number in range(len(WORDS))])
def test_what_a_host_says_leaves_the_tables_and_the_folded_parts_whole(word):
    hostile_tags, plain_tags = shown(hostile(word)).seen, shown(hostile("plain")).seen
    assert [hostile_tags.count(tag) for tag in ("details", "tr", "td", "li", "h3")] == [plain_tags.count(tag) for tag in ("details", "tr", "td", "li", "h3")]


def test_a_cell_keeps_its_bar_and_its_backslash():
    table = MarkdownIt("commonmark").enable("table").render(f"| a |\n|-|\n| {markdown.cell('x | y')} |\n")
    assert "<code>x | y</code>" in table
    assert markdown.cell("a \\| `b`") == "<code>a &#92;&#124; &#96;b&#96;</code>"


def test_a_fence_is_longer_than_the_backticks_inside():
    assert markdown.fence(["a ```` b"], "  ")[0] == "  `````text"


def many(events, changes):
    made = tuple(
        Event(f"event {number}", tuple(changed(f"packages/p{number}-{one}/version", "1.0.0", "1.0.1") for one in range(changes))) for number in range(events)
    )
    return dataclasses.replace(SCENES["a"], events=made, changes=tuple(change for event in made for change in event.changes))


@pytest.mark.parametrize("is_whole", [False, True])
def test_it_always_fits_into_an_issue_and_drops_whole_events_from_the_end(is_whole):
    written = markdown.render(many(400, 12), PAGE, all_changes=is_whole)
    assert len(written) < markdown.BUDGET
    dropped = int(re.search(r"^(\d+) more parts did not fit", written, re.MULTILINE)[1].replace(",", ""))
    told = re.findall(r"event (\d+)</summary>", written)
    assert told == [str(number) for number in range(400 - dropped)]
    assert written.count("<details>") == written.count("</details>")
    assert "apache-tvm-ffi" in written


def test_one_huge_event_never_takes_the_suspects_with_it():
    written = markdown.render(many(1, 30_000), PAGE, all_changes=True)
    assert len(written) < markdown.BUDGET
    assert "1. **strong**" in written
