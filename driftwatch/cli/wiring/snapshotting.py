"""What `snapshot` does, in order: do the jobs, keep each as it ends, tell of it, count. Returns the exit code."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftwatch.cli.wiring import telling
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import SeveralFaults, UsageFault
from driftwatch.cli.wiring.jobs import Job
from driftwatch.cli.wiring.keeping import Keeping, keep_as
from driftwatch.cli.wiring.progress import Progress, shown
from driftwatch.cli.wiring.running import Done, do_jobs
from driftwatch.cli.wiring.stopping import STOPPED, Stop
from driftwatch.model import Snapshot
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.labels import label_names
from driftwatch.symptom import of_snapshot

INCOMPLETE = 3


@dataclass(frozen=True)
class Kept:
    """A job that ended, the reference under which its snapshot is found, and why it could not be stored."""

    done: Done
    ref: str
    failed: StoreError | None = None


def take_and_keep(jobs: Sequence[Job], at_once: int, keeping: Keeping, desk: Desk) -> int:
    """Take the snapshots, keep and tell each as it ends, and return the exit code: 0 all answered, 3 not all, 130 stopped.

    One that could not be stored does not hold the others up: what failed is raised at the end (code 4).
    """
    if keeping.out not in (None, "-") and len(jobs) > 1:
        raise UsageFault(f"--out {keeping.out} is one file, and {len(jobs)} hosts are asked", do="name one host, or let the store keep them")
    began, stop = time.monotonic(), Stop()
    progress = Progress([job.host for job in jobs], jobs[0].probes)
    kept: list[Kept] = []
    columns = max(len(job.host) for job in jobs)
    with shown(progress, desk):
        for done in do_jobs(jobs, at_once, stop, progress.watch):
            progress.leave(done.host)
            kept.append(Kept(done, "") if stop.is_asked and not done.snapshot.facts else _keep(done, keeping, desk))
            _tell(kept[-1], columns, desk)
    code = STOPPED if stop.is_asked else _code(kept)
    _close(kept, keeping, desk, elapsed_s=time.monotonic() - began, code=code)
    if faults := {one.failed.what: one.failed for one in kept if one.failed is not None}:
        raise SeveralFaults(list(faults.values()))
    return code


def _keep(done: Done, keeping: Keeping, desk: Desk) -> Kept:
    snapshot = finished(done.snapshot, keeping.note)
    if keeping.label is not None and _is_torso(snapshot):
        why = "was cut by Ctrl-C" if telling.is_cut(snapshot) else "told nothing"
        desk.say(f"note: {done.host} {why}, so it is not tagged {keeping.label}")
        keeping = replace(keeping, label=None)
    try:
        ref, stored = keep_as(snapshot, keeping, desk)
    except StoreError as failed:
        if failed.code != NOT_STORED:
            raise
        return Kept(replace(done, snapshot=snapshot), "", failed)
    return Kept(replace(done, snapshot=stored), ref)


def finished(snapshot: Snapshot, note: str = "") -> Snapshot:
    """Return the snapshot with what is known of its symptom, and with the user's note. One that cannot stand for its host is marked as partial."""
    told = snapshot if snapshot.symptom is not None else snapshot.with_symptom(of_snapshot(snapshot))
    more = {**({"partial": True} if _is_torso(told) else {}), **({"note": note} if note else {})}
    return replace(told, extra={**told.extra, **more}) if more else told


def _is_torso(snapshot: Snapshot) -> bool:
    return telling.is_unreachable(snapshot) or telling.is_cut(snapshot)


def _tell(kept: Kept, columns: int, desk: Desk) -> None:
    """Print the reference, and beside it how the host answered; with -q only a host that did not answer all."""
    if kept.ref and desk.given.format == "text":
        print(desk.page.say(kept.ref), flush=True)  # noqa: T201  # the answer: one reference a line
    if not desk.given.quiet or telling.not_whole(kept.done.snapshot):
        for line in telling.host_lines(kept.done, columns):
            desk.say(line)
        for line in telling.in_vain(kept.done.snapshot):
            desk.say(f"note: {kept.done.host}: {line}")


def _code(kept: Sequence[Kept]) -> int:
    if any(one.failed for one in kept):
        return NOT_STORED
    return INCOMPLETE if any(telling.not_whole(one.done.snapshot) for one in kept) else 0


def _close(kept: Sequence[Kept], keeping: Keeping, desk: Desk, *, elapsed_s: float, code: int) -> None:
    """Tell the counts and the next step; with --json also the whole answer."""
    if desk.given.format == "json" and keeping.out != "-":
        rows = [{**_row(one), **({"facts": one.done.snapshot.facts} if keeping.is_shown and not one.ref else {})} for one in kept]
        json.dump(rows, sys.stdout, indent=1)
        sys.stdout.write("\n")
    if not desk.given.quiet:
        desk.say(telling.counts_line([one.done for one in kept], elapsed_s, code))
        if step := _next_step(kept, keeping, desk):
            desk.say(f"next: {step}")


def _row(kept: Kept) -> dict[str, Any]:
    silent = telling.not_whole(kept.done.snapshot)
    return {
        "host": kept.done.host, "ref": kept.ref, "id": kept.done.snapshot.id, "elapsed_s": round(kept.done.elapsed_s, 3),
        "unanswered": {name: {"status": one.status, "reason": one.reason} for name, one in silent.items()},
    }


def _next_step(kept: Sequence[Kept], keeping: Keeping, desk: Desk) -> str:
    """Return the command that most likely comes next, where one host was stored and nothing was labelled."""
    if len(kept) != 1 or keeping.label is not None or keeping.out is not None or not kept[0].ref or _is_torso(kept[0].done.snapshot):
        return ""
    host = kept[0].done.host
    return f"driftwatch diff {host}" if "good" in label_names(desk.store, host) else f"driftwatch tag good {host}@last"
