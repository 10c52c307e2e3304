"""What `peers` found as one self-contained HTML file, on the same page as an audit: the ways of differing, then hosts by component. Only lays out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwatch.compare.peers import PeerFact
from driftwatch.explain.explanation import Command
from driftwatch.explain.words import count
from driftwatch.report.audit.html import racks
from driftwatch.report.audit.night import COLUMNS, Row, State
from driftwatch.report.peers import Lettered, PeersFound, hosts_of, say_outlier, say_peer, say_share
from driftwatch.report.peers_json import state_of
from driftwatch.report.peers_text import say_counts
from driftwatch.report.web import render_page
from driftwatch.report.words import say_path

STATES: Mapping[str, State] = {"same": "same", "odd": "drift", "differs": "drift", "unseen": "unseen", "unreachable": "unreachable"}
SHOWN_OUTLIERS = 40
SHOWN_SPLITS = 40


def render_html(found: PeersFound) -> str:
    """Return the whole page."""
    ways = {one.letter: one for one in found.ways}
    rows = [Row(row.host, STATES[state_of(ways.get(row.way))], row.way) for row in found.rows]
    values = {
        "kind": "peers", "word": found.word, "verdict": found.verdict, "head": f"{count(found.peers.hosts, 'host')} against the majority",
        "sides": ("most hosts", "here"), "disagrees": "its own devices differ", "tiles": _tiles(rows),
        "notes": [_split(fact) for fact in found.peers.splits[:SHOWN_SPLITS]],
        "ways": [_way(one, found.peers.unreachable) for one in found.ways], "columns": list(COLUMNS.items()), "counts": say_counts(found),
        **racks(rows, {letter: one.cells for letter, one in ways.items()}),
    }
    return render_page("fleet.html.j2", f"driftwatch peers: {found.word}", values, ("fleet.css",))


def _tiles(rows: list[Row]) -> list[tuple[str, int, str]]:
    says: tuple[tuple[State, str], ...] = (
        ("same", "as the majority"), ("drift", "odd or different"), ("unseen", "not seen whole"), ("unreachable", "not reached"),
    )
    return [(state, sum(row.state == state for row in rows), text) for state, text in says]


def _split(fact: PeerFact) -> str:
    return f"no majority: {say_path(fact.path)}: " + " against ".join(f"{many} with {say_peer(value)}" for value, many in fact.values[:4])


def _way(one: Lettered, unreachable: int) -> dict[str, Any]:
    plain = [outlier for outlier in one.way.outliers if outlier.follows is None]
    suspects = [
        {"strength": suspect.strength, "says": suspect.verdict or f"{suspect.subject.kind} {suspect.subject.name}",
         "because": [term.says for term in suspect.because if term.weight > 0]} for suspect in one.odd.suspects
    ]
    left = len(one.way.outliers) - min(len(plain), SHOWN_OUTLIERS)
    return {
        "letter": one.letter, "state": STATES[state_of(one)], "names": hosts_of(one.way), "count": count(len(one.way.hosts), "host"), "is_new": False,
        "says": _says(one), "suspects": suspects, "rest": f"{count(left, 'more fact')}" if left else "",
        "differences": [
            {"mark": outlier.mark, "path": say_path(outlier.fact.path), "good": say_share(outlier.fact, unreachable),
             "bad": say_outlier(outlier, unreachable).partition(" · ")[0]} for outlier in plain[:SHOWN_OUTLIERS]
        ],
        "silent": [{"what": what, "status": status.replace("_", " "), "reason": ""} for what, status in one.way.unknown],
        "look": (Command("look", f"driftwatch diff {one.odd.against} {one.odd.ref}"),) if one.odd.against else (),
    }


def _says(one: Lettered) -> str:
    if one.way.is_unreachable:
        return one.way.reason
    if one.odd.suspects:
        return one.odd.suspects[0].verdict
    return f"{count(len(one.way.outliers), 'fact')} different, and no rule finds a cause in it" if one.way.outliers else "seen in part"
