"""What may stand in a snapshot or an audit of the soak (benchmarks/soak.py), and what cannot be true. Looks at values alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.soak_faults import HOSTS, Lab, Trial
from driftwatch.capture.plan import offers, plan_for
from driftwatch.model import STATUSES, Known, Snapshot, is_unknown
from tests.lab.fleet import REFUSING, SILENT

MAY_BE_SAME = ("", "chatters", "is cut off", "drifts")  # the line may be cut when all is told; a drift may be in what was not
MAY_DRIFT = ("drifts",)
EXPLAINED = ("ok", "absent")


def accounted(snapshot: Snapshot, asked: Sequence[str]) -> Iterator[str]:
    """Yield the probes of which a snapshot does not say what became of them."""
    if missing := sorted({offer.probe.name for offer in offers()} - set(snapshot.probes)):
        yield f"{snapshot.host}: no word about {missing}"
    planned = {offer.probe.name for offer in plan_for(skip=[name for name in snapshot.probes if name not in asked]).asked}
    for name, became in snapshot.probes.items():
        if became.status not in STATUSES or (became.status == "not_recorded") == (name in planned):
            yield f"{snapshot.host}: {name}, {'asked' if name in planned else 'not asked'}, is {became.status}"
        if became.status not in EXPLAINED and not became.reason:
            yield f"{snapshot.host}: {name} is {became.status} without a reason"
        if "our fault" in became.reason:
            yield f"{snapshot.host}: {name}: {became.reason}"


def untrue(snapshot: Snapshot, good: Snapshot | None, asked: Sequence[str]) -> Iterator[str]:
    """Yield what a snapshot tells to be absent though the healthy host has it."""
    if good is None:
        return
    for name, became in snapshot.probes.items():
        if name in asked and became.status == "absent" and good.probes[name].status == "ok":
            yield f"{snapshot.host}: {name} is told absent: {became.reason}"
    for path, value in good.facts.items():
        if not is_unknown(value) and value is not None and not good.is_volatile(path) and snapshot.owner(path) in asked and snapshot.get(path) == Known(None):
            yield f"{snapshot.host}: {path} is told absent, by {snapshot.owner(path)}"


def ill_told(rows: Sequence[Mapping[str, Any]], trial: Trial, lab: Lab) -> Iterator[str]:
    """Yield the rows of an audit that cannot be true."""
    if len(rows) != HOSTS:
        yield f"{len(rows)} rows for {HOSTS} hosts"
    for row in rows:
        fault, state = trial.hosts.get(row["host"], ""), row["state"]
        if state == "same" and fault not in MAY_BE_SAME:
            yield f"{row['host']} {fault}, and is told to be the same"
        if state == "drift" and fault not in MAY_DRIFT:
            yield f"{row['host']} {fault or 'has no fault'}, and is told to have drifted: {row}"
        if lab.hosts[row["host"]] in {SILENT, REFUSING} and state != "unreachable":
            yield f"{row['host']} cannot be reached, and is told to be {state}"
