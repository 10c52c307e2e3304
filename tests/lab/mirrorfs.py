"""A FUSE file system that shows a real folder and misbehaves at the places that it is told, and a context that surely takes it away again.

Run as a program it serves one mount point in the foreground. Faults by path below the folder ("" is the folder itself): ``hangread``, ``hangstat`` and
``hanglist`` never answer; ``stale`` gives ESTALE to every question about the place; ``half`` says 1 MiB and gives 64 KiB, then EIO; ``short`` says 1 MiB
and gives 10 bytes; ``endless`` says 1 MiB and never ends; ``changing`` has another time whenever it is asked.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.lab.faultfs import _abort

MIB = 1 << 20
HALF = 1 << 16
PROGRAM = "import sys; from tests.lab.mirrorfs import serve; serve(*sys.argv[1:])"


@contextlib.contextmanager
def mounted(real: Path, where: Path, faults: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Show ``real`` at ``where`` with these faults and yield the server; at the end every stuck request is aborted and the mount is gone."""
    where.mkdir(exist_ok=True)
    server = subprocess.Popen([sys.executable, "-c", PROGRAM, str(real), str(where), json.dumps(faults)], cwd=Path(__file__).parents[2],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    number = None
    try:
        stop = time.monotonic() + 10
        while not os.path.ismount(where):
            if time.monotonic() > stop or server.poll() is not None:
                raise RuntimeError("the mount did not come up")
            time.sleep(0.02)
        number = os.minor(where.stat().st_dev)
        yield server
    finally:
        if number is not None:
            _abort(number)
        server.kill()
        server.wait(10)
        subprocess.run(["fusermount3", "-u", "-z", str(where)], check=False, capture_output=True)


def contents(fault: str, offset: int, size: int) -> bytes:
    """Return what a read of a file with a fault gives; raises OSError where it fails."""
    if fault == "half" and offset >= HALF:
        raise OSError(errno.EIO, "")
    told = {"half": b"h" * HALF, "short": b"0123456789"}.get(fault)
    return b"g" * size if told is None else told[offset:offset + size]


def attributes(path: str, fault: str) -> dict[str, int]:
    """Return the lstat of a real file as its fault makes it."""
    found = os.lstat(path)
    told = {key: getattr(found, key) for key in ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_mtime")}
    if fault in {"half", "short", "endless"}:
        told["st_size"] = MIB
    if fault == "changing":
        told["st_mtime"] = time.monotonic()
    return told


def serve(real: str, where: str, told: str) -> None:
    """Serve the folder until it is unmounted."""
    import mfusepy as fuse  # noqa: PLC0415  # only the server needs it

    faults: dict[str, str] = json.loads(told)
    never = threading.Event()

    class Mirror(fuse.Operations):
        use_ns = False

        def place(self, path, question=""):
            fault = faults.get(path.lstrip("/"), "")
            if question and fault == "hang" + question:
                never.wait()
            if fault == "stale":
                raise fuse.FuseOSError(errno.ESTALE)
            return real + path, fault

        def getattr(self, path, fh=None):
            try:
                return attributes(*self.place(path, "stat"))
            except FileNotFoundError:
                raise fuse.FuseOSError(errno.ENOENT) from None

        def readdir(self, path, fh):
            return [".", "..", *os.listdir(self.place(path, "list")[0])]

        def readlink(self, path):
            return os.readlink(self.place(path)[0])

        def open(self, path, fi):
            fi.direct_io = 1  # the kernel then hands reads through and does not trust st_size
            return 0

        def read(self, path, size, offset, fh):
            where_it_is, fault = self.place(path, "read")
            if fault in {"half", "short", "endless"}:
                try:
                    return contents(fault, offset, size)
                except OSError as failed:
                    raise fuse.FuseOSError(failed.errno) from None
            with open(where_it_is, "rb") as file:
                file.seek(offset)
                return file.read(size)

    fuse.FUSE(Mirror(), where, foreground=True, raw_fi=True, attr_timeout=0, entry_timeout=0)
