"""What `peers` found, as a frozen value that every format of it is laid out from, and the words that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftwatch.compare.peers import Outlier, PeerFact, Peers, Way
from driftwatch.compare.peers_lines import DEVICES
from driftwatch.explain.peers import OddHosts
from driftwatch.explain.verdict import said
from driftwatch.explain.words import TIMES, count, shorten
from driftwatch.report.audit.night import CHANGED, DISAGREES, SAME, UNKNOWN, UNREACHABLE
from driftwatch.report.short_names import fold
from driftwatch.report.words import say_value

MOST_SAID = 2  # suspects in the sentence at the top
SHORT = 48
LONGEST_HOSTS = 60
ORDER = (DISAGREES, CHANGED, "+", "-", UNKNOWN)


@dataclass(frozen=True)
class Row:
    """One host as it was given: its reference, when it was taken, and the letter of its way ("" for none)."""

    host: str
    ref: str
    taken_at: str | None
    way: str = ""


@dataclass(frozen=True)
class Lettered:
    """A way of differing with its letter and its marks by column."""

    letter: str
    odd: OddHosts
    cells: Mapping[str, str]

    @property
    def way(self) -> Way:
        """Return the way itself."""
        return self.odd.way


@dataclass(frozen=True)
class PeersFound:
    """The whole answer: ``ways`` in the order in which they are told, those of the majority (``clean``) apart."""

    peers: Peers
    rows: tuple[Row, ...]
    ways: tuple[Lettered, ...]
    clean: tuple[str, ...]
    asked: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """Return ODD, DRIFT, SPLIT, UNKNOWN or SAME (docs/peers.md)."""
        if any(one.odd.is_odd for one in self.ways):
            return "ODD"
        if any(one.way.outliers for one in self.ways):
            return "DRIFT"
        if self.peers.splits:
            return "SPLIT"
        return "UNKNOWN" if self.ways else "SAME"

    @property
    def exit_code(self) -> int:
        """Return 1 where hosts differ, 3 where nothing does but not all was answered, else 0."""
        return {"SAME": 0, "UNKNOWN": 3}.get(self.word, 1)

    @property
    def verdict(self) -> str:
        """Return the one sentence at the top."""
        return {"ODD": self._odd, "DRIFT": self._drift, "SPLIT": self._split, "UNKNOWN": self._unknown, "SAME": self._same}[self.word]()

    def _odd(self) -> str:
        first = next(one for one in self.ways if one.odd.is_odd)
        told = " ".join(said(suspect) for suspect in first.odd.suspects[:MOST_SAID] if suspect.confidence >= 0.5)
        more = sum(one.odd.is_odd for one in self.ways) - 1
        return f"{hosts_of(first.way)}: {told}" + (f" {count(more, 'other way', 'other ways')} of being odd." if more else "")

    def _drift(self) -> str:
        hosts = sum(len(one.way.hosts) for one in self.ways if one.way.outliers)
        return f"{count(hosts, 'host')} {'differs' if hosts == 1 else 'differ'} from the majority, and no rule finds a cause of trouble in it."

    def _split(self) -> str:
        first = self.peers.splits[0]
        told = " against ".join(f"{many} {TIMES} {say_value(value, limit=SHORT)}" for value, many in first.values[:3])
        if first.known < 3:
            return f"No host is odd: only {count(first.known, 'host')} {'knows' if first.known == 1 else 'know'} {first.path}, too few for a majority ({told})."
        return f"No host is odd: {count(len(self.peers.splits), 'fact')} without a majority, such as {first.path} ({told})."

    def _unknown(self) -> str:
        return f"No host is odd, but {count(sum(len(one.way.hosts) for one in self.ways), 'host')} did not answer everything that the others did."

    def _same(self) -> str:
        return f"{count(self.peers.hosts, 'host')} agree in {count(self.peers.same, 'fact')}; all answered what the others did."


def hosts_of(way: Way) -> str:
    """Return the hosts of a way in short form, cut where they are many that fold badly."""
    return shorten(", ".join(fold(way.hosts)), LONGEST_HOSTS)


def mark_of(marks: set[str]) -> str:
    """Return the one mark that stands for several of one column."""
    return next((mark for mark in ORDER if mark in marks), SAME)


def cells_of(way: Way, columns: Mapping[str, set[str]], names: tuple[str, ...]) -> dict[str, str]:
    """Return the marks of a way by column."""
    return {name: UNREACHABLE if way.is_unreachable else mark_of(columns.get(name, set())) for name in names}


def say_peer(value: Any, limit: int = SHORT) -> str:
    """Return a value of a fact in words: of devices that differ, how many have which."""
    if isinstance(value, dict) and set(value) == {DEVICES}:
        return ", ".join(f"{many} {TIMES} {say_value(one, limit=limit)}" for many, one in value[DEVICES])
    return say_value(value, limit=limit)


def say_share(fact: PeerFact, unreachable: int) -> str:
    """Return what the majority has: ``4 of 5: 2.27.5, 1 unknown``; hosts that were not reached are told once, elsewhere."""
    unknown = fact.unknown - unreachable
    return f"{fact.agree} of {fact.known}: {say_peer(fact.majority)}" + (f", {unknown} unknown" if unknown else "")


def say_outlier(one: Outlier, unreachable: int) -> str:
    """Return an odd value and what the majority has."""
    at = f" (on {', '.join(one.devices[:4])}{' and more' if len(one.devices) > 4 else ''})" if one.devices else ""
    return f"{say_peer(one.value)}{at} · {say_share(one.fact, unreachable)}"
