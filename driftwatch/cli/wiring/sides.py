"""From REFs to snapshots: each is resolved and read, a recorded host is captured first, and all that cannot be read are named together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.dumped import snapshot_of, snapshot_of_log
from driftwatch.cli.wiring.faults import SeveralFaults, UsageFault
from driftwatch.cli.wiring.sound import load_sound
from driftwatch.model import Snapshot
from driftwatch.settings import SettingsError
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.references import Reference, counted, resolve

STDIN = "standard input"


def read_one(ref: str, desk: Desk, read_as: str | None = None) -> Snapshot:
    """Return the snapshot that a REF names, or that the dump there tells (``read_as``: its kind). Raises StoreError, CaptureError or UsageFault."""
    return _read(resolved(ref, desk), desk, read_as)


def resolved(ref: str, desk: Desk) -> Reference:
    """Return what a REF names, and say where HOST@last is not the newest that is stored."""
    found = resolve(ref, desk.store)
    if found.entry is not None and found.passed:
        newer = f"{counted(found.passed, 'newer snapshot')} of {found.entry.host} {'is' if found.passed == 1 else 'are'} partial or told nothing"
        desk.say(f"note: {ref} is of {found.entry.name.taken_at}; {newer}: driftwatch list {found.entry.host}")
    return found


def read_all(refs: Sequence[str], desk: Desk, read_as: str | None = None) -> list[Snapshot]:
    """Return the snapshots that REFs name, in their order. Every one is tried before any is refused."""
    if list(refs).count("-") > 1:
        raise UsageFault("standard input can stand for one snapshot only", do="name the other one by a REF or a path")
    found: list[Snapshot] = []
    faults: list[Exception] = []
    for ref in refs:
        one = _try_one(ref, desk, read_as)
        if isinstance(one, Snapshot):
            found.append(one)
        else:
            faults.append(one)
    if faults:
        raise SeveralFaults(faults)
    return found


def _try_one(ref: str, desk: Desk, read_as: str | None) -> Snapshot | Exception:
    from driftwatch.capture.plan import CaptureError  # noqa: PLC0415  # `show` of a stored snapshot needs no capture

    try:
        return read_one(ref, desk, read_as)
    except (StoreError, CaptureError, SettingsError, UsageFault) as failed:
        return failed


def _read(reference: Reference, desk: Desk, read_as: str | None = None) -> Snapshot:
    if reference.entry is not None:
        return load_sound(reference.entry, desk)
    if reference.path is None:
        return _read_stdin(read_as)
    if reference.kind == "recorded":
        return _capture(reference.text, desk)
    of_log = snapshot_of_log(Path(reference.path), read_as)
    return of_log or snapshot_of(document.read_bounded(reference.path, document.LARGEST_FILE), str(reference.path), read_as)


def _read_stdin(read_as: str | None) -> Snapshot:
    try:
        data = document.read_stream(sys.stdin.buffer, document.LARGEST_FILE)
    except ValueError as wrong:
        raise StoreError(f"{STDIN} {wrong}", STDIN, document.ADVICE) from None
    return snapshot_of(data, STDIN, read_as)


def _capture(path: str, desk: Desk) -> Snapshot:
    """Return the snapshot of a recorded host, taken now."""
    from driftwatch.cli.wiring.jobs import Wish, recorded_job  # noqa: PLC0415  # only a recorded host is captured here
    from driftwatch.cli.wiring.running import do_jobs  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.snapshotting import finished  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.stopping import Stop  # noqa: PLC0415  # as above

    job = recorded_job(path, Wish(), desk)
    return finished(next(do_jobs([job], 1, Stop(), lambda *_: None)).snapshot)


def stored_entry(ref: str, desk: Desk, name: str) -> Entry:
    """Return the stored snapshot that a REF names; what is not in the store cannot be tagged."""
    found = resolved(ref, desk)
    if found.entry is None:
        raise UsageFault(f"{ref} is not in the store, and only stored snapshots can be tagged", do=f"driftwatch snapshot HOST --label {name}")
    return found.entry
