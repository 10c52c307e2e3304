"""What to look at: the interpreters that serve, their package folders, and the SGLang source tree. Runs no interpreter and imports nothing.

| path | what |
|---|---|
| targets | list of {"python": path, "site_packages": [folders, the first wins], "source": folder or null, "because": why this one} |

Those given with --python come first, then those of running servers, then of processes that servers left behind; where there are none, the host's own
``python3``. The list is told again with each one found: the last one told is the whole.
"""
from __future__ import annotations

from ..host import Host
from ..interpreters import exists, is_python, on_path, python_of_libraries, serving_python, site_packages, source_tree
from ..probe import Fact, Probe
from ..processes_seen import Seen, environ_of, survey
from ..serving import Server, servers_among
from ..typed import Any, Dict, Iterator, List, Optional, Tuple

Found = Tuple[str, str, Dict[str, str], Optional[str]]


def collect(host: Host) -> Iterator[Fact]:
    """Yield the list of targets each time it grows."""
    targets: List[Dict[str, Any]] = []
    for python, because, variables, folder in _interpreters(host):
        found = _target(host, python, because, (variables, folder))
        same = [at for at, one in enumerate(targets) if _is_same(one, found)]
        if not same:
            targets.append(found)
        elif variables:
            targets[same[0]] = dict(found, python=targets[same[0]]["python"], because="%s; %s" % (targets[same[0]]["because"], because))
        yield "targets", list(targets)
    if not targets:
        yield "targets", _fallback(host)


def _is_same(one: Dict[str, Any], other: Dict[str, Any]) -> bool:
    """Tell whether two targets are one interpreter under two names, such as ``python`` and ``python3`` of one virtual environment."""
    folders = {folder for folder in one["site_packages"] if "/.local/lib/" not in folder}
    beside = one["python"].rpartition("/")[0] == other["python"].rpartition("/")[0] and folders <= set(other["site_packages"])
    return bool(one["python"] == other["python"] or (beside and folders))


def _interpreters(host: Host) -> Iterator[Found]:
    """Yield interpreter, why, the variables that it serves with, and the folder that it serves from."""
    for python in host.settings.pythons:
        yield python, "given with --python", _home(host), None
    hinted = host.hints().get("interpreter")
    if hinted and not host.settings.pythons:
        yield str(hinted), "named by the recording", {}, None
    for server in servers_among(survey(host)):
        yield from _of_server(host, server)


def _of_server(host: Host, server: Server) -> Iterator[Found]:
    if server.launch is None:
        yield from _of_leftovers(host, server)
        return
    told = host.attempt(environ_of, host, server.launch.pid)
    variables = told if isinstance(told, dict) else {}
    python = serving_python(host, server.launch, variables)
    if python and is_python(python):
        folder = host.attempt(host.link, "/proc/%d/cwd" % server.launch.pid)
        yield python, "interpreter of %s launch process %d" % (server.framework, server.launch.pid), variables, folder if isinstance(folder, str) else None


def _of_leftovers(host: Host, server: Server) -> Iterator[Found]:
    left: Seen = server.ranks[0][1]
    maps = host.attempt(host.read_apart, "/proc/%d/maps" % left.pid)
    python = python_of_libraries(host, maps.decode("utf-8", "surrogateescape") if isinstance(maps, bytes) else None)
    if python:
        yield python, "interpreter of process %d, left over from a %s server" % (left.pid, server.framework), {}, None


def _target(host: Host, python: str, because: str, serving: Tuple[Dict[str, str], Optional[str]]) -> Dict[str, Any]:
    variables, folder = serving
    before = [one for one in variables.get("PYTHONPATH", "").split(":") if one.startswith("/") and exists(host, one)]
    folders = tuple(dict.fromkeys([*before, *_hinted_folders(host, python), *site_packages(host, python, variables.get("HOME"))]))
    return {"python": python, "site_packages": list(folders), "source": _source(host, folders, folder), "because": because}


def _hinted_folders(host: Host, python: str) -> Tuple[str, ...]:
    hints = host.hints()
    folder = hints.get("site_packages")
    return (str(folder),) if folder and hints.get("interpreter") == python else ()


def _source(host: Host, folders: Tuple[str, ...], folder: Optional[str]) -> Optional[str]:
    """Return the source tree: the given one, else one in the folder served from (``python -m`` looks there first), else of the installed package."""
    if host.settings.source:
        return host.settings.source.rstrip("/") or "/"
    if folder and exists(host, folder + "/sglang/__init__.py"):
        return folder + "/sglang"
    return source_tree(host, folders)


def _fallback(host: Host) -> List[Dict[str, Any]]:
    """Return the host's own ``python3`` as the one target, or none where there is none."""
    python = on_path(host, "python3", _shell(host).get("PATH", "") + ":/usr/local/bin:/usr/bin:/bin")
    because = "no server runs and none was given: the python3 on PATH"
    return [_target(host, python, because, (_home(host), None))] if python else []


def _shell(host: Host) -> Dict[str, str]:
    told = host.attempt(host.environ)
    return told if isinstance(told, dict) else {}


def _home(host: Host) -> Dict[str, str]:
    """Return HOME alone of the shell that looks: without a server to tell it, whose packages of their own an interpreter sees is the looking user."""
    return {"HOME": _shell(host).get("HOME", "")}


PROBES = (Probe(
    "targets", collect, deadline_s=5.0, tells=("targets",),
    reads="command lines and environments of running servers in /proc, pyvenv.cfg, names in package folders",
    root_shows="the environment of servers of other users"),)
