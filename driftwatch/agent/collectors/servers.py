"""The model servers of this host: how each was launched, in what environment, under which limits, with which libraries, and what its log says.

SERVER is ``sglang`` or ``vllm`` (also ``torchrun``, ``ollama``), with ``@PORT`` behind it where several of one kind run; ``process`` is the one named
with --env-from-pid where it is none of these. ROLE is ``launch``, ``scheduler_TP0``, ``detokenizer``, ``EngineCore``, ``Worker_TP0``, ``rank0``, ``worker`` …

| path | what |
|---|---|
| servers/SERVER/running | true, or false where no launch process is there |
| servers/SERVER/given/ARG | the command line, by the framework's field names: a text, true for a flag, a list of several |
| servers/SERVER/{python, cwd, user, unit} | interpreter (virtual environment kept), folder, user, systemd service of the launch process |
| servers/SERVER/started_at (volatile) | when the launch process started, ISO 8601 in UTC; 100 ticks a second are assumed |
| servers/SERVER/env/NAME, env_from, env_set_at_run_time | the environment as the ranks got it, where it was read, the names that the server set itself |
| servers/SERVER/env_kept_back (volatile) | how many variables are not listed, and so told without a value |
| servers/SERVER/env_left_out (volatile) | the names of those: a session gives others than a unit |
| servers/SERVER/limits/cpus | the CPUs that the launch process may run on: ``0-13,56-69`` |
| servers/SERVER/limits/NAME | {"soft", "hard"} of the launch process: numbers or "unlimited" (open_files, locked_memory_bytes …) |
| servers/SERVER/libraries/FAMILY | the mapped file of a library, " (deleted)" kept; a list where the processes map several |
| servers/SERVER/leftovers | roles of processes whose launch process is gone |
| servers/SERVER/ROLE/{state, pid, started_at} (volatile) | state letter, process id or ids, start |
| servers/SERVER/ROLE/count | how many processes have this role, where more than one |
| servers/SERVER/ROLE/env/NAME | where this rank's own environment could be read and differs; unknown as a whole where not |
| servers/SERVER/ROLE/{limits/NAME, libraries/FAMILY} | where this rank differs from the launch process, or maps one of several files of a family |
| servers/SERVER/args/ARG | resolved arguments, from the log (vLLM logs only those that are no defaults) |
| servers/SERVER/log/{path, from, unread_bytes (volatile)} | which log, how it was found, how much in its middle was not read |
| servers/SERVER/log/{began (volatile), ready, ranks, error, error_ranks} | of the last run: when, whether it came to serve, ranks that loaded, its failure |
| servers/SERVER/log/throughput_tok_s (volatile) | tokens a second: the median of the last 20 that were logged |
| servers/SERVER/log/{free_before_load, free_after_load, kv_cache, state_cache, free_at_end}_gib, tokens | the least of all ranks |
| servers/SERVER/log/{init, weights, graph}_gib | the most of all ranks |

Where no server runs, given, env, limits and libraries are unknown and say why; so is ``servers`` as a whole where no log tells which server it was. Where no
log is known, args and log are unknown.
"""
from __future__ import annotations

from ..host import MIB, Host, Stat
from ..launch_args import FRAMEWORKS, any_given
from ..probe import Fact, Probe, Unknown, fact_path, part
from ..process_facts import Look, cut, environment, libraries, standing
from ..processes_seen import Seen, limited_view, look_at, survey
from ..server_log import Run, parse_log
from ..serving import Server, servers_among
from ..typed import Any, Dict, Iterator, List, Optional, Tuple

HEAD = 4 * MIB
TAIL = MIB
NO_LOG = Unknown("not_recorded", "no server log was named: --log FILE")
NOT_RUNNING = Unknown("not_recorded", "no server runs: its launch process is gone")
OF_A_RUN = ("given", "env", "limits", "libraries")
NEVER_THE_SAME = (
    "SGLANG_RUN_ID", "PROMETHEUS_MULTIPROC_DIR", "INVOCATION_ID", "SYSTEMD_EXEC_PID", "*_PID", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB*",
    "SLURM_STEP*",
)


def collect(host: Host) -> Iterator[Fact]:
    """Yield what is known of every server: first what cannot hang, then what needs a lock of its processes, at last what its log says."""
    seen = host.attempt(_processes, host)
    servers = servers_among(seen if isinstance(seen, list) else [])
    servers += _named_process(host, servers)
    look = Look(host)
    for server in servers:
        yield from standing(look, server)
    for server in servers:
        yield from environment(look, server)
        yield from libraries(look, server)
    yield from _logs(host, servers, seen if isinstance(seen, Unknown) else limited_view(host))


def _processes(host: Host) -> List[Seen]:
    return list(survey(host))


def _named_process(host: Host, servers: List[Server]) -> List[Server]:
    """Return the process named with --env-from-pid as a server of its own, where it belongs to none."""
    pid = host.settings.env_from_pid
    known = {one.pid for server in servers for one in (server.launch, server.tracker, *(seen for _, seen in server.ranks)) if one is not None}
    seen = None if pid is None or pid in known else host.attempt(look_at, host, pid)
    return [Server("process", "process", seen, any_given(seen.argv) if isinstance(seen.argv, tuple) else None)] if isinstance(seen, Seen) else []


