"""Labels: small files ROOT/hosts/HOST/labels/NAME that point at one stored snapshot, with when and why. Written whole or not at all."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from driftwatch.store import document, durable
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry, FileStore, readable
from driftwatch.store.names import check_label, is_label
from driftwatch.store.rescue import storing_failed

LARGEST_LABEL = 1 << 16


@dataclass(frozen=True)
class Label:
    """A label of a host: the file it points at, that snapshot's id digits, when it was set (UTC), and a note."""

    name: str
    file: str
    id: str
    set_at: str
    note: str = ""


def set_label(store: FileStore, entry: Entry, name: str, *, set_at: str, note: str = "") -> Label:
    """Point a label of the entry's host at the entry, and return it when it is safe on disk. An older one of that name is replaced."""
    label = Label(check_label(name), entry.path.name, entry.name.short_id, set_at, note)
    folder = _folder(store, entry.host)
    try:
        durable.make_folder(folder)
        store.admit(folder)
        durable.write_over(folder, name, (json.dumps(asdict(label), sort_keys=True) + "\n").encode())
    except OSError as failed:
        raise storing_failed(failed, folder, f'the tag "{name}" was not set') from None
    return label


def drop_label(store: FileStore, host: str, name: str) -> None:
    """Remove a label; the snapshot stays. Raises StoreError where there is no such label."""
    folder = _folder(store, host)
    try:
        durable.remove(folder, check_label(name))
    except FileNotFoundError:
        raise StoreError(f'{host} has no tag "{name}"', str(folder), f"driftwatch list {host}") from None
    except OSError as failed:
        raise storing_failed(failed, folder, f'the tag "{name}" was not removed') from None


def label_names(store: FileStore, host: str) -> tuple[str, ...]:
    """Return the names of a host's labels, sorted."""
    folder = _folder(store, host)
    with readable(folder):
        return tuple(sorted(one.name for one in folder.iterdir() if is_label(one.name))) if folder.is_dir() else ()


def load_label(store: FileStore, host: str, name: str) -> Label:
    """Return one label. Raises StoreError where it is missing or damaged."""
    path = _folder(store, host) / name
    try:
        told = json.loads(document.read_bounded(path, LARGEST_LABEL, follow=False))
        return Label(**{key: str(told[key]) for key in ("name", "file", "id", "set_at", "note")})
    except (ValueError, KeyError, TypeError):
        raise StoreError(f'the tag "{name}" of {host} is damaged', str(path), f"driftwatch tag {name} REF   sets it again") from None


def labels_by_file(store: FileStore, host: str) -> dict[str, list[str]]:
    """Return the label names of each snapshot file of a host; damaged labels are left out."""
    found: dict[str, list[str]] = {}
    for name in label_names(store, host):
        with contextlib.suppress(StoreError):
            found.setdefault(load_label(store, host, name).file, []).append(name)
    return found


def _folder(store: FileStore, host: str) -> Path:
    return store.folder(host) / "labels"
