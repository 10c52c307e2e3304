"""What `peers` does, in order: read every snapshot once to count and once to place it, weigh, and explain each way of differing by one of its hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.fitting import refuse_misfits
from driftwatch.cli.wiring.peer_sides import Faults, PeerFile, promised
from driftwatch.cli.wiring.roles import role_of
from driftwatch.cli.wiring.rule_folders import load_folders
from driftwatch.compare.peers import LEAST_HOSTS, Peers, Way, weigh
from driftwatch.compare.peers_lines import Sorter
from driftwatch.compare.peers_tally import Tally, told_values
from driftwatch.explain.peers import Beside, OddHosts, explain_way, with_history
from driftwatch.explain.rules_found import load_rules
from driftwatch.fleet.columns import column_of
from driftwatch.model import Snapshot, matches
from driftwatch.report.audit.night import COLUMNS, UNKNOWN
from driftwatch.report.peers import Lettered, PeersFound, Row, cells_of
from driftwatch.report.peers_json import render_json
from driftwatch.report.peers_text import render_text
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.store.fact_lines import LineReader
from driftwatch.store.labels import label_names, load_label
from driftwatch.store.names import parse_file_name

FORMATS = ("text", "json", "html")
MAJORITY = "majority"
GOOD = "good"
MOST_EXPLAINED = 24  # ways; the rest are listed with their facts only
MOST_EARLIER = 8  # snapshots of one host that count as further samples
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Asked:
    """What the options of `peers` ask: globs of facts."""

    facts: tuple[str, ...] = ()


def rendered(found: PeersFound, desk: Desk) -> str:
    """Return the answer in the format that was asked for."""
    if desk.given.format == "html":
        from driftwatch.report.peers_html import render_html  # noqa: PLC0415  # only a page pays for jinja2

        return render_html(found)
    return render_json(found) if desk.given.format == "json" else render_text(found, desk.page)


@dataclass(frozen=True)
class _Seen:
    """One snapshot after the first look: the name of its row, the number of its silence, and what was made of its lines."""

    file: PeerFile
    name: str
    taken_at: str | None
    silence: int
    made: tuple[bytes, ...]


def check_against(against: str) -> None:
    """Refuse any baseline but the majority."""
    if against != MAJORITY:
        raise UsageFault(f"--against {against}: peers are compared with their majority", do=f"driftwatch audit --against {against}   or leave it away")


def check_count(files: Sequence[PeerFile]) -> None:
    """Refuse fewer than three: two hosts that differ have no majority."""
    if len(files) == LEAST_HOSTS - 1:
        raise UsageFault("two hosts have no majority", do=f"driftwatch diff {files[0].ref} {files[1].ref}   or name a third")
    if len(files) < LEAST_HOSTS:
        raise UsageFault("one host has no peers" if files else "no host is selected", do="name three hosts or more: driftwatch peers gpu-a gpu-b gpu-c")


class Round:
    """One run of `peers`: two looks at every snapshot, of which nothing is kept but counts."""

    def __init__(self, asked: Asked, desk: Desk) -> None:
        self._asked, self._desk = asked, desk
        self._role = role_of(desk.settings)
        self._reader = LineReader()
        self._sorter = Sorter(self._role)
        self._tally = Tally(self._sorter, asked.facts)
        self._kept = 0

    def run(self, files: Sequence[PeerFile]) -> PeersFound:
        """Return what the snapshots have in common, who is odd, and why."""
        faults = Faults()
        seen = self._named([one for file in files if (one := faults.tried(partial(self._count, file))) is not None])
        faults.tell()
        self._tally.finish()
        for one in seen:
            self._tally.place(one.name, self._reader.again(one.file.read(), one.file.ref), one.made, one.silence)
        peers = weigh(self._tally, self._role, self._asked.facts)
        self._refuse_misfits(peers, files)
        odd = self._explained(peers, {one.name: one for one in seen})
        ways = tuple(Lettered(_letter(place), one, _cells(one.way)) for place, one in enumerate(odd))
        letters = {host: one.letter for one in ways for host in one.way.hosts}
        rows = tuple(Row(one.name, one.file.ref, one.taken_at, letters.get(one.name, "")) for one in seen)
        clean = tuple(host for way in peers.ways if way.is_clean for host in way.hosts)
        return PeersFound(peers, rows, ways, clean, self._asked.facts)

    def _count(self, file: PeerFile) -> _Seen:
        read = self._reader.read(file.read(), file.ref)
        promised(file, read.id)
        telling = self._tally.add(read.snapshot, read.lines)
        if read.lines and self._kept < LEAST_HOSTS:  # what most hosts share is in the first few
            self._reader.keep(read.lines)
            self._kept += 1
        silence = self._tally.silence(read.snapshot, read.lines, telling)
        return _Seen(file, read.snapshot.host or file.ref, read.snapshot.taken_at, silence, telling.made)

    def _refuse_misfits(self, peers: Peers, files: Sequence[PeerFile]) -> None:
        told = [*peers.noise, *(one.path for one in (*peers.facts, *peers.splits, *peers.agreed))]
        if misfits := [glob for glob in self._asked.facts if not any(matches(path, (glob,)) for path in told)]:
            refuse_misfits(misfits, {path for file in files for path in document.parse(file.read(), file.ref).facts}, "these hosts")

    @staticmethod
    def _named(seen: list[_Seen]) -> list[_Seen]:
        """Return the snapshots with one name each: the host's, or the reference where one host stands there twice."""
        names = [one.name for one in seen]
        return [replace(one, name=one.file.ref) if names.count(one.name) > 1 else one for one in seen] if len(set(names)) < len(names) else seen

    def _explained(self, peers: Peers, seen: dict[str, _Seen]) -> list[OddHosts]:
        """Return the ways of differing, the likeliest to matter first."""
        differing = sorted((way for way in peers.ways if way.outliers), key=_before)
        found = [OddHosts(way) for way in peers.ways if not way.outliers and not way.is_clean]
        rules = load_rules(load_folders(self._desk.settings.rules)) if differing else ()
        usual: Beside | None = None
        for way in differing[:MOST_EXPLAINED]:
            one, other = seen[way.hosts[0]], seen[_usual(peers.ways, way)]
            usual = usual if usual is not None and usual.ref == other.file.ref else self._beside(other)
            found.append(with_history(explain_way(way, self._beside(one), usual, rules), len(peers.facts), self._history(one, way)))
        found += [OddHosts(way) for way in differing[MOST_EXPLAINED:]]
        return sorted(found, key=lambda one: (not one.way.outliers, one.way.is_unreachable, one.order))

    def _beside(self, one: _Seen) -> Beside:
        return Beside(document.parse(one.file.read(), one.file.ref), one.file.ref)

    def _history(self, one: _Seen, way: Way) -> dict[str, list[object]]:
        """Return earlier values of a stored host for the facts in which it is odd: up to its good snapshot where one is tagged, else all before."""
        found: dict[str, list[object]] = {}
        paths = [outlier.fact.path for outlier in way.outliers]
        for snapshot, lines in self._earlier(one):
            for path, value in told_values(snapshot, self._sorter.sort(snapshot, lines), paths).items():
                found.setdefault(path, []).append(value)
        return found

    def _earlier(self, one: _Seen) -> Iterator[tuple[Snapshot, tuple[bytes, ...]]]:
        entry, store = one.file.entry, self._desk.store
        if entry is None:
            return
        good = parse_file_name(load_label(store, entry.host, GOOD).file) if GOOD in label_names(store, entry.host) else None
        last = entry.name.compact if good is None else min(good.compact, entry.name.compact)
        before = [other for other in store.entries(entry.host) if other.name.compact <= last and other.name != entry.name and not other.name.is_partial]
        for other in before[-MOST_EARLIER:]:
            try:
                read = self._reader.read(store.read(other), other.ref)
            except StoreError as refused:
                self._desk.say(f"note: {refused.what}; it is no sample")
                continue
            yield read.snapshot, read.lines


def _usual(ways: Sequence[Way], odd: Way) -> str:
    """Return a host that stands for the majority beside an odd one: one that is clean, else that with the least differences."""
    others = [way for way in ways if not way.is_unreachable and way is not odd]
    return min(others, key=lambda way: (len(way.outliers), len(way.unknown), -len(way.hosts))).hosts[0]


def _before(way: Way) -> tuple[float, int, str]:
    return (-max(one.surprise for one in way.outliers), len(way.hosts), way.hosts[0])


def _cells(way: Way) -> dict[str, str]:
    marks: dict[str, set[str]] = {}
    for one in way.outliers:
        marks.setdefault(column_of(one.fact.path), set()).add(one.mark)
    for path in way.silent:
        marks.setdefault(column_of(path), set()).add(UNKNOWN)
    return cells_of(way, marks, tuple(COLUMNS))


def _letter(place: int) -> str:
    """Return A to Z, then AA, AB …"""
    high, low = divmod(place, len(LETTERS))
    return (_letter(high - 1) if high else "") + LETTERS[low]

