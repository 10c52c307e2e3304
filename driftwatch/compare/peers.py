"""What many hosts have in common, and who differs: for each fact the majority, the odd hosts, how surprising each is. Pure: it weighs counts.

Nothing without an answer is counted: a host that does not know a fact leaves its count, and is told apart. Without a majority nobody is odd.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from driftwatch.compare.peers_lines import BETWEEN, DEVICES, parts_of, value_of
from driftwatch.compare.peers_roles import NEARLY, Role
from driftwatch.compare.peers_tally import Answers, Tally, is_unreachable, of_no_server
from driftwatch.model import ANSWERED, Snapshot, Unknown, is_unknown, matches

LEAST_HOSTS = 3  # fewer have no majority
LEAST_SUSPECTS = 2  # with one alone the formula says that it must be the one
Mark = Literal["~", "+", "-", "!"]
Held = bytes | None | Unknown
ABSENT: Held = None


@dataclass(frozen=True)
class PeerFact:
    """One fact over all hosts. ``majority`` is a JSON value (None: absent) that ``agree`` of ``known`` hosts share; ``unknown`` hosts do not know it.

    ``has_majority`` is False where no value is that of more than half. ``values`` are all values with their counts, most frequent first; ``holders`` are
    the hosts of each, told where there is no majority.
    """

    path: str
    majority: Any
    agree: int
    known: int
    unknown: int
    values: tuple[tuple[Any, int], ...]
    has_majority: bool = True
    holders: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Outlier:
    """A fact in which hosts are odd: the mark, their value (None: absent), how many hosts share it, and how surprising that is (0 to 1).

    ``devices`` names the odd devices of the host that was looked at; ``follows`` is the fact that this one only follows from.
    """

    fact: PeerFact
    mark: Mark
    value: Any
    sharing: int
    surprise: float
    devices: tuple[str, ...] = ()
    follows: str | None = None


@dataclass(frozen=True)
class Way:
    """One way of differing, and the hosts that share it. ``unknown`` is where they did not answer and others did, as (place, status).

    A place is a fact, or a whole probe as ``probes/NAME``; ``silent`` are the facts that they do not know therefore.
    """

    hosts: tuple[str, ...]
    outliers: tuple[Outlier, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    is_unreachable: bool = False
    reason: str = ""
    silent: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Tell whether these hosts are as the majority, and answered all that others answered."""
        return not (self.outliers or self.unknown or self.is_unreachable)


@dataclass(frozen=True)
class Peers:
    """What a fleet has in common. ``ways`` hold every host once; ``splits`` are facts without a majority; ``noise`` those in which no two hosts agree.

    ``agreed`` are facts that were asked about and in which all that know them agree.
    """

    hosts: int
    same: int
    facts: tuple[PeerFact, ...]
    ways: tuple[Way, ...]
    splits: tuple[PeerFact, ...] = ()
    noise: tuple[str, ...] = ()
    agreed: tuple[PeerFact, ...] = ()
    unreachable: int = 0


def peer_pressure(samples: int, sharing: int, *, values: int, suspects: int) -> float:
    """Return how likely it is that a value is the fault, by PeerPressure (OSDI 2004).

    ``samples`` other observations, of which ``sharing`` have the value too; ``values`` distinct ones were seen, this one included; ``suspects`` entries
    of the host are in question, with one prior for each.
    """
    return (samples + values) / (samples + values * suspects + values * sharing * (suspects - 1))


@dataclass(frozen=True)
class _Judged:
    """A fact, and the line (None: absent) that a host has to hold to be as the majority."""

    fact: PeerFact
    expected: bytes | None


def weigh(tally: Tally, role: Role, only: tuple[str, ...] = ()) -> Peers:
    """Return what a tally says, once every host was added and placed; ``only`` are globs of the facts that are asked about."""
    paths = [path for path in sorted(tally.open_paths) if not only or matches(path, only)]
    columns = _columns(tally, Answers(tally.silent), paths)
    weights = [len(hosts) for hosts in tally.profiles.values()]
    for path in paths:
        if role.nearly and matches(path, role.nearly):
            columns[path] = _near(columns[path], weights)
    judged = {path: found for path in paths if (found := _judge(path, columns[path], weights)) is not None}
    noise = {path for path, one in judged.items() if _is_noise(one.fact, role)}
    kept = {path: one for path, one in judged.items() if path not in noise}
    return Peers(
        hosts=tally.hosts + tally.unreachable,
        same=tally.same + len(paths) - len(judged),
        facts=tuple(one.fact for one in kept.values() if one.fact.has_majority),
        ways=_ways(tally, columns, kept),
        splits=tuple(_with_holders(one, columns[path], tally) for path, one in kept.items() if not one.fact.has_majority),
        noise=tuple(sorted({*noise, *(path for path in tally.noise if not only or matches(path, only))})),
        agreed=tuple(_agreed(path, line, many, tally.hosts + tally.unreachable) for path, (line, many) in tally.agreed.items()) if only else (),
        unreachable=tally.unreachable,
    )


