"""The chain of a host: each snapshot names the id of the one before it (``previous``, part of what its own id covers), so that none can go unnoticed.

A snapshot that is the first of its host says null. One without the key is older than the chain, or was never stored: it begins one.
"""

from __future__ import annotations

from dataclasses import replace

from driftwatch.model import Snapshot
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.names import compact_time, name_of
from driftwatch.store.seam import Store

PREVIOUS = "previous"


def keep_linked(store: Store, snapshot: Snapshot) -> tuple[Entry, Snapshot]:
    """Store a snapshot behind the newest one of its host that is not younger, and return its entry and the snapshot as it is stored.

    What is stored already, linked or not, is not stored again. Raises StoreError where it cannot be stored.
    """
    host, compact = snapshot.host or "unnamed", compact_time(snapshot.taken_at)
    before: Entry | None = None
    for entry in store.newest_first(host, compact + "~"):
        if entry.name.compact == compact and (same := _same(store, entry, snapshot)):
            return entry, same
        before = before or entry
        if entry.name.compact != compact:
            break
    linked = replace(snapshot, extra={**snapshot.extra, PREVIOUS: _id_of(store, before) if before else None})
    return store.put(linked, before), linked


def _id_of(store: Store, entry: Entry) -> str:
    """Return the id of a stored snapshot; of a file that is damaged, the digits of it that its name tells."""
    try:
        return store.full_id(entry) or f"sha256:{entry.name.short_id}"
    except StoreError:
        return f"sha256:{entry.name.short_id}"


def _same(store: Store, entry: Entry, snapshot: Snapshot) -> Snapshot | None:
    """Return the stored snapshot of the same second if it is the given one, but for its link."""
    if entry.name.short_id == name_of(snapshot).short_id:
        return snapshot
    try:
        stored = store.load(entry)
    except StoreError:
        return None
    return stored if unlinked(stored).id == unlinked(snapshot).id else None


def unlinked(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without its link."""
    return replace(snapshot, extra={key: value for key, value in snapshot.extra.items() if key != PREVIOUS})


def previous_of(snapshot: Snapshot) -> str | None:
    """Return the id that a snapshot names as its predecessor, "" where it says that it is the first, None where it says nothing."""
    told = snapshot.extra.get(PREVIOUS, ...)
    return None if told is ... else str(told or "")
