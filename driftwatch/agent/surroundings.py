"""What stands around a running server: its variables, its user's home, and the text of its log. Asks through the host's one door, decides nothing.

Where no server runs, they are those that a unit file of systemd would give to one, else those of the user who looks: a guess, and marked as one.
"""
from __future__ import annotations

from .host import MIB, Host
from .launch_args import any_given, parse_given, recognise
from .processes_seen import Seen, environ_of, look_at, parse_uid, survey
from .serving import Server, servers_among
from .typed import Any, Dict, List, NamedTuple, Optional, Tuple
from .unit_files import parse_unit

HEAD = 4 * MIB
TAIL = MIB
UNITS = "/etc/systemd/system"
NO_SERVER = "no server runs"


class Around(NamedTuple):
    """One server's surroundings. ``variables`` are as its ranks got them, ``{}`` where they could not be read; ``guess`` says why they are not known.

    ``elsewhere`` says why the server's paths are not ours: it has mounts of its own.
    """

    name: str
    given: Dict[str, Any]
    variables: Dict[str, str]
    home: str
    user: str
    folder: str
    guess: str = ""
    elsewhere: str = ""


def servers_of(host: Host) -> List[Server]:
    """Return the servers that can be seen, the process named with --env-from-pid among them; none where /proc cannot be read."""
    seen = host.attempt(lambda: list(survey(host)))
    servers = servers_among(seen if isinstance(seen, list) else [])
    pid = host.settings.env_from_pid
    named = host.attempt(look_at, host, pid) if pid is not None else None
    given = any_given(named.argv) if isinstance(named, Seen) and isinstance(named.argv, tuple) else {}
    return servers + ([Server("process", "process", named, given)] if isinstance(named, Seen) else [])


def around(host: Host, servers: List[Server]) -> List[Around]:
    """Return the surroundings of each server that runs; where none does, those of its unit file, else of the user who looks."""
    names = _passwd(host)
    found = [_of_server(host, server, names) for server in servers if server.launch is not None]
    return found or _of_units(host, names) or [_of_ourselves(host, names)]


def _of_server(host: Host, server: Server, names: Dict[str, Tuple[str, str]]) -> Around:
    launch: Any = server.launch
    told = [host.attempt(environ_of, host, one.pid) for one in (server.tracker, launch) if one is not None]
    variables: Dict[str, str] = next((one for one in told if isinstance(one, dict)), {})
    status = host.try_read("/proc/%d/status" % launch.pid)
    uid = host.attempt(parse_uid, status) if isinstance(status, str) else None
    user, home = names.get(str(uid), ("", ""))
    folder = host.attempt(host.link, "/proc/%d/cwd" % launch.pid)
    guess = "" if variables else "the environment of the %s server could not be read" % server.name
    return Around(server.name, server.given or {}, variables, variables.get("HOME") or home, variables.get("USER") or user,
                  folder if isinstance(folder, str) else "", guess, _elsewhere(host, launch.pid, server.name))


def _elsewhere(host: Host, pid: int, name: str) -> str:
    theirs, ours = (host.attempt(host.link, "/proc/%s/ns/mnt" % one) for one in (pid, "self"))
    apart = isinstance(theirs, str) and isinstance(ours, str) and theirs != ours
    return "the %s server has mounts of its own (a container): its paths are not those that are seen from here" % name if apart else ""


def _of_units(host: Host, names: Dict[str, Tuple[str, str]]) -> List[Around]:
    """Return the surroundings of the first server that a unit file starts, if one does; its EnvironmentFile is not read."""
    homes = dict(names.values())
    for name in host.noted_names(UNITS):
        text = host.try_read("%s/%s" % (UNITS, name)) if name.endswith(".service") else None
        orders, variables = parse_unit([text]) if isinstance(text, str) else ({}, {})
        command = str(orders.get("ExecStart", "")).lstrip("-@:+!").split()
        launch = recognise(command)
        if launch is not None:
            user = str(orders.get("User", "root"))
            given = parse_given(launch.framework, launch.arguments or ())
            home = variables.get("HOME") or homes.get(user) or ("/root" if user == "root" else "")
            return [Around("", given, variables, home, user, str(orders.get("WorkingDirectory", "")), "%s (this is from %s)" % (NO_SERVER, name))]
    return []


def _of_ourselves(host: Host, names: Dict[str, Tuple[str, str]]) -> Around:
    told = host.attempt(host.environ)
    variables = told if isinstance(told, dict) else {}
    user, home = names.get(str(host.uid()), ("root", "/root") if host.uid() == 0 else ("", ""))
    return Around("", {}, variables, variables.get("HOME") or home, variables.get("USER") or user, "", NO_SERVER)


def _passwd(host: Host) -> Dict[str, Tuple[str, str]]:
    text = host.try_read("/etc/passwd")
    lines = [line.split(":") for line in text.splitlines()] if isinstance(text, str) else []
    return {line[2]: (line[0], line[5]) for line in lines if len(line) > 5}


def log_of(host: Host, servers: List[Server]) -> Tuple[str, Any]:
    """Return path and text (head and tail of a long one) of the named log, else of the file that a server writes to; "" where there is none, or Unknown."""
    named = host.settings.log or str(host.hints().get("server_log") or "")
    path = named or next((place for place in (_output(host, server) for server in servers) if place), "")
    return path, host.attempt(_text, host, path) if path else None


def _output(host: Host, server: Server) -> Optional[str]:
    pid = server.launch.pid if server.launch is not None else 0
    places = [host.attempt(host.link, "/proc/%d/fd/%d" % (pid, number)) for number in (1, 2)] if pid else []
    return next((one for one in places if isinstance(one, str) and one.startswith("/") and not one.startswith("/dev/")), None)


def _text(host: Host, path: str) -> str:
    where = host.real(path)
    if host.stat(where).size <= HEAD + TAIL:
        return host.head(where, HEAD + TAIL)
    return host.head(where, HEAD) + "\n" + host.tail(where, TAIL).partition("\n")[2]
