"""What the store knows of a host's source files from snapshot to snapshot. It only saves time, so what is wrong with it is a note and no failure."""

from __future__ import annotations

from driftwatch.capture.known import Known
from driftwatch.cli.wiring.desk import Desk
from driftwatch.model import Snapshot
from driftwatch.store.errors import StoreError
from driftwatch.store.known_digests import load_known, save_known


def recall(desk: Desk, host: str) -> Known:
    """Return the source files that are known of a host."""
    try:
        return load_known(desk.store.local, host)
    except StoreError as refused:
        desk.say(f"note: {refused.what} ({refused.where}); every source file of {host} is hashed")
        return {}


def remember(desk: Desk, snapshot: Snapshot) -> None:
    """Keep what a stored snapshot of a live host told of its source files."""
    if snapshot.source != "snapshot":
        return
    try:
        save_known(desk.store.local, snapshot)
    except StoreError as refused:
        desk.say(f"note: {refused.what} ({refused.where}); the next snapshot hashes every source file again")
