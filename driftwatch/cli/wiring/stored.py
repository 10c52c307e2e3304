"""What `list` shows: rows about hosts and about snapshots, from names alone. Opens no snapshot file."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.report.table import columns
from driftwatch.settings import utc_now
from driftwatch.store.bounded import all_of
from driftwatch.store.labels import label_history, label_names, labels_by_file
from driftwatch.store.records import Label
from driftwatch.store.references import unknown_host
from driftwatch.store.seam import Store

_AGE = re.compile(r"(\d{1,5})([hdw])\Z")
HOSTS_AT_ONCE = 16
HOURS = {"h": 1, "d": 24, "w": 168}
Row = dict[str, Any]


def parse_age(text: str) -> str:
    """Return the time that is so long ago, as ``2026-03-04T03:12:00Z``. Raises UsageFault for what is no age."""
    found = _AGE.match(text)
    if found is None:
        raise UsageFault(f"--since {text}: no age", do="a number with h, d or w, as in 12h, 30d, 8w")
    now = datetime.strptime(utc_now(), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return (now - timedelta(hours=int(found[1]) * HOURS[found[2]])).strftime("%Y-%m-%dT%H:%M:%SZ")


def host_rows(store: Store, oldest: str) -> list[Row]:
    """Return one row a host: how many snapshots, the newest, the tags."""
    return [row for row in all_of(partial(_host_row, store, oldest), store.hosts(), HOSTS_AT_ONCE) if row]


def _host_row(store: Store, oldest: str, host: str) -> Row:
    """Return the row of a host, empty where nothing of it is so new."""
    entries = [entry for entry in store.entries(host) if entry.name.taken_at >= oldest]
    if not entries:
        return {}
    return {"host": host, "snapshots": len(entries), "newest": entries[-1].name.taken_at, "tags": list(label_names(store, host))}


def snapshot_rows(store: Store, host: str, oldest: str) -> list[Row]:
    """Return one row a snapshot of a host, newest first, with the tags it has and had. Raises StoreError for a host that has none."""
    entries = store.entries(host)
    if not entries:
        raise unknown_host(store, host, "last")
    tags, stays = labels_by_file(store, host), _stays(label_history(store, host))
    return [
        {"ref": entry.ref, "taken_at": entry.name.taken_at, "partial": entry.name.is_partial, "tags": tags.get(str(entry.name), []),
         "tag_history": stays.get(str(entry.name), [])}
        for entry in reversed(entries)
        if entry.name.taken_at >= oldest
    ]


def _stays(history: Sequence[Label]) -> dict[str, list[dict[str, str]]]:
    """Return by snapshot file how long each tag stood on it: since when, by whom, why, and until when ("" while it does)."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    standing: dict[str, dict[str, str]] = {}
    for one in history:
        if one.name in standing:
            standing.pop(one.name)["until"] = one.set_at
        if one.file:
            standing[one.name] = {"tag": one.name, "since": one.set_at, "by": one.by, "note": one.note, "until": ""}
            found[one.file].append(standing[one.name])
    return found


def layout(rows: list[Row], desk: Desk, since: str | None = None) -> str:
    """Return the rows as JSON or as a table."""
    if desk.given.format == "json":
        return json.dumps(rows, indent=1) + "\n"
    if not rows:
        desk.say(f"nothing of the last {since} is stored in {desk.store.place}" if since else
                 f"nothing is stored in {desk.store.place}; the first: driftwatch snapshot HOST --label good")
    return columns([_cells(row) for row in rows], desk.page)


def _cells(row: Row) -> list[str]:
    tags = " ".join(row["tags"])
    if "host" in row:
        return [row["host"], f"{row['snapshots']:,}", row["newest"], tags]
    said = "; ".join(_stay(one) for one in row["tag_history"] if one["until"] or one["tag"] in row["tags"])
    told = [one["tag"] for one in row["tag_history"] if not one["until"]]
    untold = " ".join(tag for tag in row["tags"] if tag not in told)
    return [row["ref"], row["taken_at"], " ".join(one for one in ("partial" * row["partial"], untold, said) if one)]


def _stay(one: dict[str, str]) -> str:
    by, note = f" by {one['by']}" if one["by"] else "", f" ({one['note']})" if one["note"] else ""
    return f"was {one['tag']} {one['since']} to {one['until']}{by}{note}" if one["until"] else f"{one['tag']} since {one['since']}{by}{note}"
