"""Where a snapshot goes: the store, or the spool where that does not take it; the file of --out, standard output. Says by which reference it is found."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.named import is_folder
from driftwatch.cli.wiring.output import print_text, write_file
from driftwatch.cli.wiring.recalling import remember
from driftwatch.model import Snapshot
from driftwatch.settings import spool_folder, store_place, utc_now
from driftwatch.store.chain import keep_linked
from driftwatch.store.document import to_bytes
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.labels import set_label
from driftwatch.store.names import compact_time, name_of
from driftwatch.store.references import is_path
from driftwatch.store.rescue import rescue
from driftwatch.store.spool import Spool, Wish, kept_for_later


@dataclass(frozen=True)
class Keeping:
    """Where to keep: with a label it is stored in any case; ``is_shown`` is for a look at a few probes, which is printed and kept nowhere."""

    label: str | None = None
    note: str = ""
    out: str | None = None
    is_shown: bool = False


def keep(snapshot: Snapshot, keeping: Keeping, desk: Desk) -> str:
    """Keep a snapshot, and return its reference; "" where it is kept nowhere. What --out names is written before anything is stored."""
    return keep_as(snapshot, keeping, desk)[0]


def keep_as(snapshot: Snapshot, keeping: Keeping, desk: Desk) -> tuple[str, Snapshot]:
    """Keep a snapshot, and return its reference and the snapshot as it was kept: a stored one names its predecessor, which its id covers."""
    ref = ""
    if keeping.out == "-":
        print_text(to_bytes(snapshot).decode("ascii"))
    elif keeping.out is not None:
        write_file(keeping.out, to_bytes(snapshot))
        ref = keeping.out if is_path(keeping.out) else f"./{keeping.out}"
    if keeping.label is not None or (keeping.out is None and not keeping.is_shown):
        return _store(snapshot, keeping, desk)
    if keeping.out is None and desk.given.format == "text":
        from driftwatch.report.facts import render_facts  # noqa: PLC0415  # only where the facts are shown

        print_text(render_facts(snapshot.facts, desk.page))
    return ref, snapshot


def _store(snapshot: Snapshot, keeping: Keeping, desk: Desk) -> tuple[str, Snapshot]:
    """Store a snapshot, once what waits for this store is delivered. Raises StoreError (code 4) that says where it is where the store does not take it."""
    compact_time(snapshot.taken_at)
    try:
        desk.store.await_answer()
        deliver_waiting(desk)
        entry, linked = keep_linked(desk.store, snapshot)
        if keeping.label is not None:
            set_label(desk.store, entry, keeping.label, set_at=utc_now(), note=keeping.note, by=who())
    except StoreError as failed:
        raise _spooled(failed, snapshot, keeping, desk) from None
    remember(desk, linked)
    return entry.ref if keeping.label is None else f"{entry.host}@{keeping.label}", linked


def _spooled(failed: StoreError, snapshot: Snapshot, keeping: Keeping, desk: Desk) -> StoreError:
    """Keep a snapshot in the spool, else wherever there is room, and return the error that says so."""
    wish = Wish(keeping.label or "", keeping.note, who(), failed.what)
    try:
        return kept_for_later(failed, Spool(spool_folder()).add(store_address(desk), snapshot, wish))
    except StoreError:
        name = name_of(snapshot)
        return StoreError(failed.what, failed.where, f"{failed.do}; {rescue(f'{name.slug}-{name.compact}', to_bytes(snapshot))}", NOT_STORED)


def deliver_waiting(desk: Desk) -> None:
    """Take to the store what waits for it. The first that it does not take ends this: the rest goes on waiting."""
    spool = Spool(spool_folder())
    if not is_folder(spool.root):
        return
    try:
        for one in spool.waiting(store_address(desk)):
            desk.say(f"delivered from the spool: {spool.deliver(one, desk.store, utc_now()).ref}")
    except StoreError as failed:
        desk.say(f"note: what waits in the spool goes on waiting: {failed.what} ({failed.where})")


def store_address(desk: Desk) -> str:
    """Return the store as a text that names it from anywhere: a URL, or a folder's whole path."""
    place = store_place(desk.settings, desk.given.store)
    return place if "://" in place and not place.startswith("file://") else str(desk.store.root.absolute())


def who() -> str:
    """Return who runs this, as ``user@machine``."""
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = str(os.geteuid())
    return f"{user}@{os.uname().nodename}"
