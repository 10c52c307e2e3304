"""Streams to their end for the tests: which frames came, how the line was lost, how long it took, and whether a child of ours is left."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftwatch.transports.destination import Destination, Options
from driftwatch.transports.wire import LinkLost
from tests.lab.sshd import is_gone

if TYPE_CHECKING:
    from collections.abc import Callable

    from driftwatch.transports.wire import Shipment, Transport
    from tests.lab.sshd import Server


@dataclass
class Heard:
    """What came of one stream."""

    frames: list[dict[str, Any]] = field(default_factory=list)
    lost: LinkLost | None = None
    elapsed_s: float = 0.0
    left: list[int] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        return [frame["frame"] for frame in self.frames]

    @property
    def agent_pid(self) -> int:
        return next(frame["pid"] for frame in self.frames if frame["frame"] == "begin")

    @property
    def said(self) -> str:
        """Return reason and advice; the test fails where the line was not lost."""
        assert self.lost is not None, f"the stream ended well: {self.kinds}"
        assert "\n" not in self.lost.reason
        return f"{self.lost.reason} | {self.lost.advice}"


def take(transport: Transport, shipment: Shipment, deadline_s: float, watch: Callable[[dict[str, Any]], None] = lambda _: None) -> Heard:
    """Take the whole stream and show each frame to the watcher."""
    heard, began = Heard(), time.monotonic()
    try:
        for frame in transport.stream(shipment, deadline_s):
            heard.frames.append(frame)
            watch(frame)
    except LinkLost as lost:
        heard.lost = lost
    heard.elapsed_s = time.monotonic() - began
    return heard


def listen(transport: Transport, shipment: Shipment, deadline_s: float) -> Heard:
    """Take the whole stream. Whatever happened: it ended in time, and no child of this process is left."""
    before = own_children()
    heard = take(transport, shipment, deadline_s)
    heard.left = [pid for pid in own_children() - before if not is_gone(pid, 0.2)]
    assert heard.elapsed_s <= deadline_s + 2, heard
    assert heard.left == []
    return heard


def processes_that_name(*marks: str) -> list[int]:
    """Return the processes of this machine, here or on a test's "host", whose command line holds one of these texts."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                if any(mark.encode() in words for mark in marks):
                    found.append(int(entry.name))
    return found


def own_children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has just ended
            found.update(int(one) for one in (task / "children").read_text().split())
    return found


def reach(way: Any, server: Server, **options: str) -> Transport:
    """Return the transport to a test's sshd, with its own key and known_hosts and no configuration of the user."""
    usual = {"known_hosts": server.known_hosts, "identity": server.identity, "ssh_config": "/dev/null"}
    return way(Destination(way.SCHEME, "127.0.0.1", server.user, server.port), Options(**{**usual, **options}))
