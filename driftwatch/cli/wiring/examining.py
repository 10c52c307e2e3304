"""What `doctor` does for one destination: the steps towards it one by one, then an agent that asks NVML alone. Keeps nothing, and ends by its deadline."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftwatch.capture.plan import plan_for
from driftwatch.capture.take import Order, Transport, take_snapshot
from driftwatch.cli.wiring.stages import AGENT, APART, FAILED, NVML, OK, PYTHON, STAGES, Examined, Stage, untried
from driftwatch.model import Snapshot
from driftwatch.settings import utc_now
from driftwatch.transports.destination import Destination, Options
from driftwatch.transports.steps import Step, steps_to
from driftwatch.transports.wire import LinkLost, Shipment

STEP_S = 10.0
LEAST_S = 1.0
AFTER_END_S = 4.0  # what the agent keeps back of its time
PROBE = "nvml"


@dataclass(frozen=True)
class Patient:
    """A destination to look at, how it is reached, which Pythons may run the agent there, and the seconds that all of it may take."""

    text: str
    destination: Destination
    options: Options
    transport: Transport
    pythons: tuple[str, ...]
    deadline_s: float


def examine(patient: Patient) -> Examined:
    """Return how each stage went. After one that failed no other is tried."""
    stages: list[Stage] = []
    for stage in _stages(patient, time.monotonic() + patient.deadline_s):
        stages.append(stage)
        if stage.outcome == FAILED:
            break
    return Examined(patient.text, (*stages, *untried(STAGES[len(stages):])))


def _stages(patient: Patient, stop: float) -> Iterator[Stage]:
    began = time.monotonic()
    try:
        steps = steps_to(patient.destination, patient.options)
    except LinkLost as lost:
        yield Stage(STAGES[0], FAILED, time.monotonic() - began, lost.reason, lost.advice)
        return
    for step in steps:
        yield _try(step, min(STEP_S, stop - time.monotonic()), patient.deadline_s)
    left_s = stop - time.monotonic()
    if left_s < LEAST_S:
        yield _too_late(PYTHON, patient.deadline_s)
        return
    yield from _ask_agent(patient, left_s)


def _too_late(name: str, deadline_s: float) -> Stage:
    return Stage(name, FAILED, 0.0, f"the deadline of {deadline_s:g} s came first", "give it longer: --deadline S")


def _try(step: Step, wait_s: float, deadline_s: float) -> Stage:
    if step.ask is None:
        return Stage(step.name, APART, said=step.apart)
    if wait_s <= 0:
        return _too_late(step.name, deadline_s)
    began = time.monotonic()
    try:
        said = step.ask(wait_s)
    except LinkLost as lost:
        return Stage(step.name, FAILED, time.monotonic() - began, lost.reason, lost.advice)
    return Stage(step.name, OK, time.monotonic() - began, said)


@dataclass
class _Watched:
    """A transport that notes when a Python was ready, when the agent began, and how the line was lost."""

    transport: Transport
    ready_at: float = 0.0
    begun_at: float = 0.0
    begin: Mapping[str, Any] = field(default_factory=dict)
    lost: LinkLost | None = None

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the frames."""
        def payload(left_s: float) -> bytes:
            self.ready_at = time.monotonic()
            return shipment.payload(left_s)

        try:
            for frame in self.transport.stream(replace(shipment, payload=payload), deadline_s):
                if frame.get("frame") == "begin":
                    self.begun_at, self.begin = time.monotonic(), frame
                yield frame
        except LinkLost as lost:
            self.lost = lost
            raise


def _ask_agent(patient: Patient, deadline_s: float) -> Iterator[Stage]:
    """Yield the last three stages: a Python that starts, the agent that it runs, and what NVML answers."""
    watched, began = _Watched(patient.transport), time.monotonic()
    longest_s = max(LEAST_S, deadline_s - AFTER_END_S)
    order = Order(plan_for(only=[PROBE], deadlines={PROBE: longest_s}), deadline_s, agent_pythons=patient.pythons)
    snapshot = take_snapshot(patient.text, watched, order, utc_now())
    ended = time.monotonic()
    if not watched.ready_at:
        yield _lost(PYTHON, ended - began, watched.lost)
        return
    python = str(watched.begin.get("python") or "it starts")
    yield Stage(PYTHON, OK, watched.ready_at - began, python)
    if not watched.begun_at:
        yield _lost(AGENT, ended - watched.ready_at, watched.lost)
        return
    yield Stage(AGENT, OK, watched.begun_at - watched.ready_at, f"it runs as uid {watched.begin.get('uid')}")
    yield _nvml(patient, snapshot, ended - watched.begun_at)


def _lost(name: str, elapsed_s: float, lost: LinkLost | None) -> Stage:
    return Stage(name, FAILED, elapsed_s, lost.reason if lost else "no answer", lost.advice if lost else "")


def _nvml(patient: Patient, snapshot: Snapshot, elapsed_s: float) -> Stage:
    told = snapshot.probes[PROBE]
    took_s = told.elapsed_s or elapsed_s
    if told.status == "ok":
        gpus, driver = snapshot.facts.get("gpus/count", "no count of"), snapshot.facts.get("driver/version", "not told")
        return Stage(NVML, OK, took_s, f"{gpus} GPUs, driver {driver}, by {snapshot.facts.get('nvml/how', 'NVML')}")
    if told.status == "absent":
        return Stage(NVML, OK, took_s, f"it answered that there is none: {told.reason or 'no NVML here'}")
    do = f"driftwatch snapshot {patient.destination} --only {PROBE} --deadline {PROBE}=120"
    return Stage(NVML, FAILED, took_s, f"{told.status.replace('_', ' ')}: {told.reason}", do)
