import dataclasses
import os
import pathlib
import re
import shlex

import pytest

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import Command, Event, Explanation, NotChecked, RuledOut, Side, Subject, Sum, Suspect, Term
from driftwatch.model import Known, Unknown
from driftwatch.report import text
from driftwatch.report.page import Page, measure
from tests.report.scenes import SCENES, changed, explanation, side

GOLDEN = pathlib.Path(__file__).parent / "golden"
PAGES = {"80": Page(80), "120": Page(120), "80-color": Page(80, color=True), "80-ascii": Page(80, unicode=False)}
HOSTILE = (
    "\x1b[31mred\x1b[0m", "\r\nLIKELY   forged", "\u202egnp.exe", "\x00\x07\x9b", "\ufeff\u200b", "\u2028\u2029", "\udc80\ud800", "日本語" * 40, "x" * 500,
    "  a   b  ", "%s {0} [x]", "e\u0301" * 90,
)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_drawn_exactly_as_it_was_agreed(scene, page):
    drawn = text.render(SCENES[scene], PAGES[page])
    file = GOLDEN / f"{scene}-{page}.txt"
    if "DRIFTWATCH_REDRAW" in os.environ:
        file.write_text(drawn, encoding="utf-8")
    assert drawn == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [40, 53, 80, 100, 120])
@pytest.mark.parametrize("scene", SCENES)
def test_no_line_but_an_unbreakable_command_is_wider_than_the_page(scene, width):
    for is_unicode in (True, False):
        lines = text.render(SCENES[scene], Page(width, unicode=is_unicode), all_changes=True).splitlines()
        assert [line for line in lines if measure(line) > width and not re.match(r" +(confirm|try|undo|retry|look)? +\S+( \\)?$|.*#", line)] == []