def _agreed(path: str, line: bytes, many: int, hosts: int) -> PeerFact:
    value = value_of(line)
    return PeerFact(path, value, many, many, hosts - many, ((value, many),))


def _columns(tally: Tally, answers: Answers, paths: Sequence[str]) -> dict[str, list[Held]]:
    """Return what each profile holds of each open fact."""
    found: dict[str, list[Held]] = {path: [] for path in paths}
    places = {line: path for path in paths for line in tally.open_paths[path].lines}
    for profile in tally.profiles:
        mine: dict[str, Held] = {places[line]: line for line in profile.lines if line in places}
        for path in paths:
            if path in mine:
                found[path].append(mine[path])
            else:
                answer = answers.of(profile.silence, path)
                found[path].append(answer if isinstance(answer, Unknown) else ABSENT)
    return found


def _near(column: list[Held], weights: Sequence[int]) -> list[Held]:
    """Return the values with those that are nearly equal made one: the most frequent of them."""
    lines: Counter[bytes] = Counter()
    for one, many in zip(column, weights, strict=True):
        lines.update({one: many} if isinstance(one, bytes) else {})
    sizes = sorted((value, line) for line in lines if isinstance(value := value_of(line), (int, float)))
    stands_for: dict[bytes, bytes] = {}
    group: list[tuple[float, bytes]] = []
    for size, line in [*sizes, (float("inf"), b"")]:
        if group and size > group[0][0] + NEARLY * abs(group[0][0]):
            best = max((one for _, one in group), key=lambda one: lines[one])
            stands_for.update(dict.fromkeys((one for _, one in group), best))
            group = []
        group.append((size, line))
    return [stands_for.get(one, one) if isinstance(one, bytes) else one for one in column]


def _judge(path: str, column: Sequence[Held], weights: Sequence[int]) -> _Judged | None:
    """Return a fact in which hosts differ, or None where all that know it agree."""
    counts: Counter[bytes | None] = Counter()
    unknown = 0
    for value, many in zip(column, weights, strict=True):
        if isinstance(value, Unknown):
            unknown += many
        else:
            counts[value] += many
    if len(counts) < 2:
        return None
    known = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0] is None, pair[0] or b""))
    expected, agree = ordered[0]
    has_majority = known >= LEAST_HOSTS and 2 * agree > known
    if agree < LEAST_HOSTS or not has_majority:
        of_devices = _of_most_devices(ordered)
        if of_devices is not None:
            expected, agree, has_majority = of_devices, counts.get(of_devices, 0), known >= LEAST_HOSTS
    values = tuple((_value(line), many) for line, many in ordered)
    return _Judged(PeerFact(path, _value(expected) if has_majority else None, agree, known, unknown, values, has_majority), expected)


def _of_most_devices(ordered: Sequence[tuple[bytes | None, int]]) -> bytes | None:
    """Return the line of a value that more than half of all devices of all hosts have, where devices of one host differ; else None."""
    pool: Counter[str] = Counter()
    has_mixed = False
    for line, hosts in ordered:
        value = _value(line)
        is_mixed = _is_mixed(value)
        has_mixed = has_mixed or is_mixed
        for many, one in value[DEVICES] if is_mixed else ():
            pool[json.dumps(one, sort_keys=True)] += many * hosts
    if not has_mixed:
        return None
    devices = max(sum(many for many, _ in value[DEVICES]) for line, _ in ordered if _is_mixed(value := _value(line)))
    for line, hosts in ordered:
        if line is not None and not _is_mixed(_value(line)):
            pool[json.dumps(_value(line), sort_keys=True)] += devices * hosts
    best, most = pool.most_common(1)[0]
    first = next(line for line, _ in ordered if line is not None)
    return parts_of(first)[0] + BETWEEN + best.encode() if 2 * most > sum(pool.values()) else None


