"""Runs one command, or one question in a child of its own, and comes back in time whatever they do.

The command has its own session; both outputs are read without blocking and cut at 1 MiB; at the deadline all below it gets TERM, then KILL,
and a bounded wait. What outlives that is named. ``subprocess.run(timeout=…)`` would wait for ever on a process in uninterruptible sleep.
"""
from __future__ import annotations

import errno
import os
import select
import signal
import time

from . import processes
from .host import Ran
from .probe import Absent, Denied, TimedOut, Unreadable
from .spawned import Spawned, spawn
from .typed import Any, Callable, Dict, List, NoReturn, Tuple

CAP = 1 << 20
GRACE_S = 0.5


class _Pump:
    """Reads several pipes until all are closed, a deadline comes, or one gives more than the cap."""

    def __init__(self, descriptors: List[int], cap: int) -> None:
        self.open = list(descriptors)
        self.data: Dict[int, bytearray] = {one: bytearray() for one in descriptors}
        self.cap = cap
        self.is_over = False
        for one in descriptors:
            os.set_blocking(one, False)

    def step(self, wait_s: float) -> None:
        ready = select.select(self.open, [], [], max(0.0, wait_s))[0]
        for one in ready:
            try:
                piece = os.read(one, 65536)
            except BlockingIOError:
                continue
            if not piece:
                self.open.remove(one)
            self.data[one] += piece[: self.cap + 1 - len(self.data[one])]
            self.is_over = self.is_over or len(self.data[one]) > self.cap


def run(argv: List[str], deadline_s: float, extra: Dict[str, str], cap: int = CAP) -> Tuple[Ran, str]:
    """Return what the command printed and a note (that a pipe was held, or ""). Raises Absent, Denied, TimedOut, Unreadable (more than ``cap`` bytes)."""
    command = " ".join(argv)
    try:
        child = spawn(argv, dict(os.environ, LC_ALL="C.UTF-8", **extra))
    except OSError as failed:
        raise Unreadable("%s: cannot be started: %s" % (argv[0], failed.strerror)) from None
    pump = _Pump(child.pipes, cap)
    try:
        note = _follow(child, pump, time.monotonic() + deadline_s)
    finally:
        left = _end(child)
    remains = "; left behind: pid %d in state %s, wchan %s" % (left[0]["pid"], left[0]["state"], left[0]["wchan"]) if left else ""
    if note == "timeout":
        raise TimedOut("%s: did not end in %g s%s" % (command, deadline_s, remains))
    if note == "flood":
        raise Unreadable("%s: output limit: more than %d bytes, cut%s" % (command, cap, remains))
    out, err, failed_with = (bytes(pump.data[one]) for one in child.pipes)
    if failed_with:
        _refuse_start(argv[0], int(failed_with))
    return Ran(child.rc or 0, *(text.decode("utf-8", "surrogateescape") for text in (out, err))), "%s: %s" % (command, note) if note else ""


def _refuse_start(program: str, number: int) -> NoReturn:
    if number in (errno.ENOENT, errno.ENOTDIR):
        raise Absent("%s: no such command" % program)
    if number in (errno.EACCES, errno.EPERM):
        raise Denied("%s: %s" % (program, os.strerror(number)))
    raise Unreadable("%s: cannot be started: %s" % (program, os.strerror(number)))


def _follow(child: Spawned, pump: _Pump, stop: float) -> str:
    """Read until the end; return "" or what went wrong: timeout, flood, or that a grandchild held the pipe."""
    while True:
        if pump.is_over:
            return "flood"
        left = stop - time.monotonic()
        if left <= 0:
            return "timeout"
        if child.has_ended():
            break
        if pump.open:
            pump.step(min(left, 0.05))
        else:
            time.sleep(0.002)
    grace = min(time.monotonic() + GRACE_S, stop)
    while pump.open and not pump.is_over and time.monotonic() < grace:
        pump.step(0.05)
    return "flood" if pump.is_over else "pipe held: it ended, a process below it kept its output open" if pump.open else ""


def _end(child: Spawned) -> List[Dict[str, Any]]:
    """End the command with all below it, close our ends; return what could not be ended. Always done, also after success."""
    if not child.has_ended():
        family = [child.pid, *processes.below(child.pid)]
        processes.send(family, signal.SIGTERM)
        stop = time.monotonic() + GRACE_S
        while not child.has_ended() and time.monotonic() < stop:
            time.sleep(0.01)
    left = processes.end_tree(child.pid, GRACE_S)
    child.close()
    return left


def apart(question: Callable[[], bytes], deadline_s: float, what: str) -> bytes:
    """Return the bytes that a question gives in a child of its own. TimedOut after ``deadline_s``; Unreadable if there is no child, or more than 8 MiB come."""
    pipe: Tuple[int, ...] = ()
    try:
        pipe = reader, writer = os.pipe()
        child = os.fork()
    except OSError as failed:
        for end in pipe:
            os.close(end)
        raise Unreadable("%s: no child could be started to look there: %s" % (what, failed.strerror)) from None
    if child == 0:
        _answer(question, writer)
    os.close(writer)
    pump = _Pump([reader], 8 * CAP)
    stop = time.monotonic() + deadline_s
    while pump.open and time.monotonic() < stop and not pump.is_over:
        pump.step(min(0.05, stop - time.monotonic()))
    finished = not pump.open
    waited = "; it waited in state %(state)s, wchan %(wchan)s" % processes.describe(child)
    left = processes.end_tree(child, GRACE_S)
    os.close(reader)
    if pump.is_over:
        raise Unreadable("%s: the answer is cut: more than %d bytes" % (what, pump.cap))
    if not finished:
        raise TimedOut("%s: no answer in %g s%s%s" % (what, deadline_s, waited, "; left behind: pid %d in state %s, wchan %s" % (
            left[0]["pid"], left[0]["state"], left[0]["wchan"]) if left else ""))
    return bytes(pump.data[reader])


def _answer(question: Callable[[], bytes], writer: int) -> None:
    try:
        view = memoryview(question())
        while view:
            view = view[os.write(writer, view):]
    finally:
        os._exit(0)
