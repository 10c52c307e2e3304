"""The store behind a URL: each snapshot a small gzipped object that names its base, under a key that says host, day, id and predecessor (object_names.py).

Nothing is ever written over but a signature. Order of a save: pieces, base, snapshot; a writer killed in between leaves lists that gc takes away later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from driftwatch.model import ModelError, Snapshot, canonical, content_id, to_document
from driftwatch.store import document, keys, pieces, records
from driftwatch.store import object_names as names
from driftwatch.store.bases import Ages, Bases
from driftwatch.store.bucket import AGAIN, Bucket
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.files import Entry, FileStore
from driftwatch.store.names import ALTERED, ID_DIGITS, FileName, compact_time, slug
from driftwatch.store.object_labels import ObjectLabels
from driftwatch.store.pieces import Flat, Patch
from driftwatch.store.records import SIGNATURE, Removal, Swept
from driftwatch.store.slim import Slim
from driftwatch.store.strict_json import JsonRefused, parse_json, parse_own
from driftwatch.store.sweeping import sweep_lists

READ_AHEAD = 64


class ObjectStore:
    """Snapshots below a URL that fsspec carries. ``local`` is a folder of this machine for what only saves time."""

    def __init__(self, url: str, local: FileStore, ages: Ages | None = None) -> None:
        self.bucket = Bucket(url)
        self.local = local
        self.bases = Bases(self.bucket, local, ages or Ages())
        self.labels = ObjectLabels(self.bucket)

    @property
    def place(self) -> str:
        """Return the URL without credentials."""
        return self.bucket.place

    @property
    def root(self) -> Path:
        """Return the folder of this machine that belongs to this store."""
        return self.local.root

    def place_of(self, host: str) -> str:
        """Return the URL of a host."""
        return f"{self.place}/{names.host_key(host)}"

    def await_answer(self) -> None:
        """Return at once: every question to a store behind a URL is bounded."""

    def put(self, snapshot: Snapshot, after: Entry | None = None) -> Entry:
        """Store a snapshot as it is and return its entry. ``after`` is its predecessor where that was looked up already: it tells the base to share."""
        host, told = snapshot.host or "unnamed", to_document(snapshot)
        told["id"] = content_id(told)  # not the snapshot's own, which would make the document once more
        name = FileName(slug(host), compact_time(snapshot.taken_at), told["id"].partition(":")[2][:ID_DIGITS], bool(snapshot.extra.get("partial")))
        after = after or next(self.newest_first(host, name.compact + "~"), None)
        if after is not None and after.id == told["id"]:
            return after
        stem, patch = self._shared(host, pieces.flatten(told), after)
        previous = str(snapshot.extra.get("previous") or "").partition(":")[2]
        key = names.snapshot_key(name, told["id"].partition(":")[2], previous, stem)
        self._name(host)
        data = pieces.pack(canonical({"stem": stem, "set": dict(patch.entries), "gone": list(patch.gone)}))
        if not self.bucket.write_new(key, data) and self.bucket.read(key) != data:
            raise StoreError("the snapshot was not stored: a different one stands at its name", f"{self.place}/{key}", "driftwatch verify", NOT_STORED)
        entry = names.parse_snapshot_key(host, key)
        if entry is None:
            raise StoreError("the snapshot was stored under a name that is none", f"{self.place}/{key}", AGAIN, NOT_STORED)
        return entry

    def _shared(self, host: str, flat: Flat, after: Entry | None) -> tuple[str, Patch]:
        """Return the base that a document is told against ("" for none), and what it has else."""
        if pieces.is_small(flat):
            return "", Patch(flat)
        if after is not None and after.stem:
            kept = self.bases.recall(host, after.stem) or self._base_of(after)
            if kept is not None:
                patch = pieces.diff(kept[1], flat)
                if not pieces.is_outgrown(patch, flat):
                    return kept[0], patch
        stem = self.bases.create(flat)
        base = self.bases.load(stem)
        self.bases.remember(host, stem, base)
        return stem, pieces.diff(base, flat)

    def _base_of(self, entry: Entry) -> tuple[str, Flat] | None:
        """Return the base of a stored snapshot, or None where it cannot be read: then a new one is made, and verify tells of the other."""
        try:
            stem = self._parsed(entry, self.bucket.read(entry.path.as_posix()))["stem"]
            base = self.bases.load(stem)
        except StoreError:
            return None
        self.bases.remember(entry.host, stem, base)
        return stem, base

    def _name(self, host: str) -> None:
        """Note the real name of a host where its key cannot bear it."""
        if ALTERED in slug(host):
            self.bucket.write_new(f"{names.host_key(host)}/{names.NAME}", json.dumps({"host": host}).encode())

    def load(self, entry: Entry) -> Snapshot:
        """Return a stored snapshot. Raises StoreError where it or one of its lists is damaged or missing, or is not the one that its key promises."""
        return self._slim(entry, self.bucket.read(entry.path.as_posix())).whole()

    def load_each(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Slim | StoreError]]:
        """Yield stored snapshots one after the other, slim, checked as :meth:`load` does; for a damaged one what is wrong with it."""
        for some in _portions(entries, READ_AHEAD):
            for entry, data in zip(some, self.bucket.read_many([one.path.as_posix() for one in some]), strict=True):
                yield entry, self._slim_or_refused(entry, data)

    def _slim_or_refused(self, entry: Entry, data: bytes | None) -> Slim | StoreError:
        try:
            return self._slim(entry, data)
        except StoreError as refused:
            return refused

    def _slim(self, entry: Entry, data: bytes | None) -> Slim:
        """Return the snapshot that an object's bytes hold."""
        told = self._parsed(entry, data)
        try:
            slim = self.bases.rendering(told["stem"]).slim(Patch(told["set"], tuple(told["gone"])))
        except (ModelError, KeyError, TypeError, ValueError) as wrong:
            raise self._damaged(entry, f"{entry.ref} is no snapshot: {wrong}") from None
        if slim.head.id != entry.id or slug(slim.head.host or "unnamed") != entry.name.slug:
            raise self._damaged(entry, f"{entry.ref} holds another snapshot than its name says: {slim.head.host}, {slim.head.id[:19]}")
        return slim

    def _parsed(self, entry: Entry, data: bytes | None) -> dict[str, Any]:
        """Return a snapshot's own object: its base, and what it has else."""
        if data is None:
            raise self._damaged(entry, f"{entry.ref} is gone")
        try:
            told = parse_json(pieces.unpack(data))
            if not isinstance(told["set"], dict) or not isinstance(told["gone"], list) or not isinstance(told["stem"], str):
                raise TypeError("its parts have the wrong shape")
        except (ValueError, KeyError, TypeError, JsonRefused) as wrong:
            raise self._damaged(entry, f"{entry.ref} is no snapshot: {wrong}") from None
        if not told["stem"].startswith(entry.stem) or bool(told["stem"]) != bool(entry.stem):
            raise self._damaged(entry, f"{entry.ref} names another base than its name says")
        found: dict[str, Any] = told
        return found

    def _damaged(self, entry: Entry, what: str) -> StoreError:
        return StoreError(what, f"{self.place}/{entry.path.as_posix()}", "restore it from a backup, or take another snapshot")

    def read(self, entry: Entry) -> bytes:
        """Return the whole plain file of a stored snapshot, as a folder store holds it."""
        return document.to_bytes(self.load(entry))

    def full_id(self, entry: Entry) -> str:
        """Return the whole id of a stored snapshot: its key says it."""
        return entry.id

    def hosts(self) -> tuple[str, ...]:
        """Return the names of all hosts of which something is stored, sorted."""
        return tuple(sorted(self._host_of(one) for one in self.bucket.names(names.HOSTS)))

    def _host_of(self, folder: str) -> str:
        if ALTERED not in folder:
            return folder
        try:
            told = parse_own(self.bucket.read(f"{names.HOSTS}/{folder}/{names.NAME}") or b"")["host"]
        except (ValueError, KeyError, TypeError):
            return folder
        return told if isinstance(told, str) and slug(told) == folder else folder

    def entries(self, host: str) -> tuple[Entry, ...]:
        """Return the stored snapshots of a host, oldest first, from one flat listing."""
        return tuple(_entries(host, [one.key for one in self.bucket.below(names.host_key(host))]))

    def newest_first(self, host: str, end: str = "~") -> Iterator[Entry]:
        """Yield the stored snapshots of a host whose compact time is below ``end``, newest first, a day's names at a time."""
        prefix, seen = names.host_key(host), ""
        if end[:8].isdigit():
            seen = names.day_of(end)
            yield from self._of_day(host, seen, end)
        days = [one for one in self.bucket.names(prefix) if names.is_day(one) and one < (seen or "~")]
        for day in reversed(days):
            yield from self._of_day(host, day, end)

    def _of_day(self, host: str, day: str, end: str) -> list[Entry]:
        entries = _entries(host, self.bucket.names(f"{names.host_key(host)}/{day}"))
        return [entry for entry in reversed(entries) if entry.name.compact < end]

    def read_beside(self, entry: Entry, ending: str) -> bytes | None:
        """Return what stands beside a stored snapshot under its key and an ending, or None."""
        return self.bucket.read(entry.path.as_posix() + ending) if entry.is_signed or ending != SIGNATURE else None

    def write_beside(self, entry: Entry, ending: str, data: bytes) -> None:
        """Write something beside a stored snapshot, over what stands there."""
        self.bucket.write_over(entry.path.as_posix() + ending, data)

    def remove(self, host: str, entries: Sequence[Entry], removal: Removal) -> None:
        """Take snapshots and their signatures away, once the record of it is safe."""
        key = f"{names.host_key(host)}/{names.REMOVED}/{compact_time(removal.at)}--{keys.new_key().hex()[:8]}.json.gz"
        self.bucket.write_new(key, pieces.pack(records.to_bytes(removal)))
        signed = [entry.path.as_posix() + SIGNATURE for entry in entries if entry.is_signed]
        self.bucket.remove([*(entry.path.as_posix() for entry in entries), *signed])

    def removals(self, host: str) -> tuple[Removal, ...]:
        """Return the records of what was taken away of a host, oldest first. Raises StoreError for a damaged one."""
        prefix = f"{names.host_key(host)}/{names.REMOVED}"
        places = [f"{prefix}/{one}" for one in self.bucket.names(prefix)]
        return tuple(self._removal(key, data) for key, data in zip(places, self.bucket.read_many(places), strict=True))

    def _removal(self, key: str, data: bytes | None) -> Removal:
        try:
            return records.parse_removal(pieces.unpack(data or b""))
        except (ValueError, KeyError, TypeError) as wrong:
            raise StoreError(f"a record of gc is damaged: {wrong}", f"{self.place}/{key}", "restore it from a backup: verify needs it") from None

    def sweep(self, hosts: Iterable[str], spared: Iterable[Entry], *, is_real: bool) -> Swept:
        """Return the lists that no snapshot needs, once the ``spared`` entries are gone; with ``is_real`` they are removed."""
        gone = {entry.path for entry in spared}
        stems = {entry.stem for host in hosts for entry in self.entries(host) if entry.stem and entry.path not in gone}
        return sweep_lists(self.bucket, self.bases, stems, is_real=is_real)

    def store_key(self) -> bytes:
        """Return the store's secret, made at first use; of several who make it at once, one wins and all have that one."""
        return self._key

    @cached_property
    def _key(self) -> bytes:
        found = self.bucket.read(names.KEY)
        if found is None:
            self.bucket.write_new(names.KEY, keys.new_key())
            found = self.bucket.read(names.KEY)
        if found is None or len(found) != keys.KEY_BYTES:
            raise StoreError("the store's key is damaged", f"{self.place}/{names.KEY}", keys.ADVICE)
        return found


def _portions(entries: Iterable[Entry], most: int) -> Iterator[list[Entry]]:
    """Yield so many entries at a time."""
    waiting = iter(entries)
    while some := list(islice(waiting, most)):
        yield some


def _entries(host: str, found: Iterable[str]) -> list[Entry]:
    """Return the entries that keys tell, oldest first; one that was stored twice under two bases counts once."""
    every = set(found)
    entries: dict[str, Entry] = {}
    for key in sorted(every):
        entry = names.parse_snapshot_key(host, key)
        if entry is not None:
            signed = key + SIGNATURE in every
            entries[entry.id] = Entry(entry.host, entry.name, entry.path, 0, signed, entry.id, entry.previous, entry.stem)
    return sorted(entries.values(), key=lambda entry: (entry.name.compact, entry.name.short_id))
