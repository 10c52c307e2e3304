"""Looks at what is stored and tells what of it is sound: content against id, lists against digests, links against what is there, signatures against signers.

A link is missing where a snapshot names a predecessor that is neither there nor recorded as removed by gc. Two that name the same one are a fork: two
writers at once, which loses nothing. Changes nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from driftwatch.store import document
from driftwatch.store.chain import previous_of
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.labels import label_names, load_label
from driftwatch.store.names import ID_DIGITS, parse_file_name
from driftwatch.store.records import SIGNATURE
from driftwatch.store.seam import Store
from driftwatch.store.signatures import Signers, broken, refused

OK, CHANGED, UNSIGNED, MISSING, BAD = "ok", "changed", "unsigned", "missing link", "bad signature"
SEEN = 19


@dataclass(frozen=True)
class Verdict:
    """What became of one snapshot: a word, why, who signed it, and how many snapshots follow its predecessor (above one: a fork)."""

    ref: str
    word: str
    why: str = ""
    signer: str = ""
    fork: int = 0


@dataclass(frozen=True)
class Demand:
    """What signatures are asked for: whose count, and whether a snapshot without one is a finding."""

    signers: Signers | None = None
    is_required: bool = False


@dataclass(frozen=True)
class _Seen:
    """One snapshot as it was read: the digits of its predecessor ("" for a first one, None where it names none), and the verdict on itself."""

    entry: Entry
    previous: str | None
    verdict: Verdict


def verify_host(store: Store, host: str, demand: Demand, only: Collection[str] | None = None) -> Iterator[Verdict]:
    """Yield the verdict on each snapshot of a host, oldest first, then what else is missing. ``only`` are file names; links are then told of those alone."""
    entries = store.entries(host)
    seen = [_look(store, entry, demand) for entry in entries if only is None or str(entry.name) in only]
    gone, damaged = _gone(store, host)
    there = {entry.name.short_id for entry in entries} | set(gone)
    followers = Counter(one.previous for one in seen if one.previous is not None)
    for one in seen:
        yield _linked(one, there, followers)
    yield from damaged
    if only is None:
        yield from _absent(store, host, there, gone)


def _look(store: Store, entry: Entry, demand: Demand) -> _Seen:
    """Return a snapshot's own verdict: content, then signature."""
    try:
        snapshot = store.load(entry)
    except StoreError as wrong:
        return _Seen(entry, entry.previous, Verdict(entry.ref, CHANGED, wrong.what))
    previous = previous_of(snapshot)
    digits = None if previous is None else previous.partition(":")[2][:ID_DIGITS]
    if entry.previous is not None and (digits or "") != entry.previous:
        return _Seen(entry, digits, Verdict(entry.ref, CHANGED, "it names another predecessor than its key says"))
    try:
        signature = store.read_beside(entry, SIGNATURE) if entry.is_signed else None
        data = store.read(entry) if signature is not None else b""
        return _Seen(entry, digits, signature_verdict(entry.ref, data, signature, demand))
    except StoreError as wrong:
        return _Seen(entry, digits, Verdict(entry.ref, BAD, wrong.what))


def signature_verdict(ref: str, data: bytes, signature: bytes | None, demand: Demand) -> Verdict:
    """Return the verdict on a signature of a snapshot's plain bytes. Without signers only that it is one of these bytes is told."""
    if signature is None:
        return Verdict(ref, UNSIGNED if demand.is_required or demand.signers is not None else OK)
    if demand.signers is None:
        fault = broken(data, signature)
        return Verdict(ref, BAD, fault) if fault else Verdict(ref, OK, "signed; by whom was not asked: --signers FILE")
    signer, fault = refused(data, signature, demand.signers)
    return Verdict(ref, BAD, fault, signer) if fault else Verdict(ref, OK, "", signer)


def verify_file(path: Path, demand: Demand) -> Verdict:
    """Return the verdict on a snapshot file anywhere, with its signature beside it where there is one. Its links are not looked at."""
    beside = path.with_name(path.name + SIGNATURE)
    try:
        data = document.read_bounded(path, document.LARGEST_FILE)
        document.parse(data, str(path))
    except StoreError as wrong:
        return Verdict(str(path), CHANGED, wrong.what)
    return signature_verdict(str(path), data, document.read_bounded(beside, document.LARGEST_FILE) if os.path.lexists(beside) else None, demand)


def _linked(one: _Seen, there: Collection[str], followers: Mapping[str, int]) -> Verdict:
    """Return a snapshot's verdict with what its link tells."""
    verdict = one.verdict
    if one.previous and one.previous not in there and verdict.word not in (CHANGED, BAD):
        why = f"it follows {one.previous}, which is neither there nor recorded as removed"
        return Verdict(verdict.ref, MISSING, why, verdict.signer)
    if one.previous is not None and followers[one.previous] > 1:
        return Verdict(verdict.ref, verdict.word, verdict.why, verdict.signer, followers[one.previous])
    return verdict


def _gone(store: Store, host: str) -> tuple[dict[str, str], list[Verdict]]:
    """Return what gc removed of a host, with predecessors, and a verdict where its records cannot be read."""
    try:
        return {short_id: previous for one in store.removals(host) for short_id, previous in one.removed.items()}, []
    except StoreError as wrong:
        return {}, [Verdict(f"{host} (record of gc)", CHANGED, wrong.what)]


def _absent(store: Store, host: str, there: Collection[str], gone: Mapping[str, str]) -> Iterator[Verdict]:
    """Yield what is missing though no snapshot says so: a predecessor of a removed one, and what a label names."""
    for short_id, previous in sorted(gone.items()):
        if previous and previous not in there:
            yield Verdict(f"{host}@{previous}", MISSING, f"{short_id}, which gc removed, followed it; it is neither there nor recorded as removed")
    for name in label_names(store, host):
        try:
            label = load_label(store, host, name)
        except StoreError as wrong:
            yield Verdict(f"{host}@{name}", CHANGED, wrong.what)
            continue
        file = parse_file_name(label.file)
        if file is None or file.short_id not in there or file.short_id in gone:
            yield Verdict(f"{host}@{name}", MISSING, f"the snapshot {label.id} that it names is gone")


def is_finding(verdict: Verdict, demand: Demand) -> bool:
    """Tell whether a verdict is a finding: all but ok, and unsigned where a signature is required."""
    return verdict.word != OK and (verdict.word != UNSIGNED or demand.is_required)
