"""A FUSE file system whose files misbehave, and a context that mounts it and surely takes it away again (mounting.py).

Files: ok.py reads fine; eio.py fails at every read; half.py says 1 MiB and gives 64 KiB, then EIO; short.py says 1 MiB and gives 10 bytes; endless.py
says 1 MiB and never ends; hang.py never answers a read; hangstat.py never answers a stat; hangdir/ never answers a listing. Only those that ``which``
names are shown. Where it names hangstatfs, the file system never tells how much room it has.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.lab.mounting import served

MIB = 1 << 20
HALF = 1 << 16
SIZES = {"ok.py": 6, "eio.py": MIB, "half.py": MIB, "short.py": MIB, "endless.py": MIB, "hang.py": MIB, "hangstat.py": 5}


def why_not() -> str:
    """Return why no FUSE file system can be mounted here, or ""."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    if shutil.which("fusermount3") is None:
        return "fuse3 is not installed"
    try:
        import mfusepy  # noqa: F401, PLC0415  # whether it loads is the question
    except (ImportError, OSError) as missing:
        return f"mfusepy does not load: {missing}"
    return ""


@contextlib.contextmanager
def mounted(where: Path, *which: str) -> Iterator[Path]:
    """Yield a mount point that shows the named files; at the end every stuck request is aborted and the mount is gone."""
    where.mkdir()
    with served("faultfs", where, str(where), *which):
        yield where


def contents(name: str, offset: int, size: int) -> bytes | None:
    """Return what a read gives, None for an I/O error."""
    if name == "eio.py" or (name == "half.py" and offset >= HALF):
        return None
    told = {"ok.py": b"x = 1\n", "short.py": b"0123456789", "half.py": b"h" * HALF}.get(name)
    return b"g" * size if told is None else told[offset:offset + size]


def attributes(name: str, which: tuple[str, ...]) -> dict[str, int] | None:
    """Return what a stat gives, None for no such file."""
    if name in ("", "hangdir"):
        return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
    if name in which and name in SIZES:
        return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": SIZES[name]}
    return None


class Room:
    """Says how much room the file system has, or never answers that."""

    is_silent = False

    def statfs(self, _path: str) -> dict[str, int]:
        """Return the room that is told."""
        if self.is_silent:
            threading.Event().wait()
        return {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 1000, "f_bfree": 400, "f_bavail": 300, "f_files": 50, "f_ffree": 20}


def serve(where: str, *which: str) -> None:
    """Serve the file system until it is unmounted."""
    import mfusepy as fuse  # noqa: PLC0415  # only the server needs it

    never = threading.Event()

    class Faults(Room, fuse.Operations):
        use_ns = False

        def getattr(self, path, fh=None):
            if path == "/hangstat.py":
                never.wait()
            told = attributes(path.lstrip("/"), which)
            if told is None:
                raise fuse.FuseOSError(errno.ENOENT)
            return told

        def readdir(self, path, fh):
            if path == "/hangdir":
                never.wait()
            return [".", "..", *which]

        def open(self, path, fi):
            fi.direct_io = 1  # the kernel then hands reads through and does not trust st_size
            return 0

        def read(self, path, size, offset, fh):
            if path == "/hang.py":
                never.wait()
            told = contents(path.lstrip("/"), offset, size)
            if told is None:
                raise fuse.FuseOSError(errno.EIO)
            return told

    Faults.is_silent = "hangstatfs" in which
    fuse.FUSE(Faults(), where, foreground=True, raw_fi=True)
