"""A FUSE file system that shows a real folder and misbehaves at the places that it is told, and a context that surely takes it away again (mounting.py).

Faults by path below the folder ("" is the folder itself): ``hangread``, ``hangstat`` and ``hanglist`` never answer; ``stale`` gives ESTALE to every
question about the place; ``half`` says 1 MiB and gives 64 KiB, then EIO; ``short`` says 1 MiB and gives 10 bytes; ``endless`` says 1 MiB and never ends;
``changing`` has another time whenever it is asked.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.lab.mounting import served

MIB = 1 << 20
HALF = 1 << 16


@contextlib.contextmanager
def mounted(real: Path, where: Path, faults: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Show ``real`` at ``where`` with these faults and yield the server; at the end every stuck request is aborted and the mount is gone."""
    where.mkdir(exist_ok=True)
    with served("mirrorfs", where, str(real), str(where), json.dumps(faults)) as server:
        yield server


def contents(fault: str, offset: int, size: int) -> bytes:
    """Return what a read of a file with a fault gives; raises OSError where it fails."""
    if fault == "half" and offset >= HALF:
        raise OSError(errno.EIO, "")
    told = {"half": b"h" * HALF, "short": b"0123456789"}.get(fault)
    return b"g" * size if told is None else told[offset:offset + size]


def attributes(path: Path, fault: str) -> dict[str, int]:
    """Return the lstat of a real file as its fault makes it."""
    found = os.lstat(path)
    told = {key: getattr(found, key) for key in ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_mtime")}
    if fault in {"half", "short", "endless"}:
        told["st_size"] = MIB
    if fault == "changing":
        told["st_mtime"] = time.monotonic()
    return told


class Place:
    """What is shown: a folder and the faults below it."""

    def __init__(self, real: str, faults: dict[str, str]) -> None:
        self.real = real
        self.faults = faults
        self.never = threading.Event()

    def at(self, path: str, question: str = "") -> tuple[Path, str]:
        """Return the real file and its fault; never returns, or raises OSError, where the fault says so."""
        fault = self.faults.get(path.lstrip("/"), "")
        if question and fault == "hang" + question:
            self.never.wait()
        if fault == "stale":
            raise OSError(errno.ESTALE, "")
        return Path(self.real + path), fault

    def getattr(self, path: str) -> dict[str, int]:
        return attributes(*self.at(path, "stat"))

    def readdir(self, path: str) -> list[str]:
        return [".", "..", *(one.name for one in self.at(path, "list")[0].iterdir())]

    def readlink(self, path: str) -> str:
        return str(self.at(path)[0].readlink())

    def read(self, path: str, size: int, offset: int) -> bytes:
        where, fault = self.at(path, "read")
        if fault in {"half", "short", "endless"}:
            return contents(fault, offset, size)
        return where.read_bytes()[offset:offset + size]


def serve(real: str, where: str, told: str) -> None:
    """Serve the folder until it is unmounted."""
    import mfusepy as fuse  # noqa: PLC0415  # only the server needs it

    place = Place(real, json.loads(told))

    def ask(question, *words):
        try:
            return question(*words)
        except OSError as failed:
            raise fuse.FuseOSError(failed.errno) from None

    class Mirror(fuse.Operations):
        use_ns = False

        def getattr(self, path, fh=None):
            return ask(place.getattr, path)

        def readdir(self, path, fh):
            return ask(place.readdir, path)

        def readlink(self, path):
            return ask(place.readlink, path)

        def open(self, path, fi):
            fi.direct_io = 1  # the kernel then hands reads through and does not trust st_size
            return 0

        def read(self, path, size, offset, fh):
            return ask(place.read, path, size, offset)

    fuse.FUSE(Mirror(), where, foreground=True, raw_fi=True, attr_timeout=0, entry_timeout=0)
