"""What runs below us, and how it is ended: children by way of /proc, a bounded wait, and a report of what could not be ended.

Knows nothing of probes. Signals go to our own descendants alone.
"""
from __future__ import annotations

import os
import signal
import time

from .typed import Any, Dict, Iterable, List, Optional

PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Make orphans below us our own children, so that none escapes. Where the kernel refuses, orphans go to init as ever."""
    import ctypes  # noqa: PLC0415  # who only looks at processes need not load it

    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def children(pid: int) -> List[int]:
    """Return the children of all threads of a process; none where it is gone."""
    found: List[int] = []
    base = "/proc/%d/task" % pid
    try:
        threads = os.listdir(base)
    except OSError:
        return found
    for thread in threads:
        found += map(int, _text("%s/%s/children" % (base, thread)).split())
    return found


def below(pid: int) -> List[int]:
    """Return all descendants of a process, the deepest last."""
    found: List[int] = []
    queue = children(pid)
    while queue:
        one = queue.pop(0)
        found.append(one)
        queue += children(one)
    return found


def state(pid: int) -> str:
    """Return the state letter of a process, or "" if it is gone."""
    tail = _text("/proc/%d/stat" % pid).rpartition(")")[2].split()
    return tail[0] if tail else ""


def is_alive(pid: int) -> bool:
    """Tell whether a process still runs; a zombie does not."""
    return state(pid) not in ("", "Z", "X")


def describe(pid: int) -> Dict[str, Any]:
    """Return pid, state, kernel wait channel and short name of a process that had to be left. None of these reads can hang."""
    name = _text("/proc/%d/stat" % pid).partition("(")[2].rpartition(")")[0]
    return {"pid": pid, "state": state(pid), "wchan": _text("/proc/%d/wchan" % pid) or "0", "name": name}


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to each; those that are gone are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def reap(pid: int) -> Optional[int]:
    """Collect a child that has ended, without waiting: its wait status, 0 if it is no longer ours to wait for, None while it runs."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
        return status if found else None
    except ChildProcessError:
        return 0


def ended_how(status: int) -> str:
    """Return in words how a process ended, from its wait status."""
    if not os.WIFSIGNALED(status):
        return "it left with exit code %d" % os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    return "signal %d%s" % (number, "; out of memory?" if number == signal.SIGKILL else "")


def end_tree(pid: int, wait_s: float) -> List[Dict[str, Any]]:
    """KILL a child of ours that is not reaped yet, its group and all below it, and reap it; return what still lives after ``wait_s`` seconds, described."""
    stop = time.monotonic() + wait_s
    known = {pid, *below(pid)}
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass
    while True:
        send(known, signal.SIGKILL)
        for one in known:
            reap(one)
        known = {one for one in known if is_alive(one)}  # what is gone may be the number of another
        if not known or time.monotonic() > stop:
            return [describe(one) for one in known]
        time.sleep(0.005)
        known.update(*map(below, known))


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 65536).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(descriptor)
