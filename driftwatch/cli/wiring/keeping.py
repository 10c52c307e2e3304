"""Where a snapshot goes: the store, the file of --out, standard output. Says by which reference it is found again."""

from __future__ import annotations

from dataclasses import dataclass

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.output import print_text, write_file
from driftwatch.cli.wiring.recalling import remember
from driftwatch.model import Snapshot
from driftwatch.settings import utc_now
from driftwatch.store.document import to_bytes
from driftwatch.store.labels import set_label
from driftwatch.store.references import is_path


@dataclass(frozen=True)
class Keeping:
    """Where to keep: with a label it is stored in any case; ``is_shown`` is for a look at a few probes, which is printed and kept nowhere."""

    label: str | None = None
    note: str = ""
    out: str | None = None
    is_shown: bool = False


def keep(snapshot: Snapshot, keeping: Keeping, desk: Desk) -> str:
    """Keep a snapshot, and return its reference; "" where it is kept nowhere. What --out names is written before anything is stored."""
    ref = ""
    if keeping.out == "-":
        print_text(to_bytes(snapshot).decode("ascii"))
    elif keeping.out is not None:
        write_file(keeping.out, to_bytes(snapshot))
        ref = keeping.out if is_path(keeping.out) else f"./{keeping.out}"
    if keeping.label is not None or (keeping.out is None and not keeping.is_shown):
        ref = _store(snapshot, keeping, desk)
    elif keeping.out is None:
        from driftwatch.report.facts import render_facts  # noqa: PLC0415  # only where the facts are shown

        print_text(render_facts(snapshot.facts, desk.page))
    return ref


def _store(snapshot: Snapshot, keeping: Keeping, desk: Desk) -> str:
    entry = desk.store.save(snapshot)
    remember(desk, snapshot)
    if keeping.label is None:
        return entry.ref
    set_label(desk.store, entry, keeping.label, set_at=utc_now(), note=keeping.note)
    return f"{entry.host}@{keeping.label}"
