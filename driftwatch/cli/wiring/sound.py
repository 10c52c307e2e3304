"""Reads a stored snapshot that something is to be concluded from: its content gave its id, and a signature that stands beside it is one of its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from driftwatch.model import Snapshot
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.records import SIGNATURE

if TYPE_CHECKING:
    from driftwatch.cli.wiring.desk import Desk


def load_sound(entry: Entry, desk: Desk) -> Snapshot:
    """Return a stored snapshot. Raises StoreError where its content or its signature does not match; whose signature it is, `verify --signers` tells."""
    snapshot = desk.store.load(entry)
    signature = desk.store.read_beside(entry, SIGNATURE) if entry.is_signed else None
    if signature is None:
        return snapshot
    from driftwatch.store.signatures import broken  # noqa: PLC0415  # most snapshots are not signed

    try:
        fault = broken(desk.store.read(entry), signature)
    except StoreError as failed:
        desk.say(f"note: the signature of {entry.ref} was not checked: {failed.what}")
        return snapshot
    if fault:
        do = f"driftwatch verify {entry.ref} --signers FILE, and sign it again only if you know why"
        raise StoreError(f"{entry.ref} has a signature that is none of it: {fault}", f"{desk.store.place_of(entry.host)}", do)
    return snapshot
