"""Takes whole snapshots of this machine while something on it misbehaves, and tells how long that took and what of it still runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from driftwatch.agent import processes
from driftwatch.capture.plan import offers, plan_for
from driftwatch.capture.take import Order, take_snapshot
from driftwatch.model import ProbeResult, Snapshot, Unknown
from driftwatch.transports.child import converse
from driftwatch.transports.conversation import Conversation
from driftwatch.transports.local import LocalTransport
from driftwatch.transports.wire import command

WHEN = "2026-03-02T10:00:00Z"
ENDING_S = 0.5
PATIENT_S = 10.0


@dataclass(frozen=True)
class Taken:
    """A snapshot, the seconds that it took, and the processes below us that it left, each with pid, state, wchan and name."""

    snapshot: Snapshot
    wall_s: float
    left: tuple[dict[str, Any], ...]

    @property
    def killable(self) -> list[dict[str, Any]]:
        return [one for one in self.left if one["state"] != "D"]

    @property
    def probes(self) -> dict[str, ProbeResult]:
        return dict(self.snapshot.probes)

    @property
    def statuses(self) -> dict[str, str]:
        return {name: result.status for name, result in self.snapshot.probes.items()}

    def status_of(self, path: str) -> str:
        """Return the status of a fact, ``known`` where it has a value."""
        found = self.snapshot.get(path)
        return found.status if isinstance(found, Unknown) else "known"

    def reason_of(self, path: str) -> str:
        found = self.snapshot.get(path)
        assert isinstance(found, Unknown), found
        return found.reason


class Below:
    """Runs the agent below a shell that first does something, such as lowering a limit."""

    def __init__(self, first: str, python: str) -> None:
        self.first = first
        self.python = python

    def stream(self, shipment: Any, deadline_s: float) -> Iterator[dict[str, Any]]:
        talk = Conversation(shipment, deadline_s)
        yield from converse(["/bin/sh", "-c", self.first + "\n" + command(shipment.nonce, [self.python])], talk, talk.lost_at_exit)


def take(transport: Any = None, **more: Any) -> Taken:
    """Take a snapshot of this machine. ``only``, ``groups`` and ``deadlines`` make the plan, the rest is the order; orphans of it come to us.

    Probes whose deadline is not given have one that also holds where the machine is busy.
    """
    patient = {offer.probe.name: max(PATIENT_S, offer.probe.deadline_s) for offer in offers()}
    plan = plan_for(only=more.pop("only", ()), groups=more.pop("groups", ()), deadlines={**patient, **more.pop("deadlines", {})})
    processes.become_subreaper()
    before = set(processes.below(os.getpid()))
    begun = time.monotonic()
    snapshot = take_snapshot("here", transport or LocalTransport(), Order(plan, **{"deadline_s": 15.0, **more}), WHEN)
    return Taken(snapshot, time.monotonic() - begun, tuple(_left(before)))


def _left(before: set[int]) -> list[dict[str, Any]]:
    """Return what runs below us and did not before; what has just been killed gets a moment to end."""
    stop = time.monotonic() + ENDING_S
    while True:
        new = [pid for pid in processes.below(os.getpid()) if pid not in before]
        for pid in new:
            if processes.state(pid) == "Z":
                processes.reap(pid)
        alive = [processes.describe(pid) for pid in new if processes.is_alive(pid)]
        if not [one for one in alive if one["state"] != "D"] or time.monotonic() > stop:
            return alive
        time.sleep(0.02)


def others(taken: Taken, *concerned: str) -> dict[str, str]:
    """Return the statuses of all probes but those that the fault concerns."""
    return {name: status for name, status in taken.statuses.items() if name not in concerned}
