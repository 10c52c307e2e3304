"""One host of an audit against its baseline: what differs, what gave no answer, and what makes two hosts differ in the same way. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.compare.gaps import standing_gaps
from driftwatch.compare.pair import compare
from driftwatch.fleet.columns import column_of
from driftwatch.model import ANSWERED, FAILED, Answer, Known, Snapshot, Unknown, matches
from driftwatch.report.audit.night import CHANGED, UNKNOWN, Silent

KEY_DIGITS = 16
CROWD = 200
PROBES = "probes/"
NEVER_DRIFT = ("os_changes/*", "os_changes", "os_changes_since")  # they say who changed what: evidence for a change, not one
_OWN_NAMES = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z?")


@dataclass(frozen=True)
class Differing:
    """What one host's snapshot says against its baseline.

    ``keys`` name each difference and each silence for good, by path; of a crowd of more than 200 differences below one path all together, so that
    what is kept of a host stays small though ten thousand files of it moved.
    """

    changes: tuple[Change, ...]
    silent: tuple[Silent, ...]
    keys: Mapping[str, str]
    acknowledged: int = 0

    @property
    def cells(self) -> dict[str, str]:
        """Return the marks by column: ``~`` where a fact differs, ``?`` where only an answer is missing."""
        return {**{column_of(one.below[0]): UNKNOWN for one in self.silent}, **{column_of(one.path): CHANGED for one in self.changes}}

    def without(self, acknowledged: Container[str]) -> Differing:
        """Return the same without what someone knows of already, which is counted."""
        keys = {path: key for path, key in self.keys.items() if key not in acknowledged}
        changes, quiet = tuple(one for one in self.changes if self.place_of(one.path) in keys), tuple(one for one in self.silent if one.what in keys)
        return Differing(changes, quiet, keys, len(self.keys) - len(keys))

    def place_of(self, path: str) -> str:
        """Return the path under which a difference has its key: its own, or that of its crowd."""
        return path if path in self.keys else _crowd(path)

    @property
    def signature(self) -> str:
        """Return what two hosts share that differ in the same way; "" where nothing differs and nothing is silent."""
        said = sorted([*(_told(change) for change in self.changes), *(f"?{one.what}\0{one.status}" for one in self.silent)])
        return hashlib.sha256("\n".join(said).encode("utf-8", "surrogatepass")).hexdigest() if said else ""


def differing(good: Snapshot, bad: Snapshot, ignore: Sequence[str], changes: Sequence[Change] | None = None) -> Differing:
    """Return what differs, without volatile facts, what only follows from another change, and what is ignored.

    ``changes`` stand in for those of the pair where they were narrowed to what the two hosts' role shares.
    """
    every = compare(good, bad) if changes is None else changes
    left = [one for one in every if not matches(one.path, (*NEVER_DRIFT, *ignore))]
    counted = tuple(one for one in left if one.kind != "unknown" and not one.is_folded)
    quiet = (*silent(good, bad, left), *_failing(good, bad, ignore))
    return Differing(counted, quiet, {**{one.what: key_of_silence(one) for one in quiet}, **_keys(counted)})


def _keys(changes: Iterable[Change]) -> dict[str, str]:
    """Return the key of each difference by its path, and one for each crowd."""
    crowds: dict[str, dict[str, str]] = {}
    for one in changes:
        crowds.setdefault(_crowd(one.path), {})[one.path] = key_of(one)
    found: dict[str, str] = {}
    for place, keys in crowds.items():
        found.update(keys if len(keys) <= CROWD else {place: _digest("\n".join(f"{path} {key}" for path, key in sorted(keys.items())))})
    return found


def _crowd(path: str) -> str:
    """Return the first three parts of a path: the files of a tree, the values of one package, the arguments of a server."""
    return "/".join(path.split("/")[:3])


def silent(good: Snapshot, bad: Snapshot, changes: Iterable[Change]) -> tuple[Silent, ...]:
    """Return the questions that one of the two answers and the other does not, whole probes before single facts.

    What the baseline was refused, or was not asked, is no reason: that stands until the baseline is taken anew.
    """
    found = []
    for one in changes:
        before, answer = _answers(good, bad, one) if one.kind == "unknown" else (one.good, one.bad)
        if isinstance(answer, Unknown) and not isinstance(before, Unknown):
            found.append(Silent(one.path, answer.status, answer.reason, _below(one.path, bad)))
        elif isinstance(before, Unknown) and not isinstance(answer, Unknown) and before.status in FAILED:
            found.append(Silent(one.path, before.status, f"the baseline does not know it: {before.reason}", _below(one.path, bad)))
    return tuple(sorted(found, key=lambda one: not one.what.startswith(PROBES)))


def _failing(good: Snapshot, bad: Snapshot, ignore: Sequence[str]) -> tuple[Silent, ...]:
    """Return the whole probes and topics that failed on both sides: nobody knows whether they are the same."""
    return tuple(Silent(one.path, one.status, one.reason, _below(one.path, bad)) for one in standing_gaps(good, bad)
                 if one.status in FAILED and (one.path.startswith(PROBES) or "/" not in one.path) and not matches(one.path, tuple(ignore)))


def _below(what: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the globs of an open question: of its own path and all below it, or of what a whole probe tells."""
    probe = snapshot.probes.get(what.removeprefix(PROBES)) if what.startswith(PROBES) else None
    return probe.tells if probe is not None and probe.tells else (what, f"{what}/*")


def _answers(good: Snapshot, bad: Snapshot, change: Change) -> tuple[Answer, Answer]:
    """Return what both sides answer where a change is open; of a whole probe, that it answered or why it did not."""
    name = change.path.removeprefix(PROBES)
    if not change.path.startswith(PROBES) or name not in good.probes or name not in bad.probes:
        return change.good, change.bad
    one, other = good.probes[name], bad.probes[name]
    return (Known(None) if one.status in ANSWERED else Unknown(one.status, one.reason),
            Known(None) if other.status in ANSWERED else Unknown(other.status, other.reason))


def key_of(change: Change) -> str:
    """Return 16 digits that name a difference: the same path with the same two values has the same ones."""
    return _digest(f"{change.path}\0{_json(change.good)}\0{_json(change.bad)}")


def key_of_silence(one: Silent) -> str:
    """Return 16 digits that name a question and the way in which it got no answer."""
    return _digest(f"?{one.what}\0{one.status}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_DIGITS]


def _told(change: Change) -> str:
    """Return a change without what only this host's things are called, and without its own times."""
    return _OWN_NAMES.sub("*", f"{change.path}\0{change.kind}\0{_json(change.good)}\0{_json(change.bad)}")


def _json(one: Answer) -> str:
    value: Any = one.value if isinstance(one, Known) else {"unknown": one.status}
    return json.dumps(value, sort_keys=True, allow_nan=True)