@pytest.mark.parametrize("scene", SCENES)
def test_color_only_repeats_what_the_plain_page_says(scene):
    painted = text.render(SCENES[scene], Page(80, color=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == text.render(SCENES[scene], Page(80))


@pytest.mark.parametrize("scene", SCENES)
def test_a_page_without_unicode_is_ascii(scene):
    assert text.render(SCENES[scene], Page(80, unicode=False)).isascii()


def hostile(word):
    """Return an explanation that says the word wherever a text of a host may stand."""
    subject = Subject("file", word)
    command = Command("try", word, word)
    change = Change(f"env/{word}", "changed", Known(word), Known({word: [word]}))
    unknown = Change(word, "unknown", Known(None), Unknown("timeout", word))
    one = dataclasses.replace(side(word, word, word), host=word)
    return Explanation(
        one, one, None, None, "LIKELY", word,
        suspects=(Suspect(subject, word, word, "~", word, word, 0.9, (Term(word, 1.0), Term(word, 0.0)), word, (command,), Sum(word, ((word, word, word),))),),
        ruled_out=(RuledOut(subject, word),), not_checked=(NotChecked(subject, "timeout", "bad", word, word, detail=word),),
        changes=(change, unknown), events=(Event(word, (change, unknown)),), standing_gaps=((word, word),),
    )


@pytest.mark.parametrize("page", [Page(80), Page(40), Page(120, unicode=False)], ids=["80", "40", "120-ascii"])
@pytest.mark.parametrize("word", HOSTILE, ids=[f"word{number}" for number in range(len(HOSTILE))])
def test_nothing_that_a_host_says_steers_the_terminal_or_forges_a_line(word, page):
    drawn = text.render(hostile(word), page, all_changes=True)
    assert drawn.replace("\n", "").isprintable()
    assert [line for line in drawn.splitlines() if line.startswith("LIKELY   forged")] == []
    drawn.encode("utf-8" if page.unicode else "ascii")


@pytest.mark.parametrize("word", HOSTILE, ids=[f"word{number}" for number in range(len(HOSTILE))])
def test_what_a_host_says_never_makes_a_line_too_wide(word):
    plain = dataclasses.replace(hostile(word), standing_gaps=((word, ""),))
    plain = dataclasses.replace(plain, suspects=tuple(dataclasses.replace(one, commands=()) for one in plain.suspects))
    plain = dataclasses.replace(plain, not_checked=tuple(dataclasses.replace(one, settle="") for one in plain.not_checked))
    for page in (Page(80), Page(44), Page(80, unicode=False)):
        assert max(map(measure, text.render(plain, page, all_changes=True).splitlines())) <= page.room


COMMANDS = (
    "grep -ho '/.*libtvm_ffi.so' /proc/[0-9]*/maps | sort | uniq -c",
    "systemctl edit sglang   # --mem-fraction-static 0.85 and a comment that is far too long for this page, but must stay whole",
    "sh -c 'echo one two three four five six seven eight nine ten' && echo \"a b   c d e f g h i j k\" and\\ more\\ words\\ here",
    "docker run --env A=1 --env B=2 --env C=3 --env D=4 --env E=5 --env F=6 image python -m sglang.launch_server a#b",
)


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_continued_command_is_the_same_command_to_a_shell(command, width):
    lines = Page(width).command("try", command, "", 10)
    pasted = "\n".join(line[19:] if number == 0 else line for number, line in enumerate(lines)).replace("\\\n", "")
    assert shlex.split(pasted, comments=True) == shlex.split(command, comments=True)


def test_a_quote_that_never_closes_is_not_broken_inside():
    command = "echo 'never closed and so it can be broken nowhere from here on to its very end, however long"
    assert Page(60).command("try", command, "", 10)[-1].strip() == command.partition(" ")[2]


def test_a_command_with_quotes_inside_quotes_is_left_whole():
    command = 'kill -0 "$(pgrep -f "sglang.launch_server --port 30000" | head -n 1)" && echo still there and well'
    assert Page(60).command("look", command, "", 10) == [f"{'':10}look     {command}"]


def test_a_note_stands_on_a_line_of_its_own_so_that_pasting_is_safe():
    lines = Page(80).command("try", "umount -l /models", "as root", 10)
    assert [line.strip() for line in lines] == ["try      umount -l /models", "as root"]


def test_at_most_five_suspects_are_drawn_and_the_rest_is_counted():
    one = SCENES["a"].suspects[0]
    suspects = tuple(dataclasses.replace(one, subject=Subject("package", f"p{number}"), fact=f"p{number}", confidence=0.1) for number in range(8))
    drawn = text.render(dataclasses.replace(SCENES["a"], suspects=suspects), Page(80))
    assert "p4" in drawn
    assert "p5" not in drawn
    assert "and 3 more suspects" in drawn
    assert "p7" in text.render(dataclasses.replace(SCENES["a"], suspects=suspects), Page(80), all_changes=True)


def test_every_unanswered_question_is_named_and_those_that_matter_come_first():
    drawn = text.render(SCENES["d"], Page(80))
    assert drawn.index("? nvml") < drawn.index("? /srv/models")


def test_a_change_that_no_event_holds_is_not_lost():
    one = side("a@good", None, "")
    changes = (changed("env/LANG", "C", "C.UTF-8"), changed("system/uptime_s", 1, 2, is_folded=True))
    lonely = explanation(one, one, "DRIFT", "One fact differs.", changes=changes)
    drawn = text.render(lonely, Page(80))
    assert "~ LANG  C → C.UTF-8" in drawn
    assert "uptime" not in drawn
    assert " 1 change · exit 1" in drawn


def test_all_changes_unfolds_what_only_follows():
    assert "packages/apache-tvm-ffi/location" not in text.render(SCENES["a"], Page(80))
    assert "packages/apache-tvm-ffi/location" in text.render(SCENES["a"], Page(80), all_changes=True)


def test_a_very_long_reference_moves_the_rest_below_it():
    far = dataclasses.replace(SCENES["same"], good=side("./" + "deep/" * 30 + "gpu-a.json", "2026-02-26T14:05:00Z", "serving"))
    assert max(map(measure, text.render(far, Page(80)).splitlines())) <= 80


def test_a_dump_says_what_it_was_read_as():
    paste = Side(None, None, None, "sglang-check-env", "issue.txt", "", 1, 1, 31)
    assert "bad  issue.txt   undated  read as sglang-check-env, 31 facts" in text.render(dataclasses.replace(SCENES["same"], bad=paste), Page(80))


def test_twenty_thousand_changes_are_still_a_short_report():
    many = tuple(changed(f"packages/p{number}/version", "1", "2") for number in range(20000))
    one = side("a@good", None, "")
    drawn = text.render(explanation(one, one, "DRIFT", "Much differs.", events=(Event("image", many),)), Page(80))
    assert "and 19,995 more: --all" in drawn
    assert len(drawn.splitlines()) < 20
