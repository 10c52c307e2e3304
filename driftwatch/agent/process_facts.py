"""What is told of a server's processes: launch, environment, limits and libraries, ranks only where they differ. Asks /proc through the host's one door."""
from __future__ import annotations

from .host import MIB, Host
from .interpreters import is_python, serving_python
from .moments import iso
from .probe import Fact, Unknown, fact_path, part
from .processes_seen import TICKS_PER_S, Seen, environ_of, parse_cpus, parse_libraries, parse_limits, parse_uid, parse_unit
from .serving import Server
from .typed import Any, Dict, Iterable, Iterator, List, Set, Tuple

TRACKER = "the resource tracker beside the ranks: what the launch process had when it started them"
LAUNCH = "the launch process: without what the server set itself later"
LONGEST = 4000
LOST = Unknown("error", "the command line was overwritten by a process title (setproctitle)")


def cut(value: Any) -> Any:
    """Return a value that was masked, its text shortened where it is longer than any setting is."""
    return value[:LONGEST] + "... (%d characters)" % len(value) if isinstance(value, str) and len(value) > LONGEST else value


class Look:
    """A look at the processes of one host. A process that did not answer once is not asked again."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.silent: Dict[int, Unknown] = {}
        self.booted_s = _boot_time(host)
        users = host.try_read("/etc/passwd")
        lines = [line.split(":") for line in users.splitlines()] if isinstance(users, str) else []
        self.users = {line[2]: line[0] for line in lines if len(line) > 2}

    def ask(self, seen: Seen, question: Any, *arguments: Any) -> Any:
        """Return the answer of a question that needs a process's lock; Unknown at once where its command line or an earlier question had no answer."""
        if isinstance(seen.argv, Unknown) or seen.pid in self.silent:
            return self.silent.get(seen.pid, seen.argv)
        answer = self.host.attempt(question, *arguments)
        if isinstance(answer, Unknown):
            answer = self.without_pid(answer, seen)
            if answer.status == "timeout":
                self.silent[seen.pid] = answer
        return answer

    def environ(self, seen: Seen) -> Any:
        """Return the variables of a process, or Unknown."""
        return self.ask(seen, environ_of, self.host, seen.pid)

    def libraries(self, seen: Seen) -> Any:
        """Return the mapped libraries of a process by family, or Unknown."""
        data = self.ask(seen, self.host.read_apart, "/proc/%d/maps" % seen.pid)
        return parse_libraries(data.decode("utf-8", "surrogateescape")) if isinstance(data, bytes) else data or {}

    def limits(self, seen: Seen) -> Any:
        """Return the limits of a process by name, the CPUs that it may run on among them, or Unknown."""
        limits, cpus = self.parsed(seen, "limits", parse_limits), self.parsed(seen, "status", parse_cpus)
        return dict(limits, cpus=cpus) if isinstance(limits, dict) and cpus else limits

    def parsed(self, seen: Seen, name: str, parse: Any) -> Any:
        """Return what a file of /proc/PID that needs no lock says, None where the process is gone, else Unknown."""
        text = self.host.try_read("/proc/%d/%s" % (seen.pid, name))
        answer = self.host.attempt(parse, text) if isinstance(text, str) else text
        return self.without_pid(answer, seen) if isinstance(answer, Unknown) else answer

    def link(self, seen: Seen, name: str) -> Any:
        """Return where a link of /proc/PID leads, None where there is none, else Unknown."""
        answer = self.host.attempt(self.host.link, "/proc/%d/%s" % (seen.pid, name))
        return self.without_pid(answer, seen) if isinstance(answer, Unknown) else answer

    def started_at(self, seen: Seen) -> Any:
        """Return when a process started, ISO 8601 in UTC; Unknown where the time of boot is."""
        if isinstance(self.booted_s, Unknown):
            return self.booted_s
        return iso(self.booted_s + seen.start_ticks // TICKS_PER_S)

    def user(self, seen: Seen) -> Any:
        """Return the name of a process's user, or its number where it has none here."""
        uid = self.parsed(seen, "status", parse_uid)
        return self.users.get(str(uid), str(uid)) if isinstance(uid, int) else uid

    def without_pid(self, unknown: Unknown, seen: Seen) -> Unknown:
        """Return the same reason with PID for the process id, so that it reads the same after every start."""
        return Unknown(unknown.status, unknown.reason.replace("/proc/%d/" % seen.pid, "/proc/PID/"))


def _boot_time(host: Host) -> Any:
    text = host.try_read("/proc/stat", 4 * MIB)
    found = [line.split()[1] for line in text.splitlines() if line.startswith("btime ")] if isinstance(text, str) else []
    return int(found[0]) if found else Unknown("error", "/proc/stat: no btime, so no start time of a process")


def standing(look: Look, server: Server) -> Iterator[Fact]:
    """Yield what needs no lock of a process: how it was launched, where, by whom, its limits, and its ranks' states."""
    top = fact_path("servers", server.name)
    yield top + "/running", server.launch is not None
    if server.launch is not None:
        yield from _launched(look, server, top)
    else:
        yield top + "/leftovers", sorted(role for role, _ in server.ranks)
    for role, seen in _by_role(server).items():
        yield from _rank(look, top + "/" + part(role), seen)


def _launched(look: Look, server: Server, top: str) -> Iterator[Fact]:
    launch: Any = server.launch
    if server.given is None:
        yield top + "/given", LOST
    for name, value in sorted((server.given or {}).items()):
        yield top + "/given/" + part(name), cut(look.host.mask.argument(name, value))
    yield top + "/started_at", look.started_at(launch)
    for name, value in (("cwd", look.link(launch, "cwd")), ("user", look.user(launch)), ("unit", look.parsed(launch, "cgroup", parse_unit))):
        if value:
            yield top + "/" + name, value
    limits = look.limits(launch)
    yield from _all(top + "/limits", limits)
    for role, seen in server.ranks:
        yield from _all("%s/%s/limits" % (top, part(role)), _different(look.limits(seen), limits))


def _rank(look: Look, top: str, seen: List[Seen]) -> Iterator[Fact]:
    yield top + "/state", "".join(sorted({one.state for one in seen}))
    yield top + "/pid", seen[0].pid if len(seen) == 1 else [one.pid for one in seen]
    yield top + "/started_at", look.started_at(seen[0])
    if len(seen) > 1:
        yield top + "/count", len(seen)
    if isinstance(seen[0].argv, Unknown):
        yield top + "/cmdline", look.without_pid(seen[0].argv, seen[0])


def _by_role(server: Server) -> Dict[str, List[Seen]]:
    found: Dict[str, List[Seen]] = {"launch": [server.launch]} if server.launch is not None else {}
    for role, seen in server.ranks:
        found.setdefault(role, []).append(seen)
    return found


def _all(top: str, told: Any) -> Iterator[Fact]:
    """Yield what was told by name, or that it is unknown as a whole."""
    if isinstance(told, Unknown):
        yield top, told
    for name, value in told.items() if isinstance(told, dict) else ():
        yield top + "/" + part(name), value


def _different(told: Any, usual: Any) -> Any:
    """Return what of a rank's own differs from what is told for the server."""
    if not isinstance(told, dict):
        return told
    return {name: value for name, value in told.items() if not isinstance(usual, dict) or usual.get(name) != value}


def environment(look: Look, server: Server) -> Iterator[Fact]:
    """Yield the server's environment as its ranks got it, and of each rank what differs or that it could not be read."""
    top = fact_path("servers", server.name)
    usual: Any = None
    if server.launch is not None and server.framework != "process":
        launched = look.environ(server.launch)
        tracked = look.environ(server.tracker) if server.tracker is not None else None
        usual = tracked if isinstance(tracked, dict) else launched
        yield from _all(top + "/env", _shown(look, usual))
        if isinstance(usual, dict):
            yield top + "/env_from", TRACKER if usual is tracked else LAUNCH
            left_out = names_left_out(look.host, usual)
            yield top + "/env_kept_back", len(left_out)
            if left_out:
                yield top + "/env_left_out", left_out
        if isinstance(launched, dict) and isinstance(tracked, dict):
            yield top + "/env_set_at_run_time", sorted(name for name in _different(tracked, launched) if look.host.mask.is_shown(name))
    python = serving_python(look.host, server.launch, usual) if server.launch is not None else None
    if python and is_python(python):
        yield top + "/python", python
    for role, told in _merged([(role, look.environ(seen)) for role, seen in server.ranks]).items():
        yield from _all("%s/%s/env" % (top, part(role)), _shown(look, _different(told, usual)))


def names_left_out(host: Host, names: Iterable[str]) -> List[str]:
    """Return the names of the variables whose values are not told, sorted; a name that is itself the shape of a secret is masked."""
    return sorted(cut(host.mask.text(name)) for name in names if not host.mask.is_shown(name))


def _shown(look: Look, variables: Any) -> Any:
    """Return the variables that may be told, with their values as they may leave."""
    if not isinstance(variables, dict):
        return variables
    mask = look.host.mask
    return {name: _masked(mask, name, value) for name, value in sorted(variables.items()) if mask.is_shown(name)}


def _masked(mask: Any, name: str, value: Any) -> Any:
    return [cut(mask.value(name, one)) for one in value] if isinstance(value, list) else cut(mask.value(name, value))


def _merged(told: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return one answer for each role; where processes of one role differ in a value, the sorted list of their values."""
    found: Dict[str, Any] = {}
    for role, variables in told:
        before = found.get(role)
        if isinstance(variables, dict) and isinstance(before, dict):
            found[role] = {name: _together(before.get(name), variables.get(name)) for name in {**before, **variables}}
        elif before is None or isinstance(variables, dict):
            found[role] = variables
    return found


def _together(one: Any, other: Any) -> Any:
    values = {value for side in (one, other) if side is not None for value in (side if isinstance(side, list) else [side])}
    return next(iter(values)) if len(values) == 1 else sorted(values)


def libraries(look: Look, server: Server) -> Iterator[Fact]:
    """Yield the libraries that the server's processes map: a path, or the list of them where there are several, and then also which rank maps which."""
    top = fact_path("servers", server.name)
    processes = ([("launch", server.launch)] if server.launch is not None else []) + list(server.ranks)
    told = [(role, look.libraries(seen)) for role, seen in processes if seen is not None]
    known = [found for _, found in told if isinstance(found, dict)]
    if not known and told:
        yield top + "/libraries", told[0][1]
        return
    union: Dict[str, Set[str]] = {}
    for found in known:
        for family, paths in found.items():
            union.setdefault(family, set()).update(paths)
    for family, paths in sorted(union.items()):
        yield "%s/libraries/%s" % (top, part(family)), next(iter(paths)) if len(paths) == 1 else sorted(paths)
    for role, found in told:
        yield from _all("%s/%s/libraries" % (top, part(role)), _ambiguous(found, union))


def _ambiguous(found: Any, union: Dict[str, Set[str]]) -> Any:
    """Return which files of the families that have several one process maps."""
    if not isinstance(found, dict):
        return found
    return {family: paths[0] if len(paths) == 1 else paths for family, paths in found.items() if len(union[family]) > 1}
