"""What audits leave behind: one immutable file a run, ROOT/audits/audit--TIME--ID.json, and what was told of each host, ROOT/audits/told/HOST.json.

A lock keeps two audits of one store apart. It is the kernel's own (flock), so it dies with whoever holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from driftwatch.store import document, durable
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.files import readable
from driftwatch.store.names import compact_time, slug
from driftwatch.store.rescue import storing_failed
from driftwatch.store.strict_json import parse_own

FOLDER = "audits"
TOLD = "told"
LOCK = "lock"
LARGEST_RUN = 256 << 20
LARGEST_TOLD = 64 << 20
ID_DIGITS = 12
_RUN = re.compile(r"audit--\d{8}T\d{6}Z--[0-9a-f]{12}\.json\Z")


def save_run(root: Path, taken_at: str, data: bytes) -> Path:
    """Store an audit's document, and return its file once it is safe on disk. Raises StoreError (code 4) where that fails."""
    folder = root / FOLDER
    name = f"audit--{compact_time(taken_at)}--{hashlib.sha256(data).hexdigest()[:ID_DIGITS]}.json"
    try:
        durable.make_folder(folder)
        with contextlib.suppress(FileExistsError):
            durable.write_new(folder, name, data)
        durable.sweep(folder)
        if (folder / TOLD).is_dir():
            durable.sweep(folder / TOLD)
    except OSError as failed:
        raise storing_failed(failed, folder, "the audit was not stored") from None
    return folder / name


def runs(root: Path) -> tuple[Path, ...]:
    """Return the files of all stored audits, oldest first. Raises StoreError where the folder cannot be read."""
    folder = root / FOLDER
    with readable(folder):
        return tuple(sorted(one for one in folder.iterdir() if _RUN.match(one.name))) if folder.is_dir() else ()


def load_run(path: Path) -> Mapping[str, Any]:
    """Return a stored audit's document. Raises StoreError where it cannot be read."""
    try:
        found = parse_own(document.read_bounded(path, LARGEST_RUN, follow=False))
    except ValueError as wrong:
        raise StoreError(f"{path.name} is damaged: {wrong}", str(path), "remove it") from None
    if not isinstance(found, dict):
        raise StoreError(f"{path.name} is no audit", str(path), "remove it")
    return found


def load_told(root: Path, host: str) -> Any:
    """Return what is kept of a host as JSON values, None where nothing is. Raises StoreError where it is damaged."""
    path = _told_file(root, host)
    with readable(path.parent):
        if not path.exists():
            return None
    try:
        return parse_own(document.read_bounded(path, LARGEST_TOLD, follow=False))
    except ValueError as wrong:
        raise StoreError(f"{path.name} is damaged: {wrong}", str(path), "remove it: the next audit then tells everything again") from None


def save_told(root: Path, host: str, told: Mapping[str, Any]) -> None:
    """Keep what was told of a host. Raises StoreError (code 4) where that fails."""
    path = _told_file(root, host)
    try:
        durable.make_folder(path.parent)
        durable.write_over(path.parent, path.name, json.dumps(told, sort_keys=True).encode("ascii"))
    except OSError as failed:
        raise storing_failed(failed, path.parent, f"what was told of {host} was not kept") from None


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the store's audit lock. Raises StoreError where another audit holds it, with its process id as far as that is told."""
    folder = root / FOLDER
    try:
        durable.make_folder(folder)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as failed:
        raise storing_failed(failed, folder, "the audit cannot begin") from None
    try:
        _hold(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        said = "another audit of this store is running" + (f", process {holder}" if holder.isdigit() else "")
        raise StoreError(said, str(folder / LOCK), "wait for it, or use another --store", NOT_STORED) from None
    except OSError as failed:
        raise StoreError(f"the store's file system cannot lock: {(failed.strerror or str(failed)).lower()}", str(folder), "keep the store elsewhere") from None
    with contextlib.suppress(OSError):
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _told_file(root: Path, host: str) -> Path:
    return root / FOLDER / TOLD / f"{slug(host)}.json"
