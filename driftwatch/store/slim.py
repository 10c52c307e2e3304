"""Many snapshots of one host in little memory: each as what it has else than a set of facts that many of them share. Opens no file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from driftwatch.model import Snapshot, refilled
from driftwatch.store.fact_lines import LineReader

LEAST_OUTGROWN, PART_OUTGROWN = 200, 10  # a snapshot that has more than so many other facts, and more than one in ten, is shared by those after it


@dataclass(frozen=True)
class Slim:
    """A snapshot without its facts (its id is that of the whole), the facts that others share, never changed, and what this one has else."""

    head: Snapshot
    shared: Mapping[str, Any]
    changed: Mapping[str, Any]
    gone: tuple[str, ...] = ()

    def whole(self) -> Snapshot:
        """Return the snapshot with all its facts. Values that are shared are the same objects, so that comparing them costs nothing."""
        facts = dict(self.shared)
        for path in self.gone:
            facts.pop(path, None)
        facts.update(self.changed)
        return refilled(self.head, facts, self.head.id)


class Slimmer:
    """Reads snapshot files slim, one after the other: what is told against is one of them, until they have grown too unlike."""

    def __init__(self) -> None:
        self._reader = LineReader()
        self._shared: dict[str, Any] = {}
        self._paths: dict[bytes, str] = {}

    def read(self, data: bytes, name: str) -> Slim:
        """Return the snapshot that a file's bytes hold; ``name`` is how an error calls it. Raises StoreError as the reader of lines does."""
        found = self._reader.read(data, name)
        head = refilled(found.snapshot, {}, found.id)
        changed = _parsed(line for line in found.lines if line not in self._paths)
        missing = self._paths.keys() - found.lines if len(found.lines) - len(changed) < len(self._paths) else ()
        gone = tuple(path for line in missing if (path := self._paths[line]) not in changed)
        if len(changed) + len(gone) <= max(LEAST_OUTGROWN, len(found.lines) // PART_OUTGROWN):
            return Slim(head, self._shared, changed, gone)
        self._shared = _parsed(found.lines)
        self._paths = dict(zip(found.lines, self._shared, strict=True))
        self._reader.keep(found.lines)
        return Slim(head, self._shared, {})


def _parsed(lines: Iterable[bytes]) -> dict[str, Any]:
    """Return the facts that lines hold."""
    facts: dict[str, Any] = json.loads(b"{" + b",".join(lines) + b"}")
    return facts
