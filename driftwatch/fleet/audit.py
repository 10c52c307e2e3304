"""An audit as it grows, host by host: each is compared with its baseline and let go, and what differs in the same way is explained once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import Explanation, Suspect
from driftwatch.fleet.columns import column_of
from driftwatch.fleet.seen import Differing
from driftwatch.fleet.told import UNREACHABLE, Told
from driftwatch.model import Snapshot
from driftwatch.report.audit.night import CHANGED, COLUMNS, DISAGREES, SAME, UNKNOWN, Difference, Night, Row, Silent, State, Suspected, Way
from driftwatch.report.audit.night import UNREACHABLE as OUT_OF_REACH
from driftwatch.report.words import say_answer

LISTED = 40
SHOWN_SUSPECTS = 3
SHOWN_EVIDENCE = 3
LEAST_SUSPICION = 0.5
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FAIL_ON: Mapping[str, Mapping[str, int]] = {
    "never": {}, "suspect": {"suspect": 1}, "drift": {"suspect": 1, "drift": 1, "unknown": 3}, "unknown": {"suspect": 1, "drift": 1, "unknown": 1},
}
Explainer = Callable[[Snapshot, Snapshot, tuple[Change, ...]], Explanation]


@dataclass(frozen=True)
class Answered:
    """A host that was looked at: its snapshot, how long that took, its reference, and the baseline with its reference where there is one."""

    host: str
    snapshot: Snapshot
    elapsed_s: float = 0.0
    ref: str = ""
    baseline: Snapshot | None = None
    baseline_ref: str = ""


@dataclass
class _Growing:
    """A way of differing while hosts join it."""

    way: Way
    hosts: list[str]
    is_new: bool


class Audit:
    """What was found so far. It keeps a row a host and a way once, so that its size follows the ways of differing and not the facts."""

    def __init__(self, explainer: Explainer) -> None:
        self._explain = explainer
        self._rows: list[Row] = []
        self._ways: dict[str, _Growing] = {}
        self._machines: dict[str, list[str]] = {}

    def take(self, answered: Answered, seen: Differing, told: Told) -> Row:
        """Take in a host that answered and has a baseline, and return its row."""
        self._note_machine(answered)
        new = sum(told.is_new(path, key) for path, key in seen.keys.items())
        state: State = "drift" if seen.changes else "unseen" if seen.silent else "same"
        row = Row(
            answered.host, state, "", answered.ref, answered.baseline_ref, answered.elapsed_s, changes=len(seen.changes), new=new,
            acknowledged=seen.acknowledged, unanswered=len(seen.silent),
        )
        signature = seen.signature
        if signature:
            way = self._join(f"{state}:{signature}", answered.host, is_new=new > 0, make=lambda: self._explained(answered, seen, told))
            row = replace(row, way=f"{state}:{signature}", suspects=sum(one.confidence >= LEAST_SUSPICION for one in way.suspects))
        self._rows.append(row)
        return row

    def take_unreachable(self, answered: Answered, reason: str, told: Told) -> None:
        """Take in a host that told nothing at all."""
        cells = dict.fromkeys(COLUMNS, OUT_OF_REACH)
        is_new = told.is_new(UNREACHABLE, UNREACHABLE)
        self._join("unreachable", answered.host, is_new=is_new, make=lambda: Way("", "unreachable", (), cells, f"no answer: {reason}"))
        self._rows.append(Row(answered.host, "unreachable", "unreachable", answered.ref, answered.baseline_ref, answered.elapsed_s, reason, new=int(is_new)))

    def take_failed(self, answered: Answered, why: str) -> None:
        """Take in a host whose comparison failed: a question without an answer, and why."""
        key, silent = f"unseen:{why}", Silent("the comparison", "error", why)
        self._join(key, answered.host, is_new=True, make=lambda: Way("", "unseen", (), dict.fromkeys(COLUMNS, UNKNOWN), "", silent=(silent,)))
        self._rows.append(Row(answered.host, "unseen", key, answered.ref, "", answered.elapsed_s, why, new=1, unanswered=1))

    def take_without(self, host: str, state: State, reason: str, answered: Answered | None = None) -> None:
        """Take in a host that cannot be compared: it has no baseline, or was not asked any more."""
        ref, elapsed_s = ("", 0.0) if answered is None else (answered.ref, answered.elapsed_s)
        self._rows.append(Row(host, state, "", ref, "", elapsed_s, reason))

    def night(self, whole: Night) -> Night:
        """Return the audit with its rows, its ways in order, its word and its exit code."""
        letters = {key: _letter(place) for place, key in enumerate(self._in_order())}
        ways = tuple(replace(self._ways[key].way, letter=letter, hosts=tuple(sorted(self._ways[key].hosts)), is_new=self._ways[key].is_new)
                     for key, letter in letters.items())
        rows = tuple(sorted((replace(row, way=letters.get(row.way, "")) for row in self._rows), key=lambda row: row.host))
        twins = tuple(sorted(tuple(sorted(set(hosts))) for hosts in self._machines.values() if len(set(hosts)) > 1))
        full = replace(whole, rows=rows, ways=ways, twins=twins)
        return replace(full, word=_word(rows), exit_code=exit_code(full))

    def _in_order(self) -> list[str]:
        """Return the keys of the ways: drift before silence before what is out of reach, many hosts before few."""
        states = ("drift", "unseen", "unreachable")
        return sorted(self._ways, key=lambda key: (states.index(self._ways[key].way.state), -len(self._ways[key].hosts), min(self._ways[key].hosts)))

    def _join(self, key: str, host: str, *, is_new: bool, make: Callable[[], Way]) -> Way:
        if key not in self._ways:
            self._ways[key] = _Growing(make(), [], is_new=False)
        found = self._ways[key]
        found.hosts.append(host)
        found.is_new = found.is_new or is_new
        return found.way

    def _explained(self, answered: Answered, seen: Differing, told: Told) -> Way:
        if answered.baseline is None:
            raise ValueError("a way of differing needs a baseline")
        explanation = self._explain(answered.baseline, answered.snapshot, seen.changes)
        marked = {column_of(one.fact): DISAGREES for one in explanation.suspects if one.mark == DISAGREES}
        cells = {column: marked.get(column, seen.cells.get(column, SAME)) for column in COLUMNS}
        places = {one.path: seen.place_of(one.path) for one in seen.changes[:LISTED]}
        listed = tuple(_difference(one, is_new=told.is_new(places[one.path], seen.keys[places[one.path]])) for one in seen.changes[:LISTED])
        suspects = tuple(_suspected(one) for one in explanation.suspects[:SHOWN_SUSPECTS])
        look = f"driftwatch diff {answered.baseline_ref} {answered.ref}" if answered.ref else ""
        state: State = "drift" if seen.changes else "unseen"
        return Way("", state, (), cells, explanation.verdict, suspects, listed, len(seen.changes), seen.silent, look=look)

    def _note_machine(self, answered: Answered) -> None:
        """Note by its boot which machine answered: two names with one boot id are one running kernel."""
        boot = answered.snapshot.facts.get("kernel/boot_id")
        if isinstance(boot, str) and boot:
            self._machines.setdefault(boot, []).append(answered.host)


def exit_code(night: Night) -> int:
    """Return the exit code of an audit: what it found, as far as ``fail_on`` counts it and, with ``only_new``, as far as it is new."""
    codes = FAIL_ON[night.fail_on]
    rows = [row for row in night.rows if row.new or not night.only_new or row.state in ("no baseline", "not asked")]
    found = {"drift" for row in rows if row.state == "drift"} | {"suspect" for row in rows if row.suspects}
    found |= {"unknown" for row in rows if row.unanswered or row.state in ("unseen", "unreachable", "no baseline", "not asked")}
    given = [codes[one] for one in found if one in codes]
    return 1 if 1 in given else max(given, default=0)


def _word(rows: Iterable[Row]) -> str:
    states = {row.state for row in rows}
    return "DRIFT" if "drift" in states else "SAME" if states <= {"same"} else "UNKNOWN"


def _letter(place: int) -> str:
    """Return A to Z, then AA, AB …"""
    high, low = divmod(place, len(LETTERS))
    return (_letter(high - 1) if high else "") + LETTERS[low]


def _difference(change: Change, *, is_new: bool) -> Difference:
    mark = {"added": "+", "removed": "-"}.get(change.kind, CHANGED)
    return Difference(change.path, mark, say_answer(change.good, change.path), say_answer(change.bad, change.path), is_new)


def _suspected(suspect: Suspect) -> Suspected:
    said = suspect.verdict or f"{suspect.subject.kind}: {suspect.subject.name}"
    return Suspected(suspect.strength, said, tuple(term.says for term in suspect.because[:SHOWN_EVIDENCE] if term.weight > 0), round(suspect.confidence, 3))

