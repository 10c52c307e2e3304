"""What a run leaves in the process that made it: processes below it, descriptors, threads, temporary files, memory. Knows nothing of snapshots."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from driftwatch.agent import processes
from driftwatch.store.durable import STALE_S, TEMPORARY

ENDING_S = 8.0
TURN_S = 0.05
LEAST_VALUES = 8
RESET_PEAK = "5"
IN_CREATE = 0x100
EVENTS_BYTES = 1 << 16


class Watch:
    """This process as it was when all that it needs was running; what is there beside that later was left behind."""

    def __init__(self) -> None:
        processes.become_subreaper()
        self._processes: frozenset[int] = frozenset()
        self._descriptors: frozenset[str] = frozenset()
        self.begin()

    def begin(self) -> None:
        """Take what is there now as what belongs here."""
        self._processes, self._descriptors = frozenset(processes.below(os.getpid())), frozenset(_descriptors())

    def left(self, within_s: float = ENDING_S) -> list[str]:
        """Return what was left behind, described; what has just been ended gets a moment."""
        stop = time.monotonic() + within_s
        while (found := [*self._new_processes(), *self._new_descriptors(), *_threads()]) and time.monotonic() < stop:
            time.sleep(TURN_S)
        return found

    def _new_processes(self) -> list[str]:
        new = [pid for pid in processes.below(os.getpid()) if pid not in self._processes]
        for pid in new:
            processes.reap(pid)
        return [f"process {pid}, {processes.state(pid)}: {_command_line(pid)}" for pid in new if processes.is_alive(pid)]

    def _new_descriptors(self) -> list[str]:
        return [f"descriptor of {one}" for one in _descriptors() if one not in self._descriptors]


def _descriptors() -> list[str]:
    """Return what our descriptors are of, each with its number."""
    found = []
    for entry in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError):  # the listing's own
            found.append(f"{entry.name} {entry.readlink()}")
    return found


def _threads() -> list[str]:
    return [f"thread {one.name}" for one in threading.enumerate() if one is not threading.main_thread()]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return "gone"


def forget_peak() -> None:
    """Let the peak of this process's memory begin anew."""
    Path("/proc/self/clear_refs").write_text(RESET_PEAK, encoding="ascii")


def peak_mib() -> float:
    """Return the peak of this process's memory since then, in MiB."""
    return int(Path("/proc/self/status").read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) / 1024


def growth(peaks: Sequence[float]) -> float | None:
    """Return the peak of the last quarter of the runs, divided by that of the first; None where there are too few."""
    quarter = len(peaks) // 4
    return max(peaks[-quarter:]) / max(peaks[:quarter]) if len(peaks) >= LEAST_VALUES else None


class Births:
    """Counts the temporary files that are being made in a folder and all below it, from now on."""

    def __init__(self, top: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in (top, *(path for path in top.rglob("*") if path.is_dir())):
            libc.inotify_add_watch(self._descriptor, os.fsencode(folder), IN_CREATE)
        self._count = 0

    def count(self, wait_s: float) -> int:
        """Return how many were made until now, after a wait for the next one."""
        if select.select([self._descriptor], [], [], wait_s)[0]:
            self._count += os.read(self._descriptor, EVENTS_BYTES).count(TEMPORARY.encode())
        return self._count

    def close(self) -> None:
        """Look no more."""
        os.close(self._descriptor)


def temporaries(*folders: Path) -> frozenset[Path]:
    """Return the temporary files below some folders."""
    return frozenset(path for folder in folders for path in folder.rglob(TEMPORARY + "*"))


def make_old(paths: frozenset[Path]) -> None:
    """Let files have been left more than an hour ago."""
    for path in paths:
        then = path.stat().st_mtime - 2 * STALE_S
        os.utime(path, (then, then))
