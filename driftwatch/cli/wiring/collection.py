"""What `gc` does, in order: sort each host's snapshots by the rules, remove what they do not keep where that was asked, then the lists nobody needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import SeveralFaults
from driftwatch.cli.wiring.keeping import who
from driftwatch.report.table import columns
from driftwatch.store.bounded import all_of
from driftwatch.store.collecting import Sorted, remove, sort_out
from driftwatch.store.errors import StoreError
from driftwatch.store.records import Swept
from driftwatch.store.references import counted
from driftwatch.store.retention import Rules

HOSTS_AT_ONCE = 16


@dataclass(frozen=True)
class Collection:
    """What `gc` was asked: the rules, as values and as they were given, and whether to remove."""

    rules: Rules
    said: str
    is_real: bool = False


@dataclass(frozen=True)
class Host:
    """A host, and why nothing of it may go."""

    sorted: Sorted
    failed: StoreError | None = None


def sort_all(asked: Collection, desk: Desk) -> list[Host]:
    """Return all hosts with what goes of each; where it was asked, that is gone then. A host that cannot be judged keeps all and holds no other up."""
    return all_of(partial(_sort, asked, desk), desk.store.hosts(), HOSTS_AT_ONCE)


def _sort(asked: Collection, desk: Desk, host: str) -> Host:
    now = datetime.now(tz=timezone.utc)
    try:
        found = sort_out(desk.store, host, asked.rules, now)
        if asked.is_real and found.removed:
            remove(desk.store, found, now, by=who(), rules=asked.said)
    except StoreError as failed:
        return Host(Sorted(host, 0, 0, ()), failed)
    return Host(found)


def sweep(found: Sequence[Host], asked: Collection, desk: Desk) -> Swept:
    """Return the lists that nobody needs once the rest is gone; none while a host could not be judged."""
    if any(one.failed for one in found):
        return Swept()
    spared = [entry for one in found for entry in one.sorted.removed]
    return desk.store.sweep([one.sorted.host for one in found], spared, is_real=asked.is_real)


def layout(found: Sequence[Host], swept: Swept, asked: Collection, desk: Desk) -> str:
    """Return the hosts of which something goes as a table, or all as JSON."""
    if desk.given.format == "json":
        rows = [_row(one.sorted) for one in found if one.failed is None]
        lists = {"removed": swept.count, "bytes": swept.size_bytes, "too_young": swept.young, "in_use": swept.used}
        return json.dumps({"deleted": asked.is_real, "rules": asked.said, "hosts": rows, "lists": lists}, indent=1) + "\n"
    verb = "removed" if asked.is_real else "would go"
    return columns([_cells(one.sorted, verb) for one in found if one.sorted.removed], desk.page)


def _row(one: Sorted) -> dict[str, Any]:
    return {"host": one.host, "kept": one.kept, "tagged": one.labelled, "removed": [entry.ref for entry in one.removed]}


def _cells(one: Sorted, verb: str) -> list[str]:
    span = f"{one.removed[0].name.taken_at} to {one.removed[-1].name.taken_at}"
    tagged = f", {one.labelled} tagged" if one.labelled else ""
    return [one.host, f"{len(one.removed):,} {verb}", f"{one.kept:,} stay{tagged}", span]


def close(found: Sequence[Host], swept: Swept, asked: Collection, desk: Desk) -> int:
    """Tell the counts, and what a dry run did not do. Raises what went wrong, once all hosts are through."""
    gone = sum(len(one.sorted.removed) for one in found)
    lists = f" and {counted(swept.count, 'list')} of {swept.size_bytes:,} B" if swept.count else ""
    if not desk.given.quiet:
        desk.say(f"{counted(gone, 'snapshot')}{lists} {'removed' if asked.is_real else 'would go'}, {sum(one.sorted.kept for one in found):,} stay")
        if not asked.is_real and (gone or swept.count):
            desk.say("nothing was removed: repeat it with --delete")
    if faults := [one.failed for one in found if one.failed is not None]:
        raise SeveralFaults([*faults])
    return 0
