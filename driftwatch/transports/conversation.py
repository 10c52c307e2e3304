"""The conversation with one agent, whatever carries its bytes: what to send when, which frames to hand on, and how it went if it went wrong.

Does no input or output itself. The line feeds it what came and sends what stands in ``outgoing``.
"""
from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .wire import END, NO_PYTHON, OLD_PYTHON, READY, FrameReader, LinkLost, addressed, visible

if TYPE_CHECKING:
    from .wire import Shipment

CAP_BYTES = 64 << 20
COMPLAINTS_KEPT_BYTES = 8 << 10
GRACE_S = 1.0


class Conversation:
    """State of one stream: calling (no Python is ready yet), running, over (the end frame came)."""

    def __init__(self, shipment: Shipment, deadline_s: float) -> None:
        self._shipment = shipment
        self._reader = FrameReader(shipment.nonce)
        self._old_pythons: list[str] = []
        self._heard_bytes = 0
        self._frames = 0
        self.deadline_s = deadline_s
        self.deadline = time.monotonic() + deadline_s
        self.stop = self.deadline + GRACE_S
        self.outgoing = bytearray(b"\n")  # a .bashrc that reads a line shall read this one
        self.complaints = b""
        self.is_running = self.is_over = self.has_no_python = False

    def left_s(self) -> float:
        """Return the seconds until the line is cut, 0 at least."""
        return max(0.0, self.stop - time.monotonic())

    def postpone(self, wait_s: float) -> None:
        """Let the host's time begin later: nobody could connect to it before."""
        self.deadline += wait_s
        self.stop += wait_s

    def hear(self, piece: bytes) -> list[dict[str, Any]]:
        """Return the agent's frames in this piece of its output. LinkLost where it is too much, or the agent had to be started twice."""
        self._count(piece)
        told: list[dict[str, Any]] = []
        for frame in self._reader.feed(piece):
            if self.is_over:
                break
            kind = frame.get("frame")
            if kind in (READY, OLD_PYTHON, NO_PYTHON):
                self._meet(frame)
            elif self.is_running:
                told.append(frame)
                self.is_over = kind == END
        self._frames += len(told)
        return told

    def overhear(self, piece: bytes) -> None:
        """Keep the last 8 KiB of what came on standard error."""
        self._count(piece)
        self.complaints = (self.complaints + self._complained(piece))[-COMPLAINTS_KEPT_BYTES:]

    def _complained(self, piece: bytes) -> bytes:
        """Return what of this piece is worth keeping."""
        return piece

    def _count(self, piece: bytes) -> None:
        self._heard_bytes += len(piece)
        if self._heard_bytes > CAP_BYTES:
            raise LinkLost(f"the host sent more than {CAP_BYTES >> 20} MiB and was cut off",
                           "look at what its login shell prints, or ask for less with --only")

    def _meet(self, frame: dict[str, Any]) -> None:
        """Send the payload to a Python that is ready; remember one that is too old."""
        if self.is_running:
            raise LinkLost(f"the agent ended before its end frame{self._quoted()}", "take the snapshot again, and report this if it stays")
        if frame["frame"] == READY:
            self.is_running = True
            self.outgoing += addressed(self._shipment.payload(self.deadline - time.monotonic()))
        elif frame["frame"] == OLD_PYTHON:
            self._old_pythons.append(visible(f"{frame.get('python')} at {frame.get('path')}"))
        else:
            self.has_no_python = True

    def last_words(self) -> str:
        """Return the last line on standard error, made fit for a message; before the agent runs also that of the login shell's noise ("" if none)."""
        for text in (self.complaints, b"" if self.is_running else self._reader.noise):
            lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
            if lines:
                return visible(lines[-1])
        return ""

    def _quoted(self) -> str:
        words = self.last_words()
        return f'; its last words: "{words}"' if words else ""

    def lost_at_deadline(self) -> LinkLost:
        """Return what to say when the deadline came first."""
        if self.is_running:
            return LinkLost(f"the deadline of {self.deadline_s:g} s came in mid-run (frames heard: {self._frames}, no end frame)",
                            "raise --deadline, or ask for less with --only")
        return LinkLost(f"no answer from an agent in {self.deadline_s:g} s (no ready frame): connection, login or login shell hang{self._quoted()}",
                        "log in by hand with ssh -v and see where it stops; at the key exchange it is often the path's MTU")

    def lost_at_exit(self, code: int) -> LinkLost:
        """Return what to say when the far side ended with this exit code and no end frame."""
        if self.is_running:
            why = {3: "standard input ended too early", 5: "the agent failed"}.get(code, f"exit code {code}")
            return LinkLost(f"the agent ended before its end frame: {why}{self._quoted()}", "take the snapshot again, and report this if it stays")
        if self.has_no_python or self._old_pythons:
            return self._lost_without_python()
        return LinkLost(f"the login shell ended with code {code} before an agent could start{self._quoted()}",
                        "log in by hand and run python3 -V: the account needs a usable login shell")

    def _lost_without_python(self) -> LinkLost:
        if self._old_pythons:
            return LinkLost(f"only a too old Python on the host: {', '.join(self._old_pythons)}; 3.8 or newer is needed",
                            "name a newer one with --python PATH, or install one")
        tried = ", ".join(visible(one) for one in self._shipment.pythons)
        return LinkLost(f"no Python on the host that starts: tried {tried}{self._quoted()}", "name one with --python PATH (3.8 or newer), or install python3")
