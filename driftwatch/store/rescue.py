"""What becomes of a snapshot that could not be stored: it is written somewhere else, and the error says why, with how much room, and where to."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from driftwatch.store.errors import NOT_STORED, StoreError

MEMORY = Path("/dev/shm")  # noqa: S108  # a place in memory, for when all disks are full; the file is made with O_EXCL and mode 0600
WORDS = {errno.EEXIST: "a different file stands at its name"}
FULL = (errno.ENOSPC, errno.EDQUOT)
MENDS = {
    **dict.fromkeys(FULL, "make room"), errno.EROFS: "mount it for writing", errno.ENOTDIR: "move the file away that stands where a folder should be",
    errno.EACCES: "let this user write there", errno.EPERM: "let this user write there",
}


def storing_failed(failed: OSError, folder: Path, what: str, do: str = "") -> StoreError:
    """Return the error for something that could not be written into a folder of the store."""
    why = WORDS.get(failed.errno or 0) or (failed.strerror or str(failed)).lower()
    mends = [one for one in (MENDS.get(failed.errno or 0), "name another store with --store") if one]
    return StoreError(f"{what}: {why}", f"{folder}{_room(folder) if failed.errno in FULL else ''}", do or ", or ".join(mends), NOT_STORED)


def rescue(name: str, data: bytes) -> str:
    """Write a snapshot to the first place that takes it, and return the sentence that says where."""
    for path in _places(name):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            path.unlink()
            continue
        return f"it is complete and was written to {path}"
    return "it could not be written anywhere else: make room, or repeat it with --out FILE on another disk"


def _room(folder: Path) -> str:
    """Return how much room is left where the folder stands or would stand: bytes and inodes, since a lack of either gives the same error."""
    for one in (folder, *folder.parents):
        try:
            found = os.statvfs(one)
        except OSError:
            continue
        return f" ({found.f_bavail * found.f_frsize:,} B free, {found.f_favail:,} inodes)"
    return ""


def _places(name: str) -> Iterator[Path]:
    for folder in (MEMORY, Path(tempfile.gettempdir())):
        yield folder / f"{name}.json"
        yield folder / f"{name}-{secrets.token_hex(3)}.json"
