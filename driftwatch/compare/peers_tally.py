"""Counts what many hosts tell, in two passes over them: first which values there are, then who differs. Keeps counts, never snapshots.

A host that does not tell a fact is asked why, by the same rule as ever (:meth:`~driftwatch.model.Snapshot.get`): known to be absent is a value, and
unknown leaves the count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from driftwatch.compare.equal import FIRST_HAND
from driftwatch.compare.peers_lines import Sorter, Telling, parts_of, text_of, value_of
from driftwatch.model import ANSWERED, Known, Snapshot, Unknown, matches

MOST_VALUES = 400  # of one fact: beyond this, where no value has the half of them, it is each host's own
_WIDE_SPLIT = 8  # values of a fact without a majority, beyond which nobody reads who has which
_NO_SERVER = frozenset({"log", "args", "running", "leftovers"})  # what is known of a server that does not run


class Profile(NamedTuple):
    """How a host stands among the others: the lines that it holds of those that not all share, and the number of its silence."""

    lines: frozenset[bytes]
    silence: int


@dataclass
class _Path:
    """What is counted of one fact."""

    lines: dict[bytes, int] = field(default_factory=dict)

    @property
    def told(self) -> int:
        return sum(self.lines.values())


class Tally:
    """The counts: ``add`` every host once, ``finish``, then ``place`` every host once, in any order. ``open_paths`` are facts that not all tell alike."""

    def __init__(self, sorter: Sorter, asked: tuple[str, ...] = ()) -> None:
        self._sorter = sorter
        self._asked = asked
        self._never_noise = (*sorter.role.nearly, *sorter.role.versions)
        self._made: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}
        self.agreed: dict[str, tuple[bytes, int]] = {}
        self.same = 0
        self._counts: Counter[bytes] = Counter()
        self._seen_values = 0
        self._silences: dict[object, int] = {}
        self.silent: list[Snapshot] = []
        self.hosts = 0  # that were reached
        self.unreachable = 0
        self.noise: set[str] = set()
        self.open_paths: dict[str, _Path] = {}
        self._open_lines: set[bytes] = set()
        self.profiles: dict[Profile, list[str]] = {}

    def add(self, head: Snapshot, lines: Sequence[bytes]) -> Telling:
        """Count what a host tells, and return it. One that was not reached is only counted itself: it knows nothing.

        What is returned as made is shared by all hosts that tell the same, so that it may be kept until the host is placed.
        """
        if is_unreachable(head):
            self.unreachable += 1
            return Telling([], (), ())
        telling = self._sorter.sort(head, lines)
        telling = telling._replace(made=self._made.setdefault(telling.made, telling.made))
        self._counts.update(telling.plain)
        self._counts.update(telling.made)
        self.hosts += 1
        if len(self._counts) > 2 * self._seen_values + MOST_VALUES:
            self._drop_noise()
            self._seen_values = len(self._counts)
        return telling

    def silence(self, head: Snapshot, lines: Sequence[bytes], telling: Telling) -> int:
        """Return the number of a host's silence: hosts of one number answer alike for every fact that they do not tell."""
        running = tuple(line for line in lines if line.startswith(b' "servers/') and b'/running": ' in line)
        probes = tuple((name, result.status, result.tells) for name, result in head.probes.items())
        key = (probes, telling.unknown, running, head.source in FIRST_HAND, head.volatile, str(head.redaction.get("key_id")))
        if key not in self._silences:
            self._silences[key] = len(self.silent)
            facts = {path: {"unknown": status} for path, status in telling.unknown}
            self.silent.append(replace(head, facts={**facts, **{text_of(parts_of(line)[0]): line.endswith(b"true") for line in running}}))
        return self._silences[key]

    def finish(self) -> None:
        """End the first pass: what all hosts tell alike is let go, and what nearly every host tells otherwise is noise."""
        every = self._by_path()
        self._counts.clear()
        self.open_paths = {path: one for path, one in every.items() if len(one.lines) > 1 or one.told < self.hosts}
        agreed = {path: one for path, one in every.items() if path not in self.open_paths and (not self._asked or matches(path, self._asked))}
        self.same = len(agreed)
        self.agreed = {path: next(iter(one.lines.items())) for path, one in agreed.items()} if self._asked else {}
        for path in [path for path, one in self.open_paths.items() if self._is_noise(one) and not self._is_kept(path)]:
            self.noise.add(path)
            del self.open_paths[path]
        self._open_lines = {line for one in self.open_paths.values() for line in one.lines}

    def place(self, host: str, lines: Sequence[bytes], made: tuple[bytes, ...], silence: int) -> None:
        """Put a host to those that stand as it does: by its lines as they are stored, and those that were made of them."""
        wanted = self._open_lines
        held = frozenset([line for group in (lines, made) for line in group if line in wanted])
        self.profiles.setdefault(Profile(held, silence), []).append(host)

    def _by_path(self) -> dict[str, _Path]:
        found: dict[bytes, _Path] = {}
        for line, many in self._counts.items():
            found.setdefault(parts_of(line)[0], _Path()).lines[line] = many
        return {text_of(path): one for path, one in found.items()}

    def _is_noise(self, one: _Path) -> bool:
        """Tell whether a fact that every host tells is another nearly everywhere."""
        values, most = len(one.lines), max(one.lines.values())
        return one.told == self.hosts and values > _WIDE_SPLIT and 2 * most <= self.hosts

    def _is_kept(self, path: str) -> bool:
        """Tell whether a fact is never noise: a version, or a size that differs a little on every host."""
        return bool(self._never_noise) and matches(path, self._never_noise)

    def _drop_noise(self) -> None:
        """Forget facts of which there are too many values to keep."""
        found: dict[bytes, list[int]] = {}
        for line, many in self._counts.items():
            found.setdefault(parts_of(line)[0], []).append(many)
        many_values = {path: many for path, many in found.items() if len(many) > MOST_VALUES and 2 * max(many) <= sum(many)}
        noisy = {path for path in many_values if not self._is_kept(text_of(path))}
        if noisy:
            self.noise.update(map(text_of, noisy))
            self._counts = Counter({line: many for line, many in self._counts.items() if parts_of(line)[0] not in noisy})
            self._sorter.drop(noisy)


