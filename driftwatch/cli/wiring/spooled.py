"""What `spool` shows and does: rows about what waits, each delivered to the store that it is for. One that fails holds no other store up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import SeveralFaults
from driftwatch.report.table import columns
from driftwatch.settings import cache_folder, utc_now
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.opening import open_store
from driftwatch.store.seam import Store
from driftwatch.store.spool import Spool, Waiting


@dataclass(frozen=True)
class Row:
    """One snapshot that waits, or waited: the reference under which its store has it now, and why it still waits."""

    waiting: Waiting
    ref: str = ""
    failed: StoreError | None = None


def waiting_rows(spool: Spool) -> list[Row]:
    """Return what waits."""
    return [Row(one) for one in spool.waiting()]


def deliver_all(spool: Spool, desk: Desk) -> list[Row]:
    """Deliver what waits and return what became of each. A store that did not take one is not asked again for the next."""
    stores: dict[str, Store] = {}
    failed: dict[str, StoreError] = {}
    rows = []
    for one in spool.waiting():
        store = stores.setdefault(one.place, _store(one.place, desk))
        if one.place not in failed:
            try:
                rows.append(Row(one, spool.deliver(one, store, utc_now()).ref))
                continue
            except StoreError as refused:
                failed[one.place] = StoreError(refused.what, refused.where, refused.do, NOT_STORED)
        rows.append(Row(one, failed=failed[one.place]))
    return rows


def _store(place: str, desk: Desk) -> Store:
    return open_store(place, cache_folder()) if place else desk.store


def layout(rows: Sequence[Row], desk: Desk) -> str:
    """Return the rows as JSON or as a table."""
    if desk.given.format == "json":
        return json.dumps([_values(row) for row in rows], indent=1) + "\n"
    return columns([list(_values(row).values())[:-1] for row in rows], desk.page)


def _values(row: Row) -> dict[str, str]:
    one = row.waiting
    tag = f" as {one.wish.label}" if one.wish.label else ""
    state = f"delivered as {row.ref}" if row.ref else f"waits{tag}: {row.failed.what if row.failed else one.wish.why}"
    return {"host": one.entry.host, "taken_at": one.entry.name.taken_at, "store": one.place, "state": state, "file": str(one.entry.path)}


def close(rows: Sequence[Row], desk: Desk) -> int:
    """Tell the counts. Raises what the stores said, once all are through (code 4)."""
    delivered = sum(bool(row.ref) for row in rows)
    if not desk.given.quiet:
        desk.say(f"{delivered} delivered, {len(rows) - delivered} waiting")
    faults = {row.waiting.place: row.failed for row in rows if row.failed is not None}
    if faults:
        raise SeveralFaults(list(faults.values()))
    return 0
