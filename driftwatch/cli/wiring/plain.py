"""One snapshot as its plain bytes, with the signature that goes with it: what `export` gives and `sign` signs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.output import write_file
from driftwatch.cli.wiring.sides import read_one
from driftwatch.store import document
from driftwatch.store.files import Entry
from driftwatch.store.records import LARGEST_SIGNATURE, SIGNATURE
from driftwatch.store.references import Reference, resolve


@dataclass(frozen=True)
class Plain:
    """A snapshot's whole file, checked against its id; the signature beside it; and where it was found: in the store, or a file."""

    data: bytes
    signature: bytes | None = None
    entry: Entry | None = None
    path: Path | None = None


def plain_file(ref: str, desk: Desk) -> Plain:
    """Return the plain file of what a REF names. What is no snapshot file yet (a dump, a recorded host) becomes one. Raises StoreError for a damaged one."""
    found = resolve(ref, desk.store)
    if found.entry is not None:
        desk.store.load(found.entry)
        return Plain(desk.store.read(found.entry), desk.store.read_beside(found.entry, SIGNATURE), found.entry)
    snapshot = read_one(ref, desk)
    if _is_own(found):
        path = Path(str(found.path))
        beside = path.with_name(path.name + SIGNATURE)
        signature = document.read_bounded(beside, LARGEST_SIGNATURE) if os.path.lexists(beside) else None
        return Plain(document.read_bounded(path, document.LARGEST_FILE), signature, path=path)
    return Plain(document.to_bytes(snapshot))


def keep_signature(plain: Plain, signature: bytes, desk: Desk) -> None:
    """Keep a signature beside the snapshot that it is of."""
    if plain.entry is not None:
        desk.store.write_beside(plain.entry, SIGNATURE, signature)
    elif plain.path is not None:
        write_file(f"{plain.path}{SIGNATURE}", signature)


def _is_own(found: Reference) -> bool:
    """Tell whether a path is a snapshot file as it stands."""
    if found.kind != "file" or found.path is None or found.path.suffix != ".json":
        return False
    data = document.read_bounded(found.path, document.LARGEST_FILE)
    return data == document.to_bytes(document.parse(data, str(found.path)))
