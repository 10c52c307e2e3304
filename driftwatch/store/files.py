"""The store: a folder that holds one immutable file a snapshot, ROOT/hosts/HOST/HOST--TIME--ID.json. No index: the names say it all.

Several processes may save at once. Nothing that was stored is ever written over, and "saved" means that file and folder are safe on disk.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driftwatch.model import Snapshot
from driftwatch.store import document, durable
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.names import ALTERED, ID_DIGITS, FileName, compact_time, parse_file_name, slug
from driftwatch.store.rescue import rescue, storing_failed

WRITABLE_BY_OTHERS = 0o022
HOST_NAME_FILE = "name.json"
LARGEST_NAME_FILE = 1 << 16


@dataclass(frozen=True)
class Entry:
    """A stored snapshot, as far as its place and file name tell."""

    host: str
    name: FileName
    path: Path
    written_ns: int = 0

    @property
    def ref(self) -> str:
        """Return the reference that names it for good: ``HOST@`` and 12 digits of its id."""
        return f"{self.host}@{self.name.short_id}"


class FileStore:
    """Snapshots in a folder. Nothing is made before something is saved."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def folder(self, host: str) -> Path:
        """Return the folder of a host, whether it exists or not."""
        return self.root / "hosts" / slug(host)

    def save(self, snapshot: Snapshot) -> Entry:
        """Store a snapshot and return its entry once it is safe on disk. A failure leaves it complete somewhere else and says where (StoreError, code 4)."""
        host, short_id = snapshot.host or "unnamed", snapshot.id.partition(":")[2][:ID_DIGITS]
        name = FileName(slug(host), compact_time(snapshot.taken_at), short_id, bool(snapshot.extra.get("partial")))
        data = document.to_bytes(snapshot)
        folder = self.folder(host)
        try:
            self._make(host)
            _write_once(folder, str(name), data)
        except StoreError as refused:
            raise StoreError(refused.what, refused.where, f"{refused.do}; {rescue(f'{name.slug}-{name.compact}', data)}", NOT_STORED) from None
        except OSError as failed:
            raise storing_failed(failed, folder, "the snapshot was not stored", rescue(f"{name.slug}-{name.compact}", data)) from None
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
            if one.exists() and one.stat().st_mode & WRITABLE_BY_OTHERS:
                raise StoreError("the store is refused: others than its owner may write into it", str(one), f"chmod go-w {one}", NOT_STORED)

    def hosts(self) -> tuple[str, ...]:
        """Return the names of all hosts that have a folder, sorted."""
        above = self.root / "hosts"
        with readable(above):
            return tuple(sorted(_host_of(one) for one in above.iterdir() if one.is_dir())) if above.is_dir() else ()

    def entries(self, host: str) -> tuple[Entry, ...]:
        """Return the stored snapshots of a host, oldest first; those of one second in the order in which they were written."""
        folder = self.folder(host)
        if not folder.is_dir():
            return ()
        self.admit(folder)
        with readable(folder), os.scandir(folder) as found:
            named = [(one, parse_file_name(one.name)) for one in found]
            entries = [Entry(host, name, folder / one.name, one.stat(follow_symlinks=False).st_mtime_ns) for one, name in named if name is not None]
        return tuple(sorted(entries, key=lambda entry: (entry.name.compact, entry.written_ns, entry.name.short_id)))

    def load(self, entry: Entry) -> Snapshot:
        """Return a stored snapshot. Raises StoreError where the file is damaged, or is not the one that its name promises."""
        snapshot = document.load(entry.path, follow=False)
        if snapshot.id.partition(":")[2][:ID_DIGITS] != entry.name.short_id or slug(snapshot.host or "unnamed") != entry.name.slug:
            said = f"{entry.path.name} holds another snapshot than its name says: {snapshot.host}, {snapshot.id[:19]}"
            raise StoreError(said, str(entry.path), "remove it from the store")
        return snapshot


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
        told = json.loads(document.read_bounded(folder / HOST_NAME_FILE, LARGEST_NAME_FILE, follow=False))["host"]
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