def _is_mixed(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {DEVICES}


def _value(line: bytes | None) -> Any:
    return None if line is None else value_of(line)


def _with_holders(judged: _Judged, column: Sequence[Held], tally: Tally) -> PeerFact:
    """Return a fact without a majority with the hosts of each of its values."""
    holders: dict[str, list[str]] = {}
    for value, hosts in zip(column, tally.profiles.values(), strict=True):
        if not isinstance(value, Unknown):
            holders.setdefault(json.dumps(_value(value), sort_keys=True), []).extend(hosts)
    values = judged.fact.values
    return replace(judged.fact, holders=tuple(tuple(sorted(holders[json.dumps(value, sort_keys=True)])) for value, _ in values))


def _is_noise(fact: PeerFact, role: Role) -> bool:
    """Tell whether no two hosts agree in a fact that is no version."""
    is_version = bool(role.versions) and matches(fact.path, role.versions)
    return not fact.has_majority and fact.known >= LEAST_HOSTS and fact.values[0][1] == 1 and not is_version


def _ways(tally: Tally, columns: Mapping[str, list[Held]], judged: Mapping[str, _Judged]) -> tuple[Way, ...]:
    """Return the ways of differing, hosts with the same differences put together."""
    majority = {path: one for path, one in judged.items() if one.fact.has_majority}
    known = {path: _share_known(column, tally) for path, column in columns.items()}
    found: dict[object, list[Way]] = {}
    for place, (profile, hosts) in enumerate(tally.profiles.items()):
        side = tally.silent[profile.silence]
        if is_unreachable(side):
            way = Way(tuple(hosts), is_unreachable=True, reason=next(one.reason for one in side.probes.values()))
        else:
            odd = {path: column[place] for path, one in majority.items() if _differs((column := columns[path])[place], one.expected)}
            open_ = [(path, told.status) for path, share in known.items() if isinstance(told := columns[path][place], Unknown) and _is_question(told, share)]
            way = Way(tuple(hosts), _outliers(odd, majority), _placed(side, open_), silent=tuple(path for path, _ in open_))
        key = (way.is_unreachable, tuple((one.fact.path, json.dumps(one.value, sort_keys=True)) for one in way.outliers), way.unknown)
        found.setdefault(key, []).append(way)
    return tuple(replace(same[0], hosts=tuple(host for way in same for host in way.hosts)) for same in found.values())


def _share_known(column: Sequence[Held], tally: Tally) -> float:
    """Return the share of the hosts that were reached that know a fact."""
    return sum(len(hosts) for one, hosts in zip(column, tally.profiles.values(), strict=True) if not isinstance(one, Unknown)) / max(1, tally.hosts)


def _is_question(told: Unknown, share: float) -> bool:
    """Tell whether not knowing a fact is worth telling: others know it. What was not even asked is, only where most were asked."""
    return share > (0.5 if told.status == "not_recorded" else 0.0)


def _differs(value: Held, expected: bytes | None) -> bool:
    return not isinstance(value, Unknown) and value != expected


def _outliers(odd: Mapping[str, Held], majority: Mapping[str, _Judged]) -> tuple[Outlier, ...]:
    found = []
    for path, line in odd.items():
        fact = majority[path].fact
        value = None if isinstance(line, Unknown) else _value(line)
        sharing = next((many for one, many in fact.values if one == value), 1)
        mark: Mark = "!" if _is_mixed(value) else "-" if value is None else "+" if fact.majority is None else "~"
        found.append(Outlier(fact, mark, value, sharing, 0.0))
    return weighed(tuple(found), len(majority))


def weighed(outliers: tuple[Outlier, ...], suspects: int, history: Mapping[str, Sequence[Any]] | None = None) -> tuple[Outlier, ...]:
    """Return outliers with how surprising each is, the most surprising first, those that only follow last.

    ``suspects`` is how many facts of the fleet are in question, the same for every host, so that hosts compare; ``history`` are earlier values of the
    same host, by path.
    """
    found = [replace(one, surprise=round(_surprise(one, (history or {}).get(one.fact.path, ()), max(LEAST_SUSPECTS, suspects)), 3)) for one in outliers]
    return tuple(sorted(found, key=lambda one: (one.follows is not None, -one.surprise, one.fact.path)))


def _surprise(one: Outlier, earlier: Sequence[Any], suspects: int) -> float:
    """Return the surprise of an outlier: the other hosts that know the fact are samples, and so is each earlier look at the same host."""
    fact = one.fact
    values = {json.dumps(value, sort_keys=True) for value in (*(value for value, _ in fact.values), *earlier)}
    sharing = one.sharing - 1 + sum(value == one.value for value in earlier)
    return peer_pressure(fact.known - 1 + len(earlier), sharing, values=len(values), suspects=suspects)


def _placed(side: Snapshot, open_: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return open questions by the place that did not answer: a whole probe as ``probes/NAME``, a part at its own path."""
    return tuple(dict.fromkeys((_place(side, path), status) for path, status in open_))


def _place(side: Snapshot, path: str) -> str:
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        if (above := "/".join(parts[:depth])) in side.facts and is_unknown(side.facts[above]):
            return above
    owner = side.owner(path)
    if owner is not None and side.probes[owner].status not in ANSWERED:
        return f"probes/{owner}"
    return path if of_no_server(side, path) is None else "/".join([*parts[:2], "given"])
