"""A host's history as text and as JSON: a fact's values by time, what changed with it, all changes by snapshot, and the window. Only lays out; newest first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from driftwatch.explain.chronicle import Cleared, Moment, Row, Step, Window
from driftwatch.explain.explanation import Event
from driftwatch.explain.words import count, listed
from driftwatch.model import Answer, Known, Unknown
from driftwatch.report import words
from driftwatch.report.page import Page, measure, pad

VALUE_COLUMNS = 24
SHOWN_CHANGES = 8
SHOWN_EVENTS = 3
SHOWN_CLEARED = 20
STYLES = {"good": "good", "bad": "bad"}


def facts_as_text(found: Mapping[str, Sequence[Row]], page: Page, *, is_whole: bool) -> str:
    """Return one block a fact, its rows newest first; only the rows that say something new, unless ``is_whole``. Facts that never changed have a line."""
    blocks = []
    for path, rows in found.items():
        heading = [page.paint("head", row) for row in page.wrap(words.say_path(path), "", "  ")] if len(found) > 1 else []
        blocks.append("\n".join(line.rstrip() for line in [*heading, *_block(rows, path, page, is_whole=is_whole)]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _block(rows: Sequence[Row], path: str, page: Page, *, is_whole: bool) -> list[str]:
    shown = [at for at in range(len(rows)) if is_whole or _says_something(rows, at)]
    said = {at: words.say_answer(rows[at].value, path) if isinstance(rows[at].value, Known) else "?" for at in shown}
    values = min(VALUE_COLUMNS, max(measure(page.say(one)) for one in said.values()))
    refs = max(measure(page.say(_ref(rows[at].moment))) for at in shown)
    lines: list[str] = []
    for at in reversed(shown):
        row = rows[at]
        lead = _lead(row.moment)
        tail = f"{pad(page.say(_ref(row.moment)), refs)}  "
        if measure(page.say(said[at])) <= values and measure(lead + tail) + values < page.room * 3 // 4:
            start = f"{lead}{pad(page.say(said[at]), values)}  {tail}"
            drawn = page.wrap(_remark(rows, at), start, " " * measure(start))
        else:
            drawn = page.wrap(f"{said[at]}  {_ref(row.moment)}  {_remark(rows, at)}", lead, " " * (measure(lead) if page.room >= 60 else 6))
        lines += _with_state(drawn, row.moment, page)
    return lines


def _lead(moment: Moment) -> str:
    """Return how a line about a moment begins: its time, then whether the service was good."""
    return f"{words.say_time(moment.taken_at)}  {moment.state:<4}  "


def _with_state(lines: list[str], moment: Moment, page: Page) -> list[str]:
    """Return lines that begin with a moment's lead, its state in colour."""
    start = len(_lead(moment)) - 6
    first = lines[0]
    return [first[:start] + page.paint(STYLES[moment.state], first[start : start + 4]) + first[start + 4 :], *lines[1:]] if moment.state else lines


def _says_something(rows: Sequence[Row], at: int) -> bool:
    """Tell whether a row is the newest, tagged, the first of its value, or the first of those that are not known."""
    row = rows[at]
    if at == len(rows) - 1 or row.moment.tags or row.since is not None or at == 0:
        return True
    return isinstance(row.value, Unknown) and rows[at - 1].value != row.value


def _ref(moment: Moment) -> str:
    """Return the shortest name of a moment: by its tag, else by its digits."""
    host, _, digits = moment.ref.rpartition("@")
    return f"{host}@{moment.tags[0] if moment.tags else digits[:7]}"


def _remark(rows: Sequence[Row], at: int) -> str:
    """Return why a value is not known, or that it is the first of its kind and what came with it, or since when it is the same."""
    row = rows[at]
    if isinstance(row.value, Unknown):
        return f"{words.say_status(row.value.status)}{': ' if row.value.reason else ''}{row.value.reason}"
    if row.since is not None:
        return f"first; {_with(row.since)}"
    began = at
    while began and rows[began].since is None and rows[began - 1].value == row.value:
        began -= 1
    is_last = at + 1 == len(rows) or rows[at + 1].value != row.value
    return f"same since {rows[began].moment.taken_at[:10]}" if began < at and is_last else ""


def _with(step: Step) -> str:
    """Return what changed in a step, by its largest events, and how long it was."""
    told = [f"{event.title} ({len(event.changes):,})" for event in step.events]
    return f"with it: {listed(told, SHOWN_EVENTS)}" if told else "nothing else changed"


def steps_as_text(found: Sequence[Step], first: Moment, page: Page) -> str:
    """Return one line a snapshot, newest first: how many facts changed since the one before it, and by what."""
    rows = [(one.newer, count(len(one.changes), "change") + (f": {_of_events(one.events)}" if one.events else "")) for one in reversed(found)]
    refs = max(measure(page.say(_ref(moment))) for moment, _ in [*rows, (first, "")])
    lines = []
    for moment, text in [*rows, (first, "the oldest that is stored")]:
        lead = f"{_lead(moment)}{pad(page.say(_ref(moment)), refs)}  "
        is_narrow = measure(lead) > page.room * 2 // 3
        drawn = page.wrap(f"{_ref(moment)}  {text}", _lead(moment), " " * 6) if is_narrow else page.wrap(text, lead, " " * measure(lead))
        lines += _with_state(drawn, moment, page)
    return "".join(line.rstrip() + "\n" for line in lines)


