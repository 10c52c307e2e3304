"""A host's history as one self-contained HTML file: labels, versions and memory over time as SVG, and all changes in a table. Only lays out.

Snapshots stand side by side in their order, each as wide as the others; a fact that was not known is a hatched stretch, never a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.chronicle import Moment, Row, Step, fact_rows, has_changed, paths_that_fit, steps
from driftwatch.explain.words import count, listed
from driftwatch.model import Known, Unknown
from driftwatch.report import words
from driftwatch.report.page import Page
from driftwatch.report.web import render_page

VERSIONS = (
    "driver/version", "driver/module/version", "kernel/release", "cuda/driver", "python/version", "torch/version", "packages/*/version", "git/*/head",
    "servers/*/given/*", "servers/*/env/*", "env/*",
)
MEMORY = ("servers/*/log/free_before_load_gib", "servers/*/log/free_after_load_gib", "servers/*/log/kv_cache_gib", "servers/*/log/throughput_tok_s")
MOST_TRACKS = 24
MOST_CURVES = 6
LEAST_WIDTH, CELL, LETTER = 640, 74, 8
TOP, TRACK, CURVE, BAND_HEIGHT = 82, 48, 88, 60


def render_timeline(host: str, moments: Sequence[Moment], globs: Sequence[str], page: Page) -> str:  # noqa: ARG001  HTML has no width
    """Return the page: the facts that fit the globs, or without any versions, launch arguments and memory, as far as they changed."""
    cell = max(CELL, LEAST_WIDTH // len(moments))
    paths = paths_that_fit(moments, globs or VERSIONS)
    rows = fact_rows(moments, paths)
    numeric = fact_rows(moments, [path for path in paths_that_fit(moments, MEMORY) if "*" not in path]) if not globs else {}
    numeric = {path: found for path, found in numeric.items() if _numbers(found)}
    shown = [path for path in paths if globs or has_changed(rows[path])][:MOST_TRACKS]
    tracks = [{"name": words.say_path(path), "y": TOP + TRACK * at, "bands": _bands(rows[path], path, cell)} for at, path in enumerate(shown)]
    start = TOP + TRACK * len(tracks)
    curves = [_curve(path, found, start + CURVE * at, cell) for at, (path, found) in enumerate(list(numeric.items())[:MOST_CURVES])]
    done = steps(moments)
    values = {
        "host": host, "count": count(len(moments), "snapshot"), "summary": _summary(host, moments, done), "tone": _tone(moments[-1]),
        "width": cell * len(moments) + 8, "height": start + CURVE * len(curves), "tracks": tracks, "curves": curves,
        "days": [{"x": 4 + cell * at, "says": _day(moments, at)} for at in range(len(moments)) if _day(moments, at)],
        "flags": [_flag(moment, 4 + cell * at, cell) for at, moment in enumerate(moments)], "steps": [_step(one) for one in reversed(done)],
    }
    return render_page("timeline.html.j2", f"driftwatch: history of {host}", values, ("timeline.css",))


def _summary(host: str, moments: Sequence[Moment], done: Sequence[Step]) -> str:
    changed = sum(bool(one.changes) for one in done)
    span = f"from {words.say_time(moments[0].taken_at)} to {words.say_time(moments[-1].taken_at)}"
    return f"{host}: {count(len(moments), 'snapshot')} {span}, changes in {changed:,} of {count(len(done), 'step')}."


def _tone(newest: Moment) -> str:
    return {"good": "same", "bad": "bad"}.get(newest.state, "unknown")


def _day(moments: Sequence[Moment], at: int) -> str:
    """Return the day of a snapshot, where it is another than that of the one before."""
    day = moments[at].taken_at[:10]
    return day if at == 0 or moments[at - 1].taken_at[:10] != day else ""


def _flag(moment: Moment, x: int, cell: int) -> dict[str, Any]:
    names = " ".join(moment.tags) or moment.state
    whole = f"{moment.ref}, {moment.taken_at}: {names or 'nothing is said'}"
    return {"x": x, "wide": cell - 3, "state": moment.state, "says": _fits(names, cell), "whole": whole}


def _fits(text: str, wide: int) -> str:
    """Return as much of a text as has room in so many pixels."""
    room = (wide - 14) // LETTER
    return text if len(text) <= room else text[: room - 1] + "…" if room > 3 else ""


def _bands(rows: Sequence[Row], path: str, cell: int) -> list[dict[str, Any]]:
    """Return one stretch for each run of the same answer."""
    bands: list[dict[str, Any]] = []
    start, is_odd = 0, False
    for at in range(1, len(rows) + 1):
        if at < len(rows) and rows[at].value == rows[start].value:
            continue
        row, wide = rows[start], cell * (at - start)
        says = words.say_answer(row.value, path)
        is_odd = is_odd != (row.since is not None)
        whole = f"{words.say_path(path)}: {says}, from {words.say_time(row.moment.taken_at)}{f', {row.value.reason}' if isinstance(row.value, Unknown) else ''}"
        shown = "" if isinstance(row.value, Unknown) else _fits(says, wide)
        bands.append({"x": 4 + cell * start, "wide": wide - 3, "says": shown, "whole": whole, "is_unknown": isinstance(row.value, Unknown), "is_odd": is_odd})
        start = at
    return bands


def _numbers(rows: Sequence[Row]) -> dict[int, float]:
    """Return the values that are numbers, by the place of their snapshot."""
    found = ((at, row.value.value) for at, row in enumerate(rows) if isinstance(row.value, Known))
    return {at: float(value) for at, value in found if isinstance(value, (int, float)) and not isinstance(value, bool)}


def _curve(path: str, rows: Sequence[Row], y: int, cell: int) -> dict[str, Any]:
    """Return a curve's dots and its lines, broken where a value is not known."""
    numbers = _numbers(rows)
    least, most = min(numbers.values()), max(numbers.values())
    scale = (BAND_HEIGHT - 8) / ((most - least) or 1)
    places = {at: (4 + cell * at + cell // 2, round(y + BAND_HEIGHT - 4 - (value - least) * scale)) for at, value in numbers.items()}
    lines: list[list[str]] = []
    for at in sorted(places):
        if not lines or at - 1 not in places:
            lines.append([])
        lines[-1].append(f"{places[at][0]},{places[at][1]}")
    dots = [{"x": x, "y": dot_y, "says": f"{rows[at].moment.taken_at}: {numbers[at]:g}"} for at, (x, dot_y) in places.items()]
    return {"name": path, "y": y, "lines": [" ".join(points) for points in lines if len(points) > 1], "dots": dots, "most": f"{most:g}", "least": f"{least:g}"}


def _step(step: Step) -> dict[str, Any]:
    events = listed((f"{event.title} ({len(event.changes):,})" for event in step.events), 4)
    return {
        "taken": words.say_time(step.newer.taken_at), "ref": step.newer.ref, "state": step.newer.state, "says": events or "no change",
        "rows": [_row(change) for change in step.changes],
    }


def _row(change: Change) -> dict[str, Any]:
    path = words.say_path(change.path)
    good, bad = (words.say_answer(one, change.path) for one in (change.good, change.bad))
    return {"mark": words.MARKS[change.kind], "path": path, "good": good, "bad": bad, "words": f"{change.path} {path} {good} {bad}".lower()}
