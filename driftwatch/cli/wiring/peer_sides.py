"""From the words of `peers` to the snapshots that are compared, each as something that can be read twice. All that cannot be read are named together."""

from __future__ import annotations

import fnmatch
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from driftwatch.capture.plan import CaptureError
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import SeveralFaults, UsageFault
from driftwatch.cli.wiring.inventories import inventory
from driftwatch.cli.wiring.named import is_file, is_folder
from driftwatch.cli.wiring.sides import read_one, resolved
from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.inventory import Inventory, near
from driftwatch.fleet.nodes import expand, split_names
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.settings import SettingsError
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.names import ID_DIGITS
from driftwatch.store.references import ARCHIVES, is_path

T = TypeVar("T")
GLOB = "*?"
NEWEST = "last"
DESCRIBED = "host.json"
BEGIN = b'{\n"agent"'


@dataclass(frozen=True)
class PeerFile:
    """One snapshot to compare: how it is called, its bytes, and where it stands in the store, if it does."""

    ref: str
    read: Callable[[], bytes]
    entry: Entry | None = None


def peer_files(words: Sequence[str], desk: Desk, spool: Path) -> list[PeerFile]:
    """Return the snapshots that words mean, each once. What has to be made first, such as that of a recorded host, is kept in the spool."""
    listed, faults = inventory(desk), Faults()
    refs: dict[str, bool] = {}
    for word in words:
        for ref, is_optional in faults.tried(partial(_refs, word, desk, listed)) or ():
            refs[ref] = refs.get(ref, True) and is_optional
    tried = [faults.tried(partial(_file, ref, desk, spool / f"{place}.json", is_optional=one)) for place, (ref, one) in enumerate(refs.items())]
    faults.tell()
    return [one for one in tried if one is not None]


class Faults:
    """What could not be followed, gathered, so that all of it is told at once."""

    def __init__(self) -> None:
        self.found: list[Exception] = []

    def tried(self, step: Callable[[], T]) -> T | None:
        """Return what a step gives, or None where it cannot be done."""
        try:
            return step()
        except (StoreError, CaptureError, SettingsError, UsageFault, FleetError) as wrong:
            self.found.append(wrong)
            return None

    def tell(self) -> None:
        """Raise all that was gathered, if anything was."""
        if self.found:
            raise SeveralFaults(self.found)


def _refs(word: str, desk: Desk, listed: Inventory) -> list[tuple[str, bool]]:
    """Return the references that a word means, and whether it is only one of a group: such a host may have no snapshot yet."""
    if word == "-" or is_path(word):
        return [(one, False) for one in _inside(word)]
    if word.startswith("@"):
        group = word[1:]
        if group not in listed.groups:
            raise UsageFault(f"there is no group @{group}", "the config file's [hosts]", near(group, listed.groups) or "driftwatch hosts")
        return [(f"{name}@{NEWEST}", True) for name in listed.groups[group]]
    hosts, at, which = word.rpartition("@") if "@" in word else (word, "@", NEWEST)
    return [(f"{name}{at}{which}", "[" in one or any(mark in one for mark in GLOB)) for one in split_names(hosts) for name in _hosts(one, desk, listed)]


def _hosts(word: str, desk: Desk, listed: Inventory) -> Iterable[str]:
    """Return the hosts that a range or a glob means."""
    if not any(mark in word for mark in GLOB):
        return expand(word)
    names = sorted({*desk.store.hosts(), *listed.members})
    found = [name for name in names if fnmatch.fnmatchcase(name, word)]
    if not found:
        raise UsageFault(f"no host fits {word}", str(desk.store.place), "driftwatch list")
    return found


def _inside(word: str) -> Iterable[str]:
    """Return the hosts inside an archive, or a folder of recorded hosts or snapshots; any other path as it is."""
    path = Path(word)
    if is_folder(path) and not is_file(path / DESCRIBED):
        hosts = sorted(one.parent for one in path.glob(f"*/{DESCRIBED}"))
        return [str(one) for one in hosts or sorted(path.glob("*.json"))] or [word]
    if is_file(path) and word.endswith(tuple(one for one in ARCHIVES if one != ".zip")):
        try:
            with tarfile.open(path) as archive:
                folders = [name.rpartition("/")[0] for name in archive.getnames() if name.rpartition("/")[2] == DESCRIBED]
        except (tarfile.TarError, OSError, EOFError):
            return [word]
        return [f"{word}/{folder}" for folder in sorted(folders)] if len(folders) > 1 else [word]
    return [word]


def _file(ref: str, desk: Desk, spool: Path, *, is_optional: bool) -> PeerFile:
    try:
        reference = resolved(ref, desk)
    except StoreError as wrong:
        if not is_optional:
            raise
        return _spooled(ref, _never_seen(ref, wrong.what), spool)
    if reference.entry is not None:
        return PeerFile(ref, partial(_stored, desk, reference.entry), reference.entry)
    if reference.kind == "file" and reference.path is not None and _is_ours(reference.path):
        return PeerFile(ref, partial(document.read_bounded, reference.path, document.LARGEST_FILE))
    return _spooled(ref, read_one(ref, desk), spool)


def _stored(desk: Desk, entry: Entry) -> bytes:
    return desk.store.read(entry)


def _is_ours(path: Path) -> bool:
    """Tell whether a file begins as a snapshot of ours does; anything else, such as a dump, is read the long way, once."""
    if not is_file(path):
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(BEGIN)) == BEGIN
    except OSError:
        return False


def _spooled(ref: str, snapshot: Snapshot, spool: Path) -> PeerFile:
    spool.write_bytes(document.to_bytes(snapshot))
    return PeerFile(ref, partial(document.read_bounded, spool, document.LARGEST_FILE))


def _never_seen(ref: str, why: str) -> Snapshot:
    """Return a snapshot that tells nothing, for a host of a group of which none is stored."""
    return Snapshot(ref.rpartition("@")[0], None, probes={"snapshot": ProbeResult("not_recorded", reason=why)})


def promised(file: PeerFile, digest: str) -> None:
    """Raise StoreError where a stored file is not the one that its name promises."""
    if file.entry is not None and digest.partition(":")[2][:ID_DIGITS] != file.entry.name.short_id:
        raise StoreError(f"{file.entry.path.name} holds another snapshot than its name says: {digest[:19]}", str(file.entry.path), "remove it from the store")
