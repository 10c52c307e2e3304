"""What gc does to one host: what the rules do not keep is recorded as removed, with the chain's links, and then removed. Never what a label names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from driftwatch.store import document
from driftwatch.store.chain import previous_of
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.labels import label_names, load_label
from driftwatch.store.names import ID_DIGITS
from driftwatch.store.records import Removal
from driftwatch.store.retention import Rules, to_remove
from driftwatch.store.seam import Store


@dataclass(frozen=True)
class Sorted:
    """The snapshots of a host, sorted by the rules: how many stay, how many of those by a label, and which go."""

    host: str
    kept: int
    labelled: int
    removed: tuple[Entry, ...]


def sort_out(store: Store, host: str, rules: Rules, now: datetime) -> Sorted:
    """Return what would go of a host. Raises StoreError where a label cannot be read: what it names is not known, so nothing may go."""
    labelled = {load_label(store, host, name).file for name in label_names(store, host)}
    entries = store.entries(host)
    gone = to_remove(entries, rules, labelled, now)
    return Sorted(host, len(entries) - len(gone), sum(str(entry.name) in labelled for entry in entries), tuple(gone))


def remove(store: Store, found: Sorted, now: datetime, *, by: str, rules: str) -> None:
    """Remove what was sorted out, once it is recorded; ``now`` is in UTC."""
    entries = _still_unlabelled(store, found)
    removed = {entry.name.short_id: _previous(store, entry) for entry in entries}
    store.remove(found.host, entries, Removal(removed, now.strftime("%Y-%m-%dT%H:%M:%SZ"), by, rules))


def _still_unlabelled(store: Store, found: Sorted) -> Sequence[Entry]:
    """Return what was sorted out without what was labelled meanwhile."""
    labelled = {load_label(store, found.host, name).file for name in label_names(store, found.host)}
    return [entry for entry in found.removed if str(entry.name) not in labelled]


def _previous(store: Store, entry: Entry) -> str:
    """Return the digits of the id that a snapshot names as its predecessor, "" where there is none or the snapshot cannot be read."""
    if entry.previous is not None:
        return entry.previous
    try:
        return (previous_of(document.parse(store.read(entry), entry.ref)) or "").partition(":")[2][:ID_DIGITS]
    except StoreError:
        return ""
