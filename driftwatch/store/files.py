"""The store: a folder that holds one immutable file a snapshot, ROOT/hosts/HOST/HOST--TIME--ID.json. No index: the names say it all.

Several processes may save at once. Nothing that was stored is ever written over, and "saved" means that file and folder are safe on disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from driftwatch.model import Snapshot
from driftwatch.store import document, durable, records
from driftwatch.store.canary import ANSWER_S, takes_a_file
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.keys import load_key
from driftwatch.store.names import ALTERED, ID_DIGITS, FileName, compact_time, name_of, parse_file_name, slug
from driftwatch.store.records import SIGNATURE, Removal, Swept
from driftwatch.store.rescue import rescue, storing_failed
from driftwatch.store.slim import Slim, Slimmer
from driftwatch.store.strict_json import parse_own

HOST_NAME_FILE = "name.json"
REMOVED = "removed"
_ID_LINE = re.compile(rb'^"id": "(sha256:[0-9a-f]{64})",?$', re.MULTILINE)
LARGEST_NAME_FILE = 1 << 16


@dataclass(frozen=True)
class Entry:
    """A stored snapshot, as far as its place and file name tell. In an object store ``path`` is its key, which also tells the digests below."""

    host: str
    name: FileName
    path: Path
    written_ns: int = 0
    is_signed: bool = field(default=False, compare=False)
    id: str = field(default="", compare=False)
    previous: str | None = field(default=None, compare=False)
    stem: str = field(default="", compare=False)

    @property
    def ref(self) -> str:
        """Return the reference that names it for good: ``HOST@`` and 12 digits of its id."""
        return f"{self.host}@{self.name.short_id}"


class FileStore:
    """Snapshots in a folder. Nothing is made before something is saved."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    @property
    def root(self) -> Path:
        """Return the folder."""
        return self._root

    def folder(self, host: str) -> Path:
        """Return the folder of a host, whether it exists or not."""
        return self.root / "hosts" / slug(host)

    @property
    def place(self) -> str:
        """Return the folder, for people."""
        return str(self.root)

    @property
    def local(self) -> FileStore:
        """Return this store: it is on this machine."""
        return self

    def place_of(self, host: str) -> str:
        """Return the folder of a host, for people."""
        return str(self.folder(host))

    def await_answer(self, seconds: float = ANSWER_S) -> None:
        """Return once the folder was seen to take a file. Raises StoreError (code 4) where its disk hangs: frozen, or a network that is gone."""
        if not takes_a_file(self.root, seconds):
            raise StoreError(f"the store's disk did not answer in {seconds:g} s", str(self.root), "see whether it is frozen or its server gone", NOT_STORED)
        with contextlib.suppress(OSError):
            durable.sweep(self.root)

    def save(self, snapshot: Snapshot) -> Entry:
        """Store a snapshot and return its entry once it is safe on disk. A failure leaves it complete somewhere else and says where (StoreError, code 4)."""
        name = name_of(snapshot)
        try:
            return self.put(snapshot)
        except StoreError as refused:
            saved = rescue(f"{name.slug}-{name.compact}", document.to_bytes(snapshot))
            raise StoreError(refused.what, refused.where, f"{refused.do}; {saved}", NOT_STORED) from None

    def put(self, snapshot: Snapshot, after: Entry | None = None) -> Entry:  # noqa: ARG002  # the seam's signature
        """Store a snapshot as it is and return its entry once it is safe on disk. The same one being there already is fine."""
        host, name = snapshot.host or "unnamed", name_of(snapshot)
        folder = self.folder(host)
        try:
            self._make(host)
            _write_once(folder, str(name), document.to_bytes(snapshot))
        except OSError as failed:
            raise storing_failed(failed, folder, "the snapshot was not stored") from None
        return Entry(host, name, folder / str(name))

    def _make(self, host: str) -> None:
        """Make the folder of a host, and note its real name where the folder cannot bear it."""
        folder = self.folder(host)
        durable.make_folder(folder)
        self.admit(folder)
        if ALTERED in folder.name and not (folder / HOST_NAME_FILE).exists():
            with contextlib.suppress(FileExistsError):
                durable.write_new(folder, HOST_NAME_FILE, json.dumps({"host": host}).encode())

    def admit(self, folder: Path) -> None:
        """Raise StoreError where others may write into the store: what they put there would be taken for ours."""
        for one in (self.root, self.root / "hosts", folder):
            with readable(one):
                is_open = one.exists() and one.stat().st_mode & durable.WRITABLE_BY_OTHERS
            if is_open:
                raise StoreError("the store is refused: others than its owner may write into it", str(one), f"chmod go-w {one}", NOT_STORED)

    def hosts(self) -> tuple[str, ...]:
        """Return the names of all hosts that have a folder, sorted."""
        above = self.root / "hosts"
        with readable(above):
            return tuple(sorted(_host_of(one) for one in above.iterdir() if one.is_dir())) if above.is_dir() else ()

    def entries(self, host: str) -> tuple[Entry, ...]:
        """Return the stored snapshots of a host, oldest first; those of one second in the order in which they were written."""
        folder = self.folder(host)
        with readable(folder):
            if not folder.is_dir():
                return ()
            self.admit(folder)
            with os.scandir(folder) as found:
                every = {one.name: one for one in found}
            named = [(one, name) for one in every.values() if (name := parse_file_name(one.name)) is not None]
            entries = [
                Entry(host, name, folder / one.name, one.stat(follow_symlinks=False).st_mtime_ns, one.name + SIGNATURE in every) for one, name in named
            ]
        return tuple(sorted(entries, key=lambda entry: (entry.name.compact, entry.written_ns, entry.name.short_id)))

    def newest_first(self, host: str, end: str = "~") -> Iterator[Entry]:
        """Yield the stored snapshots of a host whose compact time is below ``end``, newest first."""
        yield from (entry for entry in reversed(self.entries(host)) if entry.name.compact < end)

    def load(self, entry: Entry) -> Snapshot:
        """Return a stored snapshot. Raises StoreError where the file is damaged, or is not the one that its name promises."""
        snapshot = document.load(entry.path, follow=False)
        _admit_promised(entry, snapshot)
        return snapshot

    def load_each(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Slim | StoreError]]:
        """Yield stored snapshots one after the other, slim, checked as :meth:`load` does; for a damaged one what is wrong with it."""
        slimmer = Slimmer()
        for entry in entries:
            yield entry, self._slim(entry, slimmer)

    def _slim(self, entry: Entry, slimmer: Slimmer) -> Slim | StoreError:
        try:
            slim = slimmer.read(self.read(entry), str(entry.path))
            _admit_promised(entry, slim.head)
        except StoreError as refused:
            return refused
        return slim

    def read(self, entry: Entry) -> bytes:
        """Return the bytes of a stored snapshot's file."""
        return document.read_bounded(entry.path, document.LARGEST_FILE, follow=False)

    def full_id(self, entry: Entry) -> str:
        """Return the whole id that a stored snapshot says it has, unchecked; "" where its file says none."""
        found = _ID_LINE.search(self.read(entry))
        return found[1].decode() if found else ""

    def read_beside(self, entry: Entry, ending: str) -> bytes | None:
        """Return what stands beside a snapshot's file under its name and an ending, or None."""
        path = entry.path.with_name(entry.path.name + ending)
        return document.read_bounded(path, records.LARGEST_SIGNATURE, follow=False) if os.path.lexists(path) else None

    def write_beside(self, entry: Entry, ending: str, data: bytes) -> None:
        """Write something beside a snapshot's file, over what stands there, and return when it is safe on disk."""
        self.admit(entry.path.parent)
        try:
            durable.write_over(entry.path.parent, entry.path.name + ending, data)
        except OSError as failed:
            raise storing_failed(failed, entry.path.parent, f"{entry.path.name}{ending} was not stored") from None

    def remove(self, host: str, entries: Sequence[Entry], removal: Removal) -> None:
        """Remove snapshots and their signatures, once the record of it is safe on disk."""
        folder = self.folder(host)
        self.admit(folder)
        try:
            durable.make_folder(folder / REMOVED)
            durable.write_new(folder / REMOVED, f"{compact_time(removal.at)}--{secrets.token_hex(4)}.json", records.to_bytes(removal))
            for entry in entries:
                for ending in ("", SIGNATURE):
                    entry.path.with_name(entry.path.name + ending).unlink(missing_ok=True)
            durable.sync_folder(folder)
            durable.sweep(folder / REMOVED)
        except OSError as failed:
            raise storing_failed(failed, folder, "not all was removed", "repeat it: what is gone is recorded") from None

    def removals(self, host: str) -> tuple[Removal, ...]:
        """Return the records of what was removed of a host, oldest first. Raises StoreError for a damaged one."""
        folder = self.folder(host) / REMOVED
        with readable(folder):
            paths = sorted(one for one in folder.iterdir() if one.suffix == ".json") if folder.is_dir() else []
        return tuple(_removal(path) for path in paths)

    def sweep(self, hosts: Iterable[str], spared: Iterable[Entry], *, is_real: bool) -> Swept:  # noqa: ARG002  # the seam's signature
        """Return nothing: a folder store keeps every snapshot whole and has no lists."""
        return Swept()

    def store_key(self) -> bytes:
        """Return the store's secret, made at first use."""
        return load_key(self.root)


