"""What an audit found, as plain frozen values, already worded. Every format is laid out from these (docs/audit.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

SAME, CHANGED, DISAGREES, UNKNOWN, UNREACHABLE = ".", "~", "!", "?", "x"
State = Literal["same", "drift", "unseen", "unreachable", "no baseline", "not asked"]
COLUMNS: Mapping[str, str] = MappingProxyType({
    "drv": "driver", "krn": "kernel and modules", "cud": "CUDA and libraries", "pkg": "packages", "src": "sources and git", "arg": "launch arguments",
    "env": "environment and limits", "gpu": "GPUs and who holds them", "lnk": "links and network", "dsk": "disks, mounts and caches", "hst": "the host itself",
})


@dataclass(frozen=True)
class Difference:
    """One fact that differs from the baseline, both values in words. ``is_new`` unless an earlier audit told it or someone acknowledged it."""

    path: str
    mark: str
    good: str
    bad: str
    is_new: bool = True


@dataclass(frozen=True)
class Silent:
    """A question that the baseline answers and the host did not. ``below`` are globs of the facts that nobody knows therefore."""

    what: str
    status: str
    reason: str
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suspected:
    """A suspect of a way of differing: its strength in words, what it is, and the evidence that weighs most."""

    strength: str
    says: str
    because: tuple[str, ...] = ()
    confidence: float = 0.0


@dataclass(frozen=True)
class Way:
    """One way of differing and the hosts that do. ``cells`` are marks by column; ``total`` counts all differences, of which the first are listed."""

    letter: str
    state: State
    hosts: tuple[str, ...]
    cells: Mapping[str, str]
    says: str
    suspects: tuple[Suspected, ...] = ()
    differences: tuple[Difference, ...] = ()
    total: int = 0
    silent: tuple[Silent, ...] = ()
    is_new: bool = True
    look: str = ""


@dataclass(frozen=True)
class Row:
    """One host: its state, the way by which it differs ("" for none), the references compared, and how long it took in seconds."""

    host: str
    state: State
    way: str = ""
    ref: str = ""
    baseline: str = ""
    elapsed_s: float = 0.0
    reason: str = ""
    changes: int = 0
    new: int = 0
    acknowledged: int = 0
    suspects: int = 0
    unanswered: int = 0


@dataclass(frozen=True)
class Night:
    """A whole audit. ``twins`` are hosts that turned out to be one machine; ``fail_on`` decided the exit code."""

    against: str
    began_at: str
    elapsed_s: float
    rows: tuple[Row, ...]
    ways: tuple[Way, ...]
    word: str
    exit_code: int
    fail_on: str = "drift"
    only_new: bool = False
    is_stopped: bool = False
    twins: tuple[tuple[str, ...], ...] = ()

    def count(self, *states: State) -> int:
        """Return how many hosts ended in one of these states."""
        return sum(row.state in states for row in self.rows)

    @property
    def told(self) -> tuple[Way, ...]:
        """Return the ways that are told: all, or only what is new where that was asked."""
        return tuple(way for way in self.ways if way.is_new or not self.only_new)