def told_values(head: Snapshot, telling: Telling, paths: Iterable[str]) -> dict[str, object]:
    """Return what one snapshot says of these facts, None where it is known to be absent; what it does not know is left out. ``head`` has no facts."""
    lines = {text_of(parts_of(line)[0]): line for group in (telling.plain, telling.made) for line in group}
    silent = replace(head, facts={path: {"unknown": status} for path, status in telling.unknown})
    found: dict[str, object] = {}
    for path in paths:
        if path in lines:
            found[path] = value_of(lines[path])
        elif isinstance(silent.get(path), Known):
            found[path] = None
    return found


class Answers:
    """What the hosts of one silence answer for facts that they do not tell."""

    def __init__(self, silent: Sequence[Snapshot]) -> None:
        self._silent = silent
        self._probes = {name for side in silent for name in side.probes}
        self._found: dict[tuple[int, str], Known | Unknown] = {}

    def of(self, silence: int, path: str) -> Known | Unknown:
        """Return ``Known(None)`` where it is known to be absent, else why it is not known."""
        key = (silence, path)
        if key not in self._found:
            self._found[key] = self._ask(self._silent[silence], path)
        return self._found[key]

    def _ask(self, side: Snapshot, path: str) -> Known | Unknown:
        found = side.get(path)
        if isinstance(found, Unknown):
            return found
        if self._never_planned(side, path):
            return Unknown("not_recorded", "the probe that answers for it was not asked")
        return of_no_server(side, path) or Known(None)

    def _never_planned(self, side: Snapshot, path: str) -> bool:
        """Tell whether a probe that this host never planned answers for the fact elsewhere, more exactly than what this host has."""
        absent = self._probes - side.probes.keys()
        if not absent or side.source not in FIRST_HAND:
            return False
        return any(other.owner(path) in absent for other in self._silent if absent & other.probes.keys())


def of_no_server(side: Snapshot, path: str) -> Unknown | None:
    """Return why a fact of a server's processes is unknown where none runs: it is not absent."""
    parts = path.split("/")
    if parts[0] != "servers" or len(parts) < 3 or parts[2] in _NO_SERVER or side.facts.get(f"servers/{parts[1]}/running") is True:
        return None
    return Unknown("not_recorded", f"no {parts[1]} server runs there")


def is_unreachable(snapshot: Snapshot) -> bool:
    """Tell whether no probe of a host answered: it is a row of its own, never a host without facts."""
    return bool(snapshot.probes) and not any(result.status in ANSWERED for result in snapshot.probes.values())
