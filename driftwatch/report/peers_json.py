"""What `peers` found as one JSON object, format 1 (docs/peers.md): strict, ASCII, the same bytes for the same answer."""

from __future__ import annotations

import json
from typing import Any

from driftwatch.compare.peers import Outlier, PeerFact
from driftwatch.compare.peers_lines import DEVICES
from driftwatch.report import json as explanations
from driftwatch.report.json import _printable
from driftwatch.report.peers import Lettered, PeersFound, Row
from driftwatch.report.short_names import fold

FORMAT = 1
KIND = "driftwatch peers"


def render_json(found: PeersFound) -> str:
    """Return the answer as one JSON object, ending with one line feed."""
    return json.dumps(_printable(document(found)), ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def document(found: PeersFound) -> dict[str, Any]:
    """Return the answer as the JSON object of format 1."""
    ways = {one.letter: one for one in found.ways}
    peers = found.peers
    return {
        "format": FORMAT, "kind": KIND, "against": "majority", "word": found.word, "verdict": found.verdict, "exit_code": found.exit_code,
        "hosts": [_row(row, ways.get(row.way)) for row in found.rows],
        "ways": [_way(one) for one in found.ways],
        "facts": [_fact(one) for one in peers.facts],
        "no_majority": [_fact(one) for one in peers.splits],
        "agreed": [_fact(one) for one in peers.agreed],
        "different_everywhere": list(peers.noise),
        "same": peers.same,
    }


def _row(row: Row, way: Lettered | None) -> dict[str, Any]:
    reason = way.way.reason if way is not None else ""
    return {"host": row.host, "ref": row.ref, "taken_at": row.taken_at, "state": state_of(way), "way": row.way, "reason": reason}


def state_of(way: Lettered | None) -> str:
    """Return how the hosts of a way stand: same, odd, differs, unseen or unreachable."""
    if way is None:
        return "same"
    if way.way.is_unreachable:
        return "unreachable"
    if not way.way.outliers:
        return "unseen"
    return "odd" if way.odd.is_odd else "differs"


def _way(one: Lettered) -> dict[str, Any]:
    explanation = one.odd.explanation
    told = explanations.document(explanation) if explanation is not None else {"suspects": [], "not_checked": []}
    return {
        "letter": one.letter, "state": state_of(one), "hosts": list(one.way.hosts), "short": list(fold(one.way.hosts)), "cells": dict(one.cells),
        "looked_at": one.odd.ref, "beside": one.odd.against, "look": f"driftwatch diff {one.odd.against} {one.odd.ref}" if one.odd.against else "",
        "suspects": told["suspects"], "not_checked": told["not_checked"], "outliers": [_outlier(outlier) for outlier in one.way.outliers],
        "unknown": [{"what": what, "status": status} for what, status in one.way.unknown], "reason": one.way.reason,
    }


def _outlier(one: Outlier) -> dict[str, Any]:
    fact = one.fact
    return {
        "path": fact.path, "mark": one.mark, "value": _value(one.value), "sharing": one.sharing, "majority": _value(fact.majority), "agree": fact.agree,
        "known": fact.known, "unknown": fact.unknown, "surprise": one.surprise, "devices": list(one.devices), "follows": one.follows,
    }


def _fact(one: PeerFact) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": one.path, "majority": _value(one.majority), "has_majority": one.has_majority, "agree": one.agree, "known": one.known, "unknown": one.unknown,
        "values": [{"value": _value(value), "count": many} for value, many in one.values],
    }
    for entry, hosts in zip(told["values"], one.holders, strict=False):
        entry["hosts"] = list(hosts)
    return told


def _value(value: Any) -> Any:
    """Return a value; of devices of one host that differ, a list of values with their counts."""
    if isinstance(value, dict) and set(value) == {DEVICES}:
        return {DEVICES: [{"value": one, "count": many} for many, one in value[DEVICES]]}
    return value
