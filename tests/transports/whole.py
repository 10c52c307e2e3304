"""Whole snapshots for the stall table: the real agent on a host where one probe hangs, and where the line hangs too."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftwatch.capture.plan import plan_for
from driftwatch.capture.take import Order, take_snapshot
from driftwatch.model import Snapshot
from driftwatch.transports.openssh import OpenSSH
from driftwatch.transports.paramiko import Paramiko
from tests.lab.sshd import Server, below, running_sshd
from tests.transports.listen import reach

WAYS = {"openssh": OpenSSH, "paramiko": Paramiko}
DEADLINE_S = 12.0
PLAN = plan_for(only=["system", "nvml"])


@dataclass
class Line:
    """What is done to a line as its frames come: nothing, or its sshd is stopped with the first facts."""

    server: Server
    is_cut: bool
    frames: list[Mapping[str, Any]] = field(default_factory=list)

    def watch(self, frame: Mapping[str, Any]) -> None:
        self.frames.append(frame)
        if self.is_cut and any("kernel/release" in str(one) for one in frame.values()):
            for pid in below(self.server.pid):
                with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
                    os.kill(pid, signal.SIGSTOP)


@dataclass(frozen=True)
class Taken:
    """A snapshot and how long it took."""

    snapshot: Snapshot
    elapsed_s: float


def take(server: Server, way: Any, *, is_cut: bool) -> Taken:
    line, began = Line(server, is_cut), time.monotonic()
    order = Order(PLAN, DEADLINE_S, agent_pythons=("python3", "/usr/bin/python3"), watch=line.watch)
    made = take_snapshot("gpu-a", reach(way, server), order, "2026-03-02T10:00:00Z")
    return Taken(made, time.monotonic() - began)


def play(folder: Path, scheme: str, *, is_cut: bool) -> Taken:
    """Take the snapshot of a host whose nvidia-smi never answers, and whose line hangs too where ``is_cut`` says so."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    (programs / "nvidia-smi").write_text("#!/bin/sh\nexec sleep 600\n")
    (programs / "nvidia-smi").chmod(0o755)
    with running_sshd(folder / "host", environment=f"PATH={programs}:/usr/bin:/bin") as server:
        return take(server, WAYS[scheme], is_cut=is_cut)
