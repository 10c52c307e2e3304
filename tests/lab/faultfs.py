"""A FUSE file system whose files misbehave, and a context that mounts it and surely takes it away again.

Run as a program it serves one mount point in the foreground. Files: ok.py reads fine; eio.py fails at every read; half.py says 1 MiB and gives
64 KiB, then EIO; short.py says 1 MiB and gives 10 bytes; endless.py says 1 MiB and never ends; hang.py never answers a read; hangstat.py never
answers a stat; hangdir/ never answers a listing. Only those that ``which`` names are shown. Where it names hangstatfs, the file system never tells
how much room it has.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

MIB = 1 << 20
HALF = 1 << 16
SIZES = {"ok.py": 6, "eio.py": MIB, "half.py": MIB, "short.py": MIB, "endless.py": MIB, "hang.py": MIB, "hangstat.py": 5}
CONNECTIONS = Path("/sys/fs/fuse/connections")


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
    server = subprocess.Popen([sys.executable, __file__, str(where), *which], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    number = None
    try:
        stop = time.monotonic() + 10
        while not os.path.ismount(where):
            if time.monotonic() > stop or server.poll() is not None:
                raise RuntimeError("the mount did not come up")
            time.sleep(0.02)
        number = os.minor(where.stat().st_dev)
        yield where
    finally:
        if number is not None:
            _abort(number)
        server.kill()
        server.wait(10)
        subprocess.run(["fusermount3", "-u", "-z", str(where)], check=False, capture_output=True)


def _abort(number: int) -> None:
    """End all requests of a connection, so that no process stays stuck behind it."""
    is_ours = not any(CONNECTIONS.iterdir())
    if is_ours:
        subprocess.run(["mount", "-t", "fusectl", "none", str(CONNECTIONS)], check=False, capture_output=True)
    with contextlib.suppress(OSError):
        (CONNECTIONS / str(number) / "abort").write_text("1")
    if is_ours:
        subprocess.run(["umount", str(CONNECTIONS)], check=False, capture_output=True)


def contents(name: str, offset: int, size: int) -> bytes | None:
    """Return what a read gives, None for an I/O error."""
    if name == "eio.py" or (name == "half.py" and offset >= HALF):
        return None
    told = {"ok.py": b"x = 1\n", "short.py": b"0123456789", "half.py": b"h" * HALF}.get(name)
    return b"g" * size if told is None else told[offset:offset + size]


def attributes(name: str, which: list[str]) -> dict[str, int] | None:
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


def serve(where: str, which: list[str]) -> None:
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


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
