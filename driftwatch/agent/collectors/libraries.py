"""Native libraries: which files the running servers map, all ranks taken together, and which lie where the next start would find them.

Two probes, so that what needs a running server is unknown without one, and the rest is told all the same. What one rank maps is told by the servers probe;
here a family is one fact for the host. FAMILY is ``libnccl``, ``libcudnn`` (with all its parts), ``libcublas``, ``libcudart``, ``libstdc++`` …

| path | what |
|---|---|
| libraries | unknown where no server runs, or where a process did not tell its own: then nothing below it is known that is not told |
| libraries/FAMILY/files | sorted list of the mapped files, " (deleted)" kept |
| libraries/FAMILY/folders | sorted list of the folders that they lie in, links resolved: more than one is a mixture |
| libraries/FAMILY/mixed | where one server maps a family from several folders: sorted list of "VERSION (FOLDER)", by file name or distribution, else ? |
| libraries/FAMILY/deleted | sorted list of "SERVER ROLE" that map a file which was deleted or replaced since |
| libraries/sideloaded/PATH | a libnccl that was put below a user's ~/.config: {"size_bytes", "sha256"} |
| libraries/named/VARIABLE/PATH | what a server's LD_PRELOAD or ..._SO_PATH, or /etc/ld.so.preload, names: {"size_bytes", "sha256"}, else "no such file" |
| native/installed/PATH | one of these in nvidia/*/lib or torch/lib: {"size_bytes", "by": distribution and version, or null}; PATH below site-packages |
"""
from __future__ import annotations

import re

from ..dist_metadata import RECORD_BYTES, folders, listed
from ..host import Digest, Host, Stat
from ..probe import Fact, Probe, Unknown, fact_path
from ..process_facts import Look
from ..processes_seen import Seen, survey
from ..serving import Server, servers_among
from ..typed import Any, Dict, Generator, Iterator, List, NamedTuple, Optional, Regex, Set, Tuple

FAMILIES = Regex(r"lib(nccl|cudart|cudnn|cublas|nvrtc|nvshmem|nvjitlink|cusparse|cufft|cupti|torch_cuda|torch_cpu|c10|stdc\+\+|gomp|ibverbs)")
WHOLE = ("libcudnn", "libcublas", "libnvrtc", "libnvshmem")
NAMED = Regex(r"(\w+_SO_PATH|LD_PRELOAD)\Z")
NOT_RUNNING = Unknown("not_recorded", "no server runs: its libraries and its variables cannot be seen")
NOT_MAPPED = Unknown("not_recorded", "no process of a server told any library that it maps")
LARGEST = 1 << 30
_VERSION = Regex(r"\.so\.(\d+\.\d+[\d.]*)(?: \(deleted\))?\Z")


class Sight(NamedTuple):
    """What one process maps: its server's name, its role, and its libraries by family (Unknown where it did not tell)."""

    server: str
    role: str
    found: Any


def collect(host: Host) -> Iterator[Fact]:
    """Yield each family that the running servers map, then what their variables name and what was put beside; those files are hashed, smallest first."""
    look = Look(host)
    seen = host.attempt(lambda: list(survey(host)))
    servers = [] if isinstance(seen, Unknown) else servers_among(seen or [])
    sights = [Sight(server.name, role, look.libraries(one)) for server in servers for role, one in _processes(server)]
    yield from [("libraries", seen)] if isinstance(seen, Unknown) else _mapped(host, sights)
    environs = [look.environ(one) for server in servers for _, one in [*_processes(server), ("", server.tracker)] if one]
    variables = [told for told in environs if isinstance(told, dict)]
    unread = [told for told in environs if isinstance(told, Unknown)]
    if unread and not variables:
        yield from (("libraries/" + name, unread[0]) for name in ("named", "sideloaded"))
    named = yield from _named(host, variables)
    sideloaded = yield from _sideloaded(host, variables)
    wanted = [(fact_path("libraries", "named", name, path), path) for name, path in sorted(named)]
    wanted += [(fact_path("libraries", "sideloaded", path), path) for path in sideloaded]
    for top, path in sorted(wanted, key=lambda one: _size(host, one[1])):
        yield top, _file(host, path)


def _mapped(host: Host, sights: List[Sight]) -> Iterator[Fact]:
    """Yield what all processes map, by family; that it is unknown where one of them did not tell, or none told anything."""
    refused = [one.found for one in sights if isinstance(one.found, Unknown)]
    if refused or not any(one.found for one in sights):
        yield "libraries", refused[0] if refused else NOT_MAPPED if sights else NOT_RUNNING
        return
    mapped = [(_whole(name), path, one) for one in sights for name, paths in one.found.items() for path in paths]
    owners = _owners(host)
    for family in sorted({family for family, _, _ in mapped}):
        top = fact_path("libraries", family)
        places = {path: _folder(host, path) for one, path, _ in mapped if one == family}
        yield top + "/files", sorted(places)
        yield top + "/folders", sorted(set(places.values()))
        mixed: Set[str] = set()
        for server in {one.server for one in sights}:
            paths = [path for one, path, sight in mapped if (one, sight.server) == (family, server)]
            mixed.update("%s (%s)" % (_version(path, owners), places[path]) for path in paths if len({places[one] for one in paths}) > 1)
        deleted = {"%s %s" % (sight.server, sight.role) for one, path, sight in mapped if one == family and path.endswith(" (deleted)")}
        yield from ((top + name, sorted(value)) for name, value in (("/mixed", mixed), ("/deleted", deleted)) if value)


def _whole(name: str) -> str:
    """Return the family that a part of one belongs to."""
    return next((whole for whole in WHOLE if name.startswith(whole)), name)


