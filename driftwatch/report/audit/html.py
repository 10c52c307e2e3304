"""An audit as one self-contained HTML file: the ways of differing, then hosts by component in groups of neighbours. Only lays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from driftwatch.explain.explanation import Command
from driftwatch.explain.words import count
from driftwatch.report.audit.night import COLUMNS, SAME, Night, Row, State, Way
from driftwatch.report.audit.text import last_line, say_notes, say_span, sentence
from driftwatch.report.page import Page
from driftwatch.report.short_names import fold, stem
from driftwatch.report.web import render_page
from driftwatch.report.words import say_time

MOST_ROWS = 2000
MOST_CHIPS = 400
STATES: Mapping[State, str] = {"same": "same", "drift": "drift changed", "unseen": "unseen no answer", "unreachable": "unreachable"}


def render(night: Night, _page: Page) -> str:
    """Return the whole page."""
    head = f"{say_time(night.began_at)} · against {night.against} · took {say_span(night.elapsed_s)}"
    values = {
        "kind": "audit", "word": night.word, "verdict": sentence(night), "head": head, "sides": ("baseline", "now"), "disagrees": "disagrees with itself",
        "tiles": _tiles(night), "notes": [says for _, says in say_notes(night)], "ways": [_way(way) for way in night.told], "columns": list(COLUMNS.items()),
        "counts": last_line(night), **racks(night.rows, {way.letter: way.cells for way in night.ways}),
    }
    return render_page("fleet.html.j2", f"driftwatch audit: {night.word}", values, ("fleet.css",))


def racks(rows: Iterable[Row], cells: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return the hosts by neighbourhood with their marks (by the letter of their way), how many are not drawn, and the neighbourhoods without a mark."""
    groups = _racks(rows)
    marked = {name: found for name, found in groups.items() if any(row.way for row in found)}
    shown, cut = _first(marked)
    return {
        "racks": [_rack(name, found, cells) for name, found in shown.items()], "cut": f"{count(cut, 'host')} not drawn" if cut else "",
        "clean_racks": [", ".join(fold(row.host for row in found)) for name, found in groups.items() if name not in marked][:MOST_CHIPS],
    }


def _tiles(night: Night) -> list[tuple[str, int, str]]:
    ways = sum(way.state == "drift" for way in night.ways)
    return [
        ("same", night.count("same"), "the same as the baseline"), ("drift", night.count("drift"), f"drifted, in {count(ways, 'way')}"),
        ("unseen", night.count("unseen", "no baseline", "not asked"), "not compared whole"), ("unreachable", night.count("unreachable"), "unreachable"),
    ]


def _racks(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows by the part of the name before its last number: neighbours in a rack mostly share it."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(stem(row.host), []).append(row)
    return found


def _first(racks: Mapping[str, list[Row]]) -> tuple[dict[str, list[Row]], int]:
    """Return as many groups of hosts as a browser draws quickly, those that differ first in each, and how many hosts are left out."""
    shown: dict[str, list[Row]] = {}
    room, total = MOST_ROWS, sum(map(len, racks.values()))
    for name, rows in racks.items():
        if room > 0:
            shown[name] = sorted(sorted(rows, key=lambda row: not row.way)[:room], key=lambda row: row.host)
            room -= len(shown[name])
    return shown, total - (MOST_ROWS - room)


def _rack(name: str, rows: list[Row], cells: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    differing = sum(bool(row.way) for row in rows)
    return {"name": name, "says": f"{differing} of {count(len(rows), 'host')}", "hosts": [_host(row, cells.get(row.way, {})) for row in rows]}


def _host(row: Row, cells: Mapping[str, str]) -> dict[str, Any]:
    marked = [long for column, long in COLUMNS.items() if cells.get(column, SAME) != SAME]
    said = f"{row.host} {STATES.get(row.state, row.state)} {' '.join(marked)}"
    return {
        "name": row.host, "letter": row.way, "is_dead": row.state == "unreachable", "words": said.lower(),
        "cells": [(long, cells.get(column, SAME)) for column, long in COLUMNS.items()],
    }


def _way(way: Way) -> dict[str, Any]:
    left = way.total - len(way.differences)
    return {
        **asdict(way), "names": ", ".join(fold(way.hosts)), "count": count(len(way.hosts), "host"), "says": way.says or "seen in part",
        "rest": f"{count(left, 'more difference')}" if left > 0 else "", "look": (Command("look", way.look),) if way.look else (),
    }