def _of_events(found: Sequence[Event]) -> str:
    return listed((f"{event.title} ({len(event.changes):,})" for event in found), SHOWN_EVENTS)


def window_as_text(found: Window, page: Page, *, is_whole: bool) -> str:
    """Return the last good and the first bad moment, what changed between, what was not known, and what time rules out."""
    step, refs = found.step, max(measure(page.say(_ref(one))) for one in (found.step.older, found.step.newer))
    lines = []
    for title, moment, style in (("last good", step.older, "good"), ("first bad", step.newer, "bad")):
        first, *more = page.wrap(f"{pad(_ref(moment), refs)}  {words.say_time(moment.taken_at)}", f"{title}  ", " " * 11)
        lines += [page.paint(style, title) + first[len(title):], *more]
    if found.unsaid:
        names = listed((_ref(one) for one in found.unsaid), 3)
        lines += page.wrap(f"between them {count(len(found.unsaid), 'snapshot')} of which nobody said how the service did: {names}", "?          ", " " * 11)
    lines += ["", page.paint("head", f"CHANGED BETWEEN THEM ({len(step.changes):,})")]
    for event in step.events:
        lines += _event(event, page, is_whole=is_whole)
    lines += _open(step, page) + _cleared(found.cleared, page, is_whole=is_whole)
    look = f"driftwatch diff {_ref(step.older)} {_ref(step.newer)}"
    return "".join(line.rstrip() + "\n" for line in [*lines, "", *page.command("look", look, "which of them did it", 0)])


def _event(event: Event, page: Page, *, is_whole: bool) -> list[str]:
    lead = f"{len(event.changes):>4}  "
    lines = page.wrap(event.title, lead, " " * len(lead))
    shown = event.changes if is_whole else event.changes[:SHOWN_CHANGES]
    for change in shown:
        good, bad = (words.say_answer(one, change.path) for one in (change.good, change.bad))
        lines += page.wrap(f"{words.say_path(change.path)}  {good} → {bad}", f"      {words.MARKS[change.kind]} ", " " * 10)
    return lines + ([f"      and {len(event.changes) - len(shown):,} more: --all"] if len(shown) < len(event.changes) else [])


def _open(step: Step, page: Page) -> list[str]:
    if not step.open:
        return []
    names = listed((words.say_path(change.path) for change in step.open), 8)
    return ["", page.paint("head", f"NOT KNOWN ON A SIDE ({len(step.open):,})"), *page.wrap(names, " ? ", " " * 5)]


def _cleared(found: Sequence[Cleared], page: Page, *, is_whole: bool) -> list[str]:
    if not found:
        return []
    lines = ["", *(page.paint("head", row) for row in page.wrap(f"CHANGED EARLIER, AND STILL GOOD AFTERWARDS: TIME RULES OUT ({len(found):,})", "", "  "))]
    shown = found if is_whole else found[:SHOWN_CLEARED]
    for one in shown:
        good, bad = (words.say_answer(side, one.change.path) for side in (one.change.good, one.change.bad))
        text = f"{words.say_path(one.change.path)}  {good} → {bad}, good at {_ref(one.step.newer)}, {words.say_time(one.step.newer.taken_at)}"
        lines += page.wrap(text, " = ", " " * 5)
    return lines + ([f"   and {len(found) - len(shown):,} more: --all"] if len(shown) < len(found) else [])


def facts_as_json(found: Mapping[str, Sequence[Row]]) -> str:
    """Return every row of every fact, oldest first, with the paths that changed together with it."""
    return json.dumps({path: [_row(row) for row in rows] for path, rows in found.items()}, indent=1) + "\n"


def _row(row: Row) -> dict[str, Any]:
    with_it = {} if row.since is None else {"since": row.since.older.ref, "with": [change.path for change in row.since.changes]}
    return {**_moment(row.moment), "value": _answer(row.value), "is_new": row.since is not None, **with_it}


def _moment(moment: Moment) -> dict[str, Any]:
    return {"ref": moment.ref, "taken_at": moment.taken_at, "tags": list(moment.tags), "state": moment.state or None}


def _answer(one: Answer) -> Any:
    return {"unknown": one.status, "reason": one.reason} if isinstance(one, Unknown) else one.value


def steps_as_json(found: Sequence[Step], first: Moment) -> str:
    """Return every snapshot, oldest first, with what changed since the one before it."""
    rows = [{**_moment(first), "changes": []}, *({**_moment(one.newer), "changes": [_change(change) for change in one.changes]} for one in found)]
    return json.dumps(rows, indent=1) + "\n"


def _change(change: Any) -> dict[str, Any]:
    return {"path": change.path, "good": _answer(change.good), "bad": _answer(change.bad), "class": change.kind}


def window_as_json(found: Window) -> str:
    """Return the window: both moments, what changed between, what was not known, and what time rules out."""
    step = found.step
    document = {
        "last_good": _moment(step.older), "first_bad": _moment(step.newer), "unsaid": [_moment(one) for one in found.unsaid],
        "changed": [_change(change) for change in step.changes], "open": [_change(change) for change in step.open],
        "ruled_out_by_time": [{**_change(one.change), "changed_after": _moment(one.step.older), "good_at": _moment(one.step.newer)} for one in found.cleared],
    }
    return json.dumps(document, indent=1) + "\n"
