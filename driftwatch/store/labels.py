"""Labels of a host: each points at one stored snapshot, says when, why and who, and every setting and removal is kept. What commands call; see seam.py.

In a folder store ROOT/hosts/HOST/labels/NAME points, and NAME@TIME-… beside it are its history, written once.
"""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Protocol

from driftwatch.store import document, durable, records
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry, FileStore, readable
from driftwatch.store.names import check_label, compact_time, is_label
from driftwatch.store.records import LARGEST_LABEL, Label
from driftwatch.store.rescue import storing_failed
from driftwatch.store.seam import Store

HISTORY = "@"


class Labelled(Protocol):
    """A store that keeps labels in its own way; a folder store is handled here."""

    def label_names(self, host: str) -> tuple[str, ...]:
        """Return the names of a host's labels, sorted."""

    def read_label(self, host: str, name: str) -> Label | None:
        """Return a label, or None where it is not set."""

    def write_label(self, host: str, label: Label) -> None:
        """Set a label, or take it away where ``label.file`` is empty."""

    def label_history(self, host: str) -> tuple[Label, ...]:
        """Return all that ever happened to a host's labels, oldest first."""


def set_label(store: Store, entry: Entry, name: str, *, set_at: str, note: str = "", by: str = "") -> Label:  # noqa: PLR0913  # what a label says
    """Point a label of the entry's host at the entry, and return it when it is safe in the store. Where it pointed before stays in its history."""
    label = Label(check_label(name), str(entry.name), entry.name.short_id, set_at, note, by)
    _kept(store).write_label(entry.host, label)
    return label


def drop_label(store: Store, host: str, name: str, *, set_at: str, by: str = "") -> None:
    """Remove a label; the snapshot and the label's history stay. Raises StoreError where there is no such label."""
    kept = _kept(store)
    if kept.read_label(host, check_label(name)) is None:
        raise StoreError(f'{host} has no tag "{name}"', store.place_of(host), f"driftwatch list {host}")
    kept.write_label(host, Label(name, "", "", set_at, "", by))


def label_names(store: Store, host: str) -> tuple[str, ...]:
    """Return the names of a host's labels, sorted."""
    return _kept(store).label_names(host)


def load_label(store: Store, host: str, name: str) -> Label:
    """Return one label. Raises StoreError where it is missing or damaged."""
    label = _kept(store).read_label(host, name)
    if label is None:
        raise StoreError(f'{host} has no tag "{name}"', store.place_of(host), f"driftwatch list {host}")
    return label


def labels_by_file(store: Store, host: str) -> dict[str, list[str]]:
    """Return the label names of each snapshot file of a host; damaged labels are left out."""
    found: dict[str, list[str]] = {}
    for name in label_names(store, host):
        with contextlib.suppress(StoreError):
            found.setdefault(load_label(store, host, name).file, []).append(name)
    return found


def label_history(store: Store, host: str) -> tuple[Label, ...]:
    """Return every setting and removal (``file`` is empty) of a host's labels, oldest first, as far as it was kept."""
    return _kept(store).label_history(host)


def _kept(store: Store) -> Labelled:
    if isinstance(store, FileStore):
        return _FolderLabels(store)
    kept: Labelled = store.labels  # type: ignore[attr-defined]  # every store but the folder brings its own
    return kept


class _FolderLabels:
    """Labels as small files of a folder store."""

    def __init__(self, store: FileStore) -> None:
        self.store = store

    def label_names(self, host: str) -> tuple[str, ...]:
        folder = self._folder(host)
        with readable(folder):
            return tuple(sorted(one.name for one in folder.iterdir() if is_label(one.name))) if folder.is_dir() else ()

    def read_label(self, host: str, name: str) -> Label | None:
        path = self._folder(host) / name
        with readable(path.parent):
            return _parse(path, host, name) if path.exists() else None

    def write_label(self, host: str, label: Label) -> None:
        folder = self._folder(host)
        what = "set" if label.file else "removed"
        try:
            durable.make_folder(folder)
            self.store.admit(folder)
            durable.write_new(folder, f"{label.name}{HISTORY}{compact_time(label.set_at)}-{secrets.token_hex(4)}", records.to_bytes(label))
            if label.file:
                durable.write_over(folder, label.name, records.to_bytes(label))
            else:
                durable.remove(folder, label.name)
            durable.sweep(folder)
        except OSError as failed:
            raise storing_failed(failed, folder, f'the tag "{label.name}" was not {what}') from None

    def label_history(self, host: str) -> tuple[Label, ...]:
        folder = self._folder(host)
        with readable(folder):
            names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
        past = [_parse(folder / one, host, one.partition(HISTORY)[0]) for one in names if is_label(one.partition(HISTORY)[0])]
        return tuple(sorted(dict.fromkeys(past), key=lambda one: one.set_at))

    def _folder(self, host: str) -> Path:
        return self.store.folder(host) / "labels"


def _parse(path: Path, host: str, name: str) -> Label:
    try:
        return records.parse_label(document.read_bounded(path, LARGEST_LABEL, follow=False))
    except (ValueError, KeyError, TypeError):
        raise StoreError(f'the tag "{name}" of {host} is damaged', str(path), f"driftwatch tag {name} REF   sets it again") from None
