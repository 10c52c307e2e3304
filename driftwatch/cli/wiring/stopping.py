"""Ctrl-C while hosts are asked: once stops asking and keeps what was told, twice leaves at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from driftwatch.transports.wire import LinkLost

STOPPED = 130
CUT = "stopped by Ctrl-C"


class StoppedByUser(LinkLost):
    """The line to a host was cut because the user wants to stop; what it told before is kept."""

    def __init__(self) -> None:
        super().__init__(CUT)


class Stop:
    """Whether the user wants to stop, and the threads that then have to hear of it."""

    def __init__(self) -> None:
        self.is_asked = False
        self._threads: set[int] = set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen for Ctrl-C while hosts are asked."""
        before = signal.signal(signal.SIGINT, lambda *_: self._first())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Let this thread be interrupted while it asks a host."""
        mine = threading.get_ident()
        self._threads.add(mine)
        try:
            yield
        finally:
            self._threads.discard(mine)

    def _first(self) -> None:
        """Cut the lines: an exception comes up in each thread that asks, which waits for its host in short turns."""
        self.is_asked = True
        signal.signal(signal.SIGINT, lambda *_: os._exit(STOPPED))
        mine = threading.get_ident()
        for other in self._threads - {mine}:
            _raise_in(other)
        if mine in self._threads:
            raise StoppedByUser


def _raise_in(thread: int) -> None:
    import ctypes  # noqa: PLC0415  # only for those who stop in the middle

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(StoppedByUser))
