"""One case: two snapshots, what differs between them, and the symptom. Rules ask it; it decides nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from driftwatch.compare.change import Change
from driftwatch.model import Known, Snapshot, Symptom, Unknown, is_unknown, matches

MOST_TEXT = 20_000  # characters of error text that rules search
SideName = Literal["good", "bad"]
SIDES: tuple[SideName, SideName] = ("good", "bad")


@dataclass(frozen=True)
class Commit:
    """One commit between two HEADs: its id, its time (ISO), its first line, and the files that it touched."""

    id: str
    at: str
    subject: str
    files: Sequence[str] = ()


@dataclass(frozen=True)
class Case:
    """What an explanation starts from. The refs are what the user typed for each side, for commands and headers.

    ``commits`` holds what lies between two HEADs, newest first, where the user has a clone. ``trace`` holds the lines of the log's traceback that
    name a file, in their order. ``here`` is the name of the machine that the reader sits at, for commands that need not name it.
    """

    good: Snapshot
    bad: Snapshot
    changes: tuple[Change, ...]
    symptom: Symptom | None = None
    symptom_from: str | None = None
    good_ref: str = ""
    bad_ref: str = ""
    commits: Mapping[tuple[str, str], tuple[Commit, ...]] = field(default_factory=dict)
    trace: str = ""
    here: str = ""

    @property
    def klass(self) -> str | None:
        """Return the class of the symptom, or None where it is not known."""
        return None if self.symptom is None else self.symptom.klass

    @cached_property
    def text(self) -> str:
        """Return all error text there is: the symptom's decisive line, and those that the bad side's server logs hold."""
        lines = [self.symptom.signature] if self.symptom is not None and self.symptom.signature else []
        lines += [value for path, value in self.below("bad", "servers") if path.endswith("/log/error") and isinstance(value, str)]
        return "\n".join(dict.fromkeys(lines))[:MOST_TEXT]

    @cached_property
    def by_path(self) -> Mapping[str, Change]:
        """Return the changes by their path."""
        return {change.path: change for change in self.changes}

    @cached_property
    def seen(self) -> tuple[Change, ...]:
        """Return the changes that a reader counts: known on both sides and not folded."""
        return tuple(change for change in self.changes if change.kind != "unknown" and not change.is_folded)

    @cached_property
    def installers(self) -> frozenset[str]:
        """Return the tools that installed the bad side's packages, as they wrote it down: pip, uv …"""
        return frozenset(value for path, value in self.below("bad", "packages") if path.endswith("/installer") and isinstance(value, str))

    def side(self, name: SideName) -> Snapshot:
        """Return one snapshot of the pair."""
        return self.good if name == "good" else self.bad

    def moved(self, *globs: str) -> Iterator[Change]:
        """Yield the changes that a reader counts whose path fits one of the globs."""
        tops = {glob.split("/", 1)[0] for glob in globs}
        return (change for top in sorted(tops) for change in self._seen_by_top.get(top, ()) if matches(change.path, globs))

    def has_moved(self, *globs: str) -> bool:
        """Tell whether such a change exists."""
        return next(self.moved(*globs), None) is not None

    def is_open_below(self, *tops: str) -> bool:
        """Tell whether a side left something open at or below one of these paths."""
        return any(change.kind == "unknown" and f"{change.path}/".startswith(tuple(f"{top}/" for top in tops)) for change in self.changes)

    def known(self, path: str) -> tuple[Any, Any] | None:
        """Return both values of a fact, or None where a side does not know it."""
        good, bad = self.good.get(path), self.bad.get(path)
        return (good.value, bad.value) if isinstance(good, Known) and isinstance(bad, Known) else None

    def value(self, side: SideName, path: str) -> Any:
        """Return one side's value, None where it is absent or not known. Only for facts whose absence and ignorance weigh the same."""
        found = self.side(side).get(path)
        return found.value if isinstance(found, Known) else None

    def below(self, side: SideName, top: str) -> list[tuple[str, Any]]:
        """Return the stored facts of one side whose first part is ``top``, as (path, value), in their order."""
        return self._by_top[side].get(top, [])

    def under(self, side: SideName, prefix: str) -> list[tuple[str, Any]]:
        """Return the stored facts of one side below a path of two or three parts, such as ``servers/sglang/args``, as (path, value), in their order."""
        return self._prefixes(side, prefix.partition("/")[0]).get(prefix, [])

    def families(self, top: str) -> list[str]:
        """Return the names below a first part on either side, sorted: ``sglang`` for ``servers``, the keys of ``sources`` or ``git``."""
        if top not in self._families:
            self._families[top] = sorted({path.split("/", 2)[1] for side in self._by_top.values() for path, _ in side.get(top, ()) if "/" in path})
        return self._families[top]

    def unanswered(self, side: SideName, glob: str) -> Unknown | None:
        """Return why nothing that fits a glob is known on a side, or None where a value is known or known to be absent."""
        found: Unknown | None = None
        may_mean = _overlapping(glob).match
        for path, value in self.below(side, glob.partition("/")[0]):
            if may_mean(path) is None:
                continue
            if not is_unknown(value):
                return None
            found = Unknown(str(value["unknown"]), str(value.get("reason", "")))
        if found is not None:
            return found
        asked = self.side(side).get(glob.replace("*", "_"))
        return asked if isinstance(asked, Unknown) else None

    @cached_property
    def _families(self) -> dict[str, list[str]]:
        """Return what ``families`` found already."""
        return {}

    @cached_property
    def _seen_by_top(self) -> Mapping[str, list[Change]]:
        found: dict[str, list[Change]] = {}
        for change in self.seen:
            found.setdefault(change.path.split("/", 1)[0], []).append(change)
        return found

    @cached_property
    def _by_prefix(self) -> dict[tuple[SideName, str], dict[str, list[tuple[str, Any]]]]:
        """Return the facts below each path of two and three parts, for the sides and first parts that were asked about already."""
        return {}

    def _prefixes(self, side: SideName, top: str) -> dict[str, list[tuple[str, Any]]]:
        found = self._by_prefix.get((side, top))
        if found is None:
            found = self._by_prefix[side, top] = {}
            for path, value in self.below(side, top):
                second = path.find("/", len(top) + 1)
                third = path.find("/", second + 1) if second > 0 else -1
                for end in (end for end in (second, third) if end > 0):
                    found.setdefault(path[:end], []).append((path, value))
        return found

    @cached_property
    def _by_top(self) -> dict[SideName, dict[str, list[tuple[str, Any]]]]:
        found: dict[SideName, dict[str, list[tuple[str, Any]]]] = {"good": {}, "bad": {}}
        for name, tops in found.items():
            for path, value in self.side(name).facts.items():
                tops.setdefault(path.split("/", 1)[0], []).append((path, value))
        return found


@lru_cache(maxsize=512)
def _overlapping(glob: str) -> re.Pattern[str]:
    """Return what fits the paths that can mean the same as a glob, as :func:`overlaps` tells it of parts."""
    parts = ["[^/]*" if part == "*" else rf"(?:\*|{re.escape(part)})" for part in glob.split("/")]
    pattern = parts.pop() + r"(?:/.*)?\Z"
    for part in reversed(parts):
        pattern = rf"{part}(?:\Z|/{pattern})"
    return re.compile(pattern, re.DOTALL)


def overlaps(one: list[str], other: list[str]) -> bool:
    """Tell whether two paths or globs, as parts, can mean one thing: equal part by part up to the shorter one, where ``*`` is any part."""
    for a, b in zip(one, other, strict=False):  # noqa: SIM110  asked of every fact: a generator costs twice as much
        if a not in (b, "*") and b != "*":
            return False
    return True
