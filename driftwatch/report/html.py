"""An explanation as one self-contained HTML file: light and dark, printable, readable without its script. Only lays out (templates/diff.html.j2)."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import Command, Event, Explanation, NotChecked, Side, Sum, Suspect
from driftwatch.explain.words import count
from driftwatch.report import words
from driftwatch.report.bars import KEYS, bars
from driftwatch.report.page import Page
from driftwatch.report.web import render_page

LONGEST_VALUE = 2000
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)")
_SPANS = ((86400 * 2, 86400, "day"), (3600 * 2, 3600, "hour"), (60, 60, "minute"))


def render(explanation: Explanation, page: Page) -> str:  # noqa: ARG001  every report takes a page; HTML has no width
    """Return the whole page; every change is in it, since it folds."""
    told = explanation
    values = {
        "word": told.word, "verdict": told.verdict, "doubts": told.doubts[1:], "good": _side(told.good), "bad": _side(told.bad),
        "gap": say_gap(told.good.taken_at, told.bad.taken_at), "asked": _asked(told), "suspects": [_suspect(one) for one in told.suspects],
        "ruled_out": [{"what": words.say_subject(one.subject), "because": one.because} for one in told.ruled_out],
        "not_checked": _not_checked(told.not_checked),
        "events": [_event(one) for one in (*told.events, *words.alone(told, is_whole=True))], "gaps": told.standing_gaps, "counts": words.say_counts(told),
    }
    return render_page("diff.html.j2", f"driftwatch: {told.bad.ref}, {told.word}", values)


def say_gap(good: str | None, bad: str | None) -> str:
    """Return how much later the second of two UTC times is, in its largest whole unit; empty where one is not known."""
    times = [_TIME.match(one or "") for one in (good, bad)]
    first, second = (calendar.timegm(tuple(map(int, found.groups()))) if found else None for found in times)
    if first is None or second is None:
        return ""
    span = abs(second - first)
    unit = next(((size, name) for least, size, name in _SPANS if span >= least), None)
    return "at once" if unit is None else f"{count(span // unit[0], unit[1])} {'later' if second > first else 'earlier'}"


def _side(side: Side) -> dict[str, Any]:
    return {
        "ref": side.ref, "outcome": words.say_side(side) if side.outcome or side.source not in ("snapshot", "recorded-host") else "",
        "taken": words.say_time(side.taken_at), "answered": side.answered, "planned": side.planned, "id": side.id or "",
    }


def _asked(explanation: Explanation) -> list[dict[str, Any]]:
    told = [(one, *words.say_asked(one, len(explanation.suspects))) for one in explanation.asked]
    return [{"mark": mark, "says": says, "settle": _settling(one.settle)} for one, mark, says in told]


def _suspect(suspect: Suspect) -> dict[str, Any]:
    what, good, arrow, bad = words.say_sides(suspect)
    carrier = f"came with: {suspect.carrier}" if suspect.carrier and not suspect.carrier.startswith("came with") else suspect.carrier
    return {
        "strength": suspect.strength, "layer": suspect.layer, "what": what, "good": good, "bad": bad, "arrow": arrow, "carrier": carrier,
        "because": [{"sign": term.sign, "says": term.says} for term in suspect.because], "commands": suspect.commands,
        "sum": None if suspect.sum is None else _sum(suspect.sum),
    }


def _sum(work: Sum) -> dict[str, Any]:
    drawn = bars(work)
    rows = [
        {"formula": formula, "outcome": outcome, "remark": remark, "is_short": outcome.startswith(("\N{MINUS SIGN}", "-")), "bar": bar}
        for (formula, outcome, remark), bar in zip(work.rows, drawn, strict=True)
    ]
    kinds = {part.kind for bar in drawn if bar is not None for part in bar.parts} | {"edge"}
    total = max((bar.end for bar in drawn if bar is not None), default=0)
    return {"rows": rows, "caption": work.caption, "total": total, "legend": [one for one in KEYS if one[0] in kinds]}


def _not_checked(entries: Sequence[NotChecked]) -> dict[str, list[dict[str, Any]]]:
    """Return the open questions: those that matter, and those that do not; nothing at all where there are none."""
    found = {"matters": [_open(one) for one in entries if one.matters], "idle": [_open(one) for one in entries if not one.matters]}
    return found if entries else {}


def _open(one: NotChecked) -> dict[str, Any]:
    what, _, why = words.say_unanswered(one).partition(": ")
    weight = words.say_weight(one) if one.matters else ""
    return {"what": what, "why": why, "detail": one.detail, "weight": weight, "settle": _settling(one.settle)}


def _settling(command: str) -> Sequence[Command]:
    return (Command("retry" if "driftwatch snapshot" in command else "look", command),) if command else ()


def _event(event: Event) -> dict[str, Any]:
    return {"title": event.title, "rows": [_row(change) for change in sorted(event.changes, key=lambda change: change.is_folded)]}


def _row(change: Change) -> dict[str, Any]:
    path = words.say_path(change.path)
    good, bad = (words.say_answer(one, change.path)[:LONGEST_VALUE] for one in (change.good, change.bad))
    return {"mark": words.MARKS[change.kind], "path": path, "good": good, "bad": bad, "words": f"{change.path} {path} {good} {bad}".lower()}