def _removal(path: Path) -> Removal:
    try:
        return records.parse_removal(document.read_bounded(path, records.LARGEST_REMOVAL, follow=False))
    except (ValueError, KeyError, TypeError) as wrong:
        raise StoreError(f"a record of gc is damaged: {wrong}", str(path), "restore it from a backup: verify needs it") from None


def _admit_promised(entry: Entry, found: Snapshot) -> None:
    """Raise StoreError where a file holds another snapshot than its name promises."""
    if found.id.partition(":")[2][:ID_DIGITS] != entry.name.short_id or slug(found.host or "unnamed") != entry.name.slug:
        said = f"{entry.path.name} holds another snapshot than its name says: {found.host}, {found.id[:19]}"
        raise StoreError(said, str(entry.path), "remove it from the store")


def _write_once(folder: Path, name: str, data: bytes) -> None:
    """Write a snapshot file; the same file being there already is fine, another one is not."""
    try:
        durable.write_new(folder, name, data)
    except FileExistsError:
        if document.read_bounded(folder / name, document.LARGEST_FILE, follow=False) != data:
            raise
    durable.sweep(folder)


def _host_of(folder: Path) -> str:
    """Return the name of the host that a folder belongs to."""
    if ALTERED not in folder.name:
        return folder.name
    try:
        told = parse_own(document.read_bounded(folder / HOST_NAME_FILE, LARGEST_NAME_FILE, follow=False))["host"]
    except (StoreError, ValueError, KeyError, TypeError):
        return folder.name
    return told if isinstance(told, str) and slug(told) == folder.name else folder.name


@contextlib.contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Turn what the system says while a folder of the store is read into a StoreError."""
    try:
        yield
    except OSError as failed:
        said = f"the store cannot be read: {(failed.strerror or str(failed)).lower()}"
        raise StoreError(said, str(folder), "check its owner and mode, or name another with --store") from None
