"""Files that are there whole or not at all, also after a power cut. Knows nothing of snapshots; raises OSError as the system gives it."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

TEMPORARY = ".tmp-"
STALE_S = 3600.0
WRITABLE_BY_OTHERS = 0o022
UNLINKABLE = (1, 38, 95)  # EPERM, ENOSYS, EOPNOTSUPP: file systems without hard links


def write_new(folder: Path, name: str, data: bytes) -> None:
    """Write a file that must not exist yet, and return when it is safe on disk. Raises FileExistsError where it does."""
    temporary = _write_temporary(folder, data)
    try:
        _link(temporary, folder / name)
    finally:
        _discard(temporary)
    sync_folder(folder)


def write_over(folder: Path, name: str, data: bytes) -> None:
    """Write a file in place of what stands there, and return when it is safe on disk. A reader sees the old one or the new one."""
    temporary = _write_temporary(folder, data)
    try:
        temporary.replace(folder / name)
    except OSError:
        _discard(temporary)
        raise
    sync_folder(folder)


def make_folder(path: Path) -> None:
    """Make a folder (mode 0700) and those above it where they are missing; what is new is safe on disk when this returns."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Return when the names in a folder are safe on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(folder: Path, name: str) -> None:
    """Remove a file, and return when that is safe on disk."""
    (folder / name).unlink()
    sync_folder(folder)


def sweep(folder: Path) -> None:
    """Remove temporary files that killed writers left more than an hour before the folder was last written to (so no clock but the file system's counts).

    Only for folders that are the store's own: elsewhere such a name may be somebody else's.
    """
    now = folder.stat().st_mtime
    for path in folder.glob(TEMPORARY + "*"):
        with contextlib.suppress(OSError):
            if now - path.lstat().st_mtime > STALE_S:
                path.unlink()


def _write_temporary(folder: Path, data: bytes) -> Path:
    path = folder / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError as failed:
        _discard(path)
        failed.filename = str(path)
        raise
    return path


def _link(temporary: Path, final: Path) -> None:
    """Give a finished file its name without writing over another one."""
    try:
        os.link(temporary, final)
    except OSError as failed:
        if failed.errno not in UNLINKABLE:
            raise
        if final.exists():
            raise FileExistsError(final) from None
        temporary.rename(final)


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