def _logs(host: Host, servers: List[Server], hidden: Optional[Unknown]) -> Iterator[Fact]:
    """Yield what the named log and the running servers' own logs say, and what stays unknown where there is none. ``hidden``: why processes cannot be seen."""
    hinted = host.hints().get("server_log")
    named, how = (host.settings.log, "named with --log") if host.settings.log else (str(hinted or ""), "named by the recording")
    told, unread = _read(host, named) if named else (NO_LOG, 0)
    owner = _owner(servers, told) if named else ""
    yield from _not_running(servers, told.framework if isinstance(told, Run) else "", hidden)
    if named:
        yield from _told(host, owner, told, {"path": named, "from": how, "unread_bytes": unread})
    running = [server for server in servers if server.launch is not None and server.framework in FRAMEWORKS]
    for server in running:
        if server.name != owner:
            yield from _own_log(host, server)
    if not running and not named:
        yield from _told(host, FRAMEWORKS[0], NO_LOG, {})


def _read(host: Host, path: str) -> Tuple[Any, int]:
    """Return the last run in a log, or Unknown, and how many bytes in the middle of the file were not read."""
    where = host.attempt(host.real, path)
    stat = host.attempt(host.stat, where) if isinstance(where, str) else where
    if not isinstance(stat, Stat):
        return stat or Unknown("error", "%s: no such file" % path), 0
    size = stat.size
    text = host.attempt(host.head, where, HEAD if size > HEAD + TAIL else HEAD + TAIL)
    tail = host.attempt(host.tail, where, TAIL) if size > HEAD + TAIL else ""
    if not isinstance(text, str) or not isinstance(tail, str):
        return (text if isinstance(text, Unknown) else tail if isinstance(tail, Unknown) else Unknown("error", "%s: gone while it was read" % path)), 0
    return parse_log(text + "\n" + tail.partition("\n")[2] if tail else text), max(0, size - HEAD - TAIL) if tail else 0


def _owner(servers: List[Server], told: Any) -> str:
    """Return the name of the server whose log was told: of its framework, and of its port where several run; else the framework's own name."""
    framework = told.framework if isinstance(told, Run) else ""
    same = [one for one in servers if one.framework == framework or (not framework and one.framework != "process")]
    port = str((told.args or {}).get("port", "")) if isinstance(told, Run) else ""
    fitting = [one for one in same if str((one.given or {}).get("port", "")) == port] or same
    return fitting[0].name if fitting else framework or FRAMEWORKS[0]


def _told(host: Host, name: str, told: Any, about: Dict[str, Any]) -> Iterator[Fact]:
    """Yield the arguments and the figures of a run, or that both are unknown."""
    top = fact_path("servers", name)
    if not isinstance(told, Run):
        yield top + "/args", told
        yield top + "/log", told
        return
    for key, value in {**about, **told.figures}.items():
        if value not in (0, None) or key in told.figures:
            yield top + "/log/" + part(key), host.mask.text(value) if isinstance(value, str) else value
    if told.args is None and name.partition("@")[0] in FRAMEWORKS:
        yield top + "/args", Unknown("not_recorded", "%s: no line with the server's arguments in what was read" % about.get("path"))
    for key, value in sorted((told.args or {}).items()):
        yield top + "/args/" + part(key), cut(host.mask.argument(key, value))


def _own_log(host: Host, server: Server) -> Iterator[Fact]:
    """Yield what a server's own log says: the file that its output or its errors go to."""
    pid = server.launch.pid if server.launch is not None else 0
    places = [host.attempt(host.link, "/proc/%d/fd/%d" % (pid, number)) for number in (1, 2)]
    for place in places:
        if isinstance(place, str) and place.startswith("/") and not place.startswith("/dev/"):
            told, unread = _read(host, place)
            if isinstance(told, Run):
                yield from _told(host, server.name, told, {"path": place, "from": "the file that the launch process writes to", "unread_bytes": unread})
                return
    yield from _told(host, server.name, NO_LOG, {})


def _not_running(servers: List[Server], framework: str, hidden: Optional[Unknown]) -> Iterator[Fact]:
    """Yield that no server runs: whatever a launch process would tell is unknown, first of all of the framework that the log names."""
    if any(server.launch is not None and server.framework != "process" for server in servers):
        return
    reason = hidden or NOT_RUNNING
    if hidden or not framework:  # nothing says which server it was
        yield "servers", reason
    top = fact_path("servers", framework or FRAMEWORKS[0])
    left = [server for server in servers if server.name == (framework or FRAMEWORKS[0])]
    if not left:
        yield top + "/running", hidden or False
    for one in OF_A_RUN:
        if one != "libraries" or not left:
            yield top + "/" + one, reason


def _volatile() -> Tuple[str, ...]:
    own = ("started_at", "env_kept_back", "env_left_out", "log/began", "log/unread_bytes", "log/throughput_tok_s", "args/random_seed")
    of_ranks = ("state", "pid", "started_at")
    names = tuple(top + name for name in NEVER_THE_SAME for top in ("servers/*/env/", "servers/*/*/env/"))
    return tuple("servers/*/" + one for one in own) + tuple("servers/*/*/" + one for one in of_ranks) + names


PROBES = (Probe(
    "servers", collect, deadline_s=10.0, tells=("servers", "servers/*"), volatile=_volatile(), cap_bytes=4 << 20,
    reads="command lines, environments, limits and mapped libraries of running servers in /proc; the server's log",
    root_shows="environment, libraries and log of servers of other users"),)
