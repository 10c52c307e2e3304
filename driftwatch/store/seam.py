"""What the commands need of a store, whatever stands behind it: a folder (files.py), or what fsspec carries (objects.py). Names only, nothing is done here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from driftwatch.model import Snapshot
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry, FileStore
from driftwatch.store.records import Removal, Swept
from driftwatch.store.slim import Slim


class Store(Protocol):
    """Snapshots, kept for good. Every method raises StoreError that says what, where and what to do."""

    @property
    def place(self) -> str:
        """Return where it is, for people: a folder or a URL without credentials."""

    @property
    def root(self) -> Path:
        """Return a folder of this machine that belongs to this store: a folder store itself, else one for what only saves time."""

    @property
    def local(self) -> FileStore:
        """Return the folder store in ``root``."""

    def place_of(self, host: str) -> str:
        """Return where a host's snapshots are, for people."""

    def put(self, snapshot: Snapshot, after: Entry | None = None) -> Entry:
        """Store a snapshot as it is and return its entry when it is safe there; the same one being there already is fine.

        ``after`` is the one before it where that is known already: it saves a look.
        """

    def await_answer(self) -> None:
        """Return once the store was seen to take something; a disk that does not answer in time would hold us for good. Raises StoreError then."""

    def load(self, entry: Entry) -> Snapshot:
        """Return a stored snapshot. Its content was checked against its id and its name."""

    def load_each(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Slim | StoreError]]:
        """Yield many snapshots of one host in little memory, checked as ever; for a damaged one what is wrong with it."""

    def read(self, entry: Entry) -> bytes:
        """Return the whole plain file of a stored snapshot, byte for byte as a folder store holds it."""

    def full_id(self, entry: Entry) -> str:
        """Return the whole id that a stored snapshot says it has, unchecked."""

    def hosts(self) -> tuple[str, ...]:
        """Return the names of all hosts of which something is stored, sorted."""

    def entries(self, host: str) -> tuple[Entry, ...]:
        """Return the stored snapshots of a host, oldest first."""

    def newest_first(self, host: str, end: str = "~") -> Iterator[Entry]:
        """Yield the stored snapshots of a host whose compact time is below ``end``, newest first, reading no more names than it has to."""

    def read_beside(self, entry: Entry, ending: str) -> bytes | None:
        """Return what stands beside a stored snapshot under its name and an ending, or None."""

    def write_beside(self, entry: Entry, ending: str, data: bytes) -> None:
        """Write something beside a stored snapshot, over what stands there."""

    def remove(self, host: str, entries: Sequence[Entry], removal: Removal) -> None:
        """Take snapshots and what stands beside them away, once the record of it is safe."""

    def removals(self, host: str) -> tuple[Removal, ...]:
        """Return the records of what was taken away of a host, oldest first."""

    def sweep(self, hosts: Iterable[str], spared: Iterable[Entry], *, is_real: bool) -> Swept:
        """Return the lists that no entry but the ``spared`` needs; with ``is_real`` they are removed."""

    def store_key(self) -> bytes:
        """Return the store's secret, made at first use."""
