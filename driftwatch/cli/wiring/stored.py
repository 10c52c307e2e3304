"""What `list` shows: rows about hosts and about snapshots, from names alone. Opens no snapshot file."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.report.table import columns
from driftwatch.settings import utc_now
from driftwatch.store.files import FileStore
from driftwatch.store.labels import label_names, labels_by_file
from driftwatch.store.references import unknown_host

_AGE = re.compile(r"(\d{1,5})([hdw])\Z")
HOURS = {"h": 1, "d": 24, "w": 168}
Row = dict[str, Any]


def parse_age(text: str) -> str:
    """Return the time that is so long ago, as ``2026-03-04T03:12:00Z``. Raises UsageFault for what is no age."""
    found = _AGE.match(text)
    if found is None:
        raise UsageFault(f"--since {text}: no age", do="a number with h, d or w, as in 12h, 30d, 8w")
    now = datetime.strptime(utc_now(), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return (now - timedelta(hours=int(found[1]) * HOURS[found[2]])).strftime("%Y-%m-%dT%H:%M:%SZ")


def host_rows(store: FileStore, oldest: str) -> list[Row]:
    """Return one row a host: how many snapshots, the newest, the tags."""
    rows = []
    for host in store.hosts():
        entries = [entry for entry in store.entries(host) if entry.name.taken_at >= oldest]
        if entries:
            rows.append({"host": host, "snapshots": len(entries), "newest": entries[-1].name.taken_at, "tags": list(label_names(store, host))})
    return rows


def snapshot_rows(store: FileStore, host: str, oldest: str) -> list[Row]:
    """Return one row a snapshot of a host, newest first. Raises StoreError for a host that has none."""
    entries = store.entries(host)
    if not entries:
        raise unknown_host(store, host, "last")
    tags = labels_by_file(store, host)
    return [
        {"ref": entry.ref, "taken_at": entry.name.taken_at, "partial": entry.name.is_partial, "tags": tags.get(entry.path.name, [])}
        for entry in reversed(entries)
        if entry.name.taken_at >= oldest
    ]


def layout(rows: list[Row], desk: Desk) -> str:
    """Return the rows as JSON or as a table."""
    if desk.given.format == "json":
        return json.dumps(rows, indent=1) + "\n"
    if not rows:
        desk.say(f"nothing is stored in {desk.store.root}, or nothing so new")
    return columns([_cells(row) for row in rows], desk.page)


def _cells(row: Row) -> list[str]:
    tags = " ".join(row["tags"])
    if "host" in row:
        return [row["host"], f"{row['snapshots']:,}", row["newest"], tags]
    return [row["ref"], row["taken_at"], "partial " + tags if row["partial"] else tags]