def _processes(server: Server) -> List[Tuple[str, Seen]]:
    return ([("launch", server.launch)] if server.launch is not None else []) + list(server.ranks)


def _folder(host: Host, path: str) -> str:
    folder = path.rpartition("/")[0]
    real = host.attempt(host.real, folder)
    return real if isinstance(real, str) else folder


def _version(path: str, owners: Dict[str, str]) -> str:
    """Return the version of a mapped file: of the distribution whose file it is, else as its name ends; ? where neither says."""
    by = next((owner for end, owner in owners.items() if path.endswith("/" + end)), "")
    named = _VERSION.search(path)
    return by.rpartition(" ")[2] if by and "-packages/" in path else named.group(1) if named else "?"


def _owners(host: Host) -> Dict[str, str]:
    """Return the distribution and version that each library of the serving interpreter came with, by its path below site-packages."""
    found: Dict[str, str] = {}
    sites, _ = listed(host, host.targets[0].site_packages) if host.targets else ([], [])
    for site, names in sites:
        for one in folders(site, names):
            if one.kind == "dist-info" and one.name.startswith(("nvidia-", "torch")):
                record = host.try_read(one.path + "/RECORD", RECORD_BYTES)
                for line in record.splitlines() if isinstance(record, str) else ():
                    path = line.partition(",")[0]
                    if ".so" in path and "/lib/" in path:
                        found.setdefault(path, "%s %s" % (one.name, one.version))
    return found


def collect_native(host: Host) -> Iterator[Fact]:
    """Yield the libraries that the serving interpreter's distributions brought, folder by folder; that there may be more where one could not be listed."""
    owners = _owners(host)
    sites, refused = listed(host, host.targets[0].site_packages) if host.targets else ([], [Unknown("not_recorded", "no interpreter was found to look at")])
    for site, names in sites:
        parts = host.try_list(site + "/nvidia") if "nvidia" in names else ()
        refused += [parts] if isinstance(parts, Unknown) else []
        nvidia = ["nvidia/%s/lib" % part for part in parts] if isinstance(parts, list) else []
        for below in [*nvidia, *(["torch/lib"] if "torch" in names else [])]:
            found = host.attempt(host.entries, site + "/" + below)
            refused += [found] if isinstance(found, Unknown) else []
            for name, stat in found if isinstance(found, list) else ():
                if FAMILIES.match(name) and ".so" in name:
                    told = stat if isinstance(stat, Unknown) else {"size_bytes": stat.size, "by": owners.get(below + "/" + name)}
                    yield fact_path("native", "installed", below + "/" + name), told
    if refused:
        yield "native/installed", refused[0]


def _named(host: Host, environs: List[Dict[str, str]]) -> Generator[Fact, None, Set[Tuple[str, str]]]:
    """Return (variable, path) of each library that a server's environment, or the whole host's loader, is told to take; yield what cannot be read of it."""
    found = {(name, path) for variables in environs for name, value in variables.items() if NAMED.match(name)
             for path in (re.split(r"[\s:]+", value) if name == "LD_PRELOAD" else [value])}
    everywhere = host.try_read("/etc/ld.so.preload")
    if isinstance(everywhere, Unknown):
        yield "libraries/named/ld.so.preload", everywhere
    found |= {("ld.so.preload", path) for path in everywhere.split()} if isinstance(everywhere, str) else set()
    return {(name, path) for name, path in found if path}


def _sideloaded(host: Host, environs: List[Dict[str, str]]) -> Generator[Fact, None, List[str]]:
    """Return each libnccl below the configuration folders of the users who serve and of the one who looks; yield that there may be more."""
    own = host.attempt(host.environ)
    everyone = [*environs, *([own] if isinstance(own, dict) else [])]
    tops = {variables["HOME"] + "/.config/vllm" for variables in everyone if variables.get("HOME", "").startswith("/")}
    tops |= {variables["VLLM_CONFIG_ROOT"] for variables in everyone if variables.get("VLLM_CONFIG_ROOT", "").startswith("/")}
    found = []
    for top in sorted(tops):
        for build in (yield from host.names_in(top + "/nccl", "libraries/sideloaded")):
            folder = "%s/nccl/%s" % (top, build)
            names = yield from host.names_in(folder, "libraries/sideloaded")
            found += ["%s/%s" % (folder, name) for name in names if name.startswith("libnccl")]
    return found


def _size(host: Host, path: str) -> int:
    stat = _followed(host, path)
    return stat.size if isinstance(stat, Stat) else 0


def _followed(host: Host, path: str) -> Any:
    return host.attempt(lambda: host.stat(host.real(path)))


def _file(host: Host, path: str) -> Any:
    """Return what is known of a file that is named to the loader: size and digest, or that there is none."""
    if not path.startswith("/"):
        return "looked up by the loader"
    digest: Optional[Any] = host.attempt(lambda: host.sha256(host.real(path), min(LARGEST, host.settings.byte_budget)))
    if isinstance(digest, Digest):
        return {"size_bytes": digest.size, "sha256": digest.sha256}
    return "no such file" if digest is None else digest


PROBES = (
    Probe("libraries", collect, deadline_s=10.0, needs_targets=True, tells=("libraries", "libraries/*"),
          reads="the libraries that all processes of running servers map, those that ..._SO_PATH and LD_PRELOAD name, libnccl below ~/.config",
          root_shows="libraries and variables of servers of other users"),
    Probe("native", collect_native, deadline_s=10.0, needs_targets=True, tells=("native/*",),
          reads="names and sizes of libraries in nvidia/*/lib and torch/lib of the serving interpreter, and whose RECORD names them"),
)
