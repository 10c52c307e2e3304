"""A command that runs beside us and ends when we do, even when we are killed: a shell waits for the end of a pipe of ours, and then ends the command.

Knows nothing of what the command does.
"""
from __future__ import annotations

import os
import selectors
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .child import end, start

if TYPE_CHECKING:
    from collections.abc import Sequence

# The words come in as arguments. The shell keeps no standard error open: its end is the command's end.
SCRIPT = 'folder="$0"; "$@" </dev/null >/dev/null & exec 2>/dev/null; read -r _; kill "$!"; wait "$!"; rmdir "$folder"'
TURN_S = 0.02
PIECE_BYTES = 65536
KEPT_BYTES = 8 << 10
AFTER_CUT_S = 0.5


class Lifeline:
    """A running command. ``said`` is the last of what it wrote to standard error."""

    def __init__(self, argv: Sequence[str], folder: str) -> None:
        """Start it; ``folder`` is taken away at its end where it is empty then. LinkLost where it cannot be started."""
        self._child = start(["/bin/sh", "-c", SCRIPT, folder, *argv])
        self._complaints = self._child.stderr.fileno() if self._child.stderr else -1
        os.set_blocking(self._complaints, False)
        self._has_ended = False
        self._said = b""

    @property
    def said(self) -> str:
        """Return the last 8 KiB of what it wrote to standard error."""
        return self._said.decode("utf-8", "replace")

    @property
    def is_alive(self) -> bool:
        """Return whether it runs still; takes what it wrote meanwhile."""
        while not self._has_ended:
            try:
                piece = os.read(self._complaints, PIECE_BYTES)
            except BlockingIOError:
                break
            except OSError:
                piece = b""
            self._said = (self._said + piece)[-KEPT_BYTES:]
            self._has_ended = not piece
        return not self._has_ended

    def is_there(self, path: str, wait_s: float) -> bool:
        """Wait until it has made a file, and return whether it did before it ended and in ``wait_s`` seconds."""
        stop = time.monotonic() + wait_s
        with selectors.DefaultSelector() as told:
            told.register(self._complaints, selectors.EVENT_READ)
            while not Path(path).exists():
                if not self.is_alive or time.monotonic() >= stop:
                    return False
                told.select(TURN_S)
        return True

    def end(self) -> None:
        """Cut the line, and wait a moment for the end; then the command is killed."""
        self._has_ended = True
        with suppress(OSError):
            end(self._child, AFTER_CUT_S)
