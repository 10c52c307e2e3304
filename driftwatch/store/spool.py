"""Snapshots that their store did not take, kept on this machine until it does: SPOOL/PLACE/ is a folder store, with beside each what was to be done.

Delivering is safe to repeat: what the store has already is not stored again, and nothing leaves the spool before the store has it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from driftwatch.model import Snapshot
from driftwatch.store import document, durable
from driftwatch.store.chain import keep_linked
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.files import Entry, FileStore
from driftwatch.store.labels import set_label
from driftwatch.store.opening import place_digits
from driftwatch.store.rescue import storing_failed
from driftwatch.store.seam import Store
from driftwatch.store.strict_json import parse_own

WISH = ".wish"
PLACE = "place.json"
LARGEST_WISH = 1 << 16


@dataclass(frozen=True)
class Wish:
    """What was to be done with a snapshot: the label to set, its note, by whom; and why the store did not take it."""

    label: str = ""
    note: str = ""
    by: str = ""
    why: str = ""


@dataclass(frozen=True)
class Waiting:
    """A snapshot that waits: where it lies, and for which store."""

    entry: Entry
    place: str
    wish: Wish


class Spool:
    """The snapshots that wait on this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, place: str, snapshot: Snapshot, wish: Wish) -> Path:
        """Keep a snapshot for a store and return its file, safe on disk. Raises StoreError where that fails too."""
        folder = self.root / place_digits(place)
        kept = FileStore(folder)
        try:
            durable.make_folder(folder)
            durable.write_over(folder, PLACE, json.dumps({"place": place}).encode())
            durable.sweep(folder)
        except OSError as failed:
            raise storing_failed(failed, folder, "the snapshot was not kept in the spool either") from None
        entry = kept.put(snapshot)
        kept.write_beside(entry, WISH, json.dumps(asdict(wish)).encode())
        return entry.path

    def waiting(self, place: str | None = None) -> Iterator[Waiting]:
        """Yield what waits for a store, or for any, oldest first of each host."""
        for folder in sorted(self.root.glob("*/")) if place is None else [self.root / place_digits(place)]:
            told = _told(folder / PLACE)
            kept = FileStore(folder)
            for host in kept.hosts():
                yield from (Waiting(entry, str(told.get("place", "")), _wish(kept, entry)) for entry in kept.entries(host))

    def deliver(self, one: Waiting, store: Store, set_at: str) -> Entry:
        """Store a snapshot that waits, set the label that was wished for, and take it out of the spool. Raises StoreError where the store does not take it."""
        snapshot = document.load(one.entry.path, follow=False)
        entry, _ = keep_linked(store, snapshot)
        if one.wish.label:
            set_label(store, entry, one.wish.label, set_at=set_at, note=one.wish.note, by=one.wish.by)
        try:
            for ending in ("", WISH):
                with contextlib.suppress(FileNotFoundError):
                    durable.remove(one.entry.path.parent, one.entry.path.name + ending)
        except OSError as failed:
            raise storing_failed(failed, one.entry.path, "it was delivered, but could not be taken out of the spool", "remove it by hand") from None
        return entry


def _wish(kept: FileStore, entry: Entry) -> Wish:
    try:
        told = parse_own(kept.read_beside(entry, WISH) or b"{}")
        return Wish(**{key: str(told.get(key, "")) for key in ("label", "note", "by", "why")})
    except (StoreError, ValueError, AttributeError):
        return Wish()


def _told(path: Path) -> dict[str, object]:
    try:
        told = parse_own(document.read_bounded(path, LARGEST_WISH, follow=False))
    except (StoreError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def kept_for_later(failed: StoreError, path: Path) -> StoreError:
    """Return the error for a snapshot that the store did not take and the spool did."""
    do = f"{failed.do}; the next snapshot, or `driftwatch spool --deliver`, takes it to its store; it is complete in {path}"
    return StoreError(failed.what, failed.where, do, NOT_STORED)
