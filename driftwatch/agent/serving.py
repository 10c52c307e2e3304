"""Puts processes together to servers: which one launched, which are its ranks, and which were left over. Pure: looks at what was seen, asks nothing."""
from __future__ import annotations

from .launch_args import PORTS, Launch, parse_given, recognise, title_of
from .processes_seen import Seen
from .typed import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple


class Server(NamedTuple):
    """One server: name in paths, framework, launch process (None: only leftovers), arguments given (None: lost), ranks with their roles, resource tracker."""

    name: str
    framework: str
    launch: Optional[Seen]
    given: Optional[Dict[str, Any]]
    ranks: Tuple[Tuple[str, Seen], ...] = ()
    tracker: Optional[Seen] = None


def servers_among(seen: Iterable[Seen]) -> List[Server]:
    """Return the servers that processes make up, oldest first, then the leftovers of each framework as a server without a launch process."""
    known = {one.pid: one for one in seen}
    launches = {one.pid: launch for one in known.values() for launch in [_launch(one)] if launch is not None}
    outer = {pid: launch for pid, launch in launches.items() if not _has_same_above(pid, known, launches)}
    below: Dict[int, List[Seen]] = {pid: [] for pid in outer}
    leftovers: Dict[str, List[Seen]] = {}
    for one in known.values():
        top = _first_above(one, known, outer)
        if one.pid in outer:
            continue
        if top is not None:
            below[top].append(one)
        elif _titled(one):
            leftovers.setdefault(_titled(one)[0], []).append(one)
    found = [_server(known[pid], launch, below[pid]) for pid, launch in sorted(outer.items(), key=lambda pair: known[pair[0]].start_ticks)]
    running = {one.framework for one in found}
    for name, left in sorted(leftovers.items()):
        if name not in running:
            found.append(Server(name, name, None, None, tuple((_role(one), one) for one in _by_start(left))))
    return _named(_with_leftovers(found, leftovers))


def _titled(one: Seen) -> Tuple[str, ...]:
    """Return framework and role of a process that took a title, be it only as its short name; nothing for any other."""
    return title_of(one.title) or title_of(one.name) or ()


def _launch(one: Seen) -> Optional[Launch]:
    return recognise(one.argv) if isinstance(one.argv, tuple) else None


def _by_start(seen: List[Seen]) -> List[Seen]:
    return sorted(seen, key=lambda one: (one.start_ticks, one.pid))


def _above(one: Seen, known: Dict[int, Seen]) -> List[Seen]:
    """Return the processes above one, as far as they are known; a loop ends it."""
    found: List[Seen] = []
    while one.ppid in known and len(found) < len(known):
        one = known[one.ppid]
        found.append(one)
    return found


def _has_same_above(pid: int, known: Dict[int, Seen], launches: Dict[int, Launch]) -> bool:
    """Tell whether a launch is only a fork of another launch: a forked child keeps its parent's command line."""
    return any(one.pid in launches and launches[one.pid].framework == launches[pid].framework for one in _above(known[pid], known))


def _first_above(one: Seen, known: Dict[int, Seen], outer: Dict[int, Launch]) -> Optional[int]:
    return next((above.pid for above in _above(one, known) if above.pid in outer), None)


def _role(one: Seen) -> str:
    titled = _titled(one)
    return titled[1] if titled else "worker"


def is_tracker(one: Seen) -> bool:
    """Tell whether a process is Python's resource tracker: it serves nothing, but its environment is as the launch process left it."""
    return any("resource_tracker" in argument for argument in one.argv) if isinstance(one.argv, tuple) else False


def _server(launch: Seen, kind: Launch, below: List[Seen]) -> Server:
    trackers = [one for one in below if is_tracker(one)]
    ranks = tuple((_role(one), one) for one in _by_start(below) if not is_tracker(one))
    given = None if kind.arguments is None else parse_given(kind.framework, kind.arguments)
    return Server(kind.framework, kind.framework, launch, given, ranks, next((one for one in trackers if one.ppid == launch.pid), None))


def _with_leftovers(found: List[Server], leftovers: Dict[str, List[Seen]]) -> List[Server]:
    """Return the servers with the leftovers of a framework that runs besides: they stand beside its first server."""
    told = set()
    whole = []
    for server in found:
        extra = [] if server.launch is None or server.framework in told else leftovers.get(server.framework, [])
        told.add(server.framework)
        whole.append(server._replace(ranks=server.ranks + tuple(("leftover_" + _role(one), one) for one in _by_start(extra))))
    return whole


def _named(found: List[Server]) -> List[Server]:
    """Return the servers with names that tell them apart: the framework's, and the port where several of one framework run."""
    count: Dict[str, int] = {}
    for one in found:
        count[one.framework] = count.get(one.framework, 0) + 1
    names: Dict[str, int] = {}
    named = []
    for one in found:
        port = str((one.given or {}).get("port", PORTS.get(one.framework, "")))
        name = one.framework + ("@" + port if count[one.framework] > 1 else "")
        names[name] = names.get(name, 0) + 1
        named.append(one._replace(name=name if names[name] == 1 else "%s~%d" % (name, names[name])))
    return named
