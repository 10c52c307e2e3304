"""Every installed distribution of the serving interpreter and of the others named, as its metadata files say. Imports nothing and runs no pip.

| path | what |
|---|---|
| python/version, python/executable, python/base | of the serving interpreter; ``base`` is the file that its links lead to |
| packages/NAME/version, build | as METADATA says; build is the local label behind ``+`` |
| packages/NAME/location, installer | the site-packages folder; what pip, uv … wrote into INSTALLER |
| packages/NAME/direct_url | the object of direct_url.json, user and password taken out |
| packages/NAME/installed_at | mtime of RECORD, ISO in UTC; not told where the host has no file times |
| packages/NAME/record | ``sha256:`` digest of the RECORD file itself |
| packages/NAME/requires | list of Requires-Dist |
| packages/NAME/others | further dist-infos of the name in the same folder: list of {"folder", "version"}; the latest installed one is told |
| packages/NAME/shadows | the same name in later folders of this interpreter: list of {"location", "version"} |
| packages/NAME/metadata | ``unreadable: why``; name and version then come from the folder, and the version is unknown if METADATA has none |
| leftovers/FOLDER | where pip left a folder ``~…`` of an interrupted install, and what it was: {"location", "was"} |
| pythons/KEY/… | the same of each further interpreter; KEY is its path |
"""
from __future__ import annotations

from ..dist_metadata import (
    HEAD_BYTES,
    RECORD_BYTES,
    Folder,
    Metadata,
    base_name,
    folders,
    listed,
    metadata_head,
    metadata_paths,
    natural,
    parse_direct_url,
    parse_metadata,
)
from ..host import Digest, Host, Ran, Target
from ..moments import iso
from ..probe import Fact, NotRecorded, Probe, Unknown, fact_path, part
from ..typed import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

SECOND_NS = 1_000_000_000
VERSION = "import sys; print(sys.version.split()[0])"


class Reading(NamedTuple):
    """What one distribution's folder gave: ``metadata`` is Metadata or Unknown, ``record`` a Digest, None (it has no RECORD) or Unknown."""

    folder: Folder
    metadata: Any
    record: Any


def collect(host: Host) -> Iterator[Fact]:
    """Yield the facts of the serving interpreter, then of each other one."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    seen: List[str] = []
    for target in host.targets:
        if target.python not in seen:
            yield from _interpreter(host, target, "pythons/%s/" % part(target.python) if seen else "")
            seen.append(target.python)


def _interpreter(host: Host, target: Target, top: str) -> Iterator[Fact]:
    yield top + "python/executable", target.python
    base = host.attempt(host.real, target.python)
    if base is not None:
        yield top + "python/base", base
    yield from _distributions(host, target, top)
    yield top + "python/version", _version(host, target)


def _version(host: Host, target: Target) -> Any:
    """Return what the interpreter says of itself, run without its site module; where that was not recorded, what its own files say."""
    ran = host.try_run([target.python, "-I", "-S", "-c", VERSION], 3.0)
    if isinstance(ran, Ran):
        said = ran.stdout.strip()
        return said if ran.rc == 0 and said else Unknown("error", "%s: exit code %d, no version" % (target.python, ran.rc))
    if isinstance(ran, Unknown) and ran.status != "not_recorded":
        return ran
    settings = host.try_read(target.python.rpartition("/")[0] + "/../pyvenv.cfg", HEAD_BYTES)
    return parse_pyvenv(settings if isinstance(settings, str) else "") or ran or Unknown("error", "%s: no such interpreter" % target.python)


def parse_pyvenv(text: str) -> Optional[str]:
    """Return the version that a pyvenv.cfg names, or None."""
    pairs = {key.strip().lower(): value.strip() for key, sign, value in (line.partition("=") for line in text.splitlines()) if sign}
    return pairs.get("version_info") or pairs.get("version") or None


def _distributions(host: Host, target: Target, top: str) -> Iterator[Fact]:
    sites, refused = listed(host, target.site_packages)
    told: Dict[str, str] = {}
    later: Dict[str, List[Dict[str, Any]]] = {}
    for site, names in sites:
        for group in _groups(folders(site, names)):
            name, main, others = _chosen([_read(host, one) for one in group])
            if name in told and told[name] != site:
                later.setdefault(name, []).append({"location": site, "version": _version_of(main)})
                continue
            name = main.folder.name if name in told else name
            told[name] = site
            yield from _one(host, top + "packages/" + part(name), main, others)
        yield from _leftovers(host, top, site, names)
    for name, shadows in later.items():
        yield top + fact_path("packages", name, "shadows"), shadows
    if refused or not sites:
        yield top + "packages", refused[0] if refused else Unknown("not_recorded", "%s: no site-packages folder was found" % target.python)


def _groups(found: List[Folder]) -> List[List[Folder]]:
    """Return the distributions of one folder, those of one name together."""
    groups: Dict[str, List[Folder]] = {}
    for one in found:
        groups.setdefault(one.name, []).append(one)
    return list(groups.values())


def _read(host: Host, folder: Folder) -> Reading:
    record = host.attempt(host.sha256, folder.path + "/RECORD", RECORD_BYTES) if folder.kind == "dist-info" else None
    return Reading(folder, _metadata(host, folder), record)


def _metadata(host: Host, folder: Folder) -> Any:
    if folder.kind == "egg-link":
        return Unknown("error", "an egg-link: its metadata lies in the source tree")
    for path in metadata_paths(folder):
        text = host.attempt(metadata_head, host, path)
        if text is not None:
            return host.attempt(parse_metadata, text) if type(text) is str else text
    return Unknown("error", "%s: no such file" % base_name(metadata_paths(folder)[0]))


def _chosen(readings: List[Reading]) -> Tuple[str, Reading, List[Reading]]:
    """Return the name of a group, the distribution that was installed last, and the others."""
    ordered = sorted(readings, key=_age, reverse=True) if readings[1:] else readings
    main = ordered[0]
    spelled = main.metadata.canonical if isinstance(main.metadata, Metadata) else main.folder.name
    return spelled, main, ordered[1:]


def _age(one: Reading) -> Tuple[Any, ...]:
    """Return a key that sorts what was installed later behind."""
    installed_ns = (one.record.mtime_ns or 0) if isinstance(one.record, Digest) else 0
    return installed_ns, isinstance(one.metadata, Metadata), natural(_version_of(one) or "")


def _version_of(reading: Reading) -> Optional[str]:
    return reading.metadata.version if isinstance(reading.metadata, Metadata) else reading.folder.version


def _one(host: Host, top: str, main: Reading, others: List[Reading]) -> Iterator[Fact]:
    yield from _named(top, main)
    yield top + "/location", main.folder.path.rpartition("/")[0]
    if isinstance(main.record, Digest):
        yield top + "/record", "sha256:" + main.record.sha256
        if main.record.mtime_ns is not None:
            yield top + "/installed_at", iso(main.record.mtime_ns // SECOND_NS)
    elif main.record is not None:
        yield top + "/record", main.record
        yield top + "/installed_at", main.record
    if others:
        yield top + "/others", [{"folder": base_name(one.folder.path), "version": _version_of(one)} for one in others]
    if main.folder.kind == "dist-info":
        yield from _installed_by(host, top, main.folder)


def _named(top: str, main: Reading) -> Iterator[Fact]:
    """Yield what METADATA says, or that it says nothing."""
    found = main.metadata
    if not isinstance(found, Metadata):
        why = "its metadata is unreadable: " + found.reason
        yield top + "/metadata", "unreadable: " + found.reason
        yield top + "/version", Unknown(found.status, "%s; its folder says %s" % (why, main.folder.version) if main.folder.version else why)
        yield top + "/requires", Unknown(found.status, why)
        return
    if found.trouble:
        yield top + "/metadata", "unreadable: " + found.trouble
    yield top + "/version", found.version
    if "+" in found.version:
        yield top + "/build", found.version.partition("+")[2]
    yield top + "/requires", list(found.requires)


def _installed_by(host: Host, top: str, folder: Folder) -> Iterator[Fact]:
    installer = host.attempt(host.head, folder.path + "/INSTALLER", 200)
    if installer is not None:
        yield top + "/installer", installer if isinstance(installer, Unknown) else installer.strip()
    origin = host.try_read(folder.path + "/direct_url.json", HEAD_BYTES)
    if origin is not None:
        yield top + "/direct_url", origin if isinstance(origin, Unknown) else host.attempt(parse_direct_url, origin)


def _leftovers(host: Host, top: str, site: str, names: List[str]) -> Iterator[Fact]:
    for name in names:
        if name.startswith("~"):
            text = host.attempt(metadata_head, host, "%s/%s/METADATA" % (site, name))
            found = host.attempt(parse_metadata, text) if isinstance(text, str) else None
            was = "%s %s" % (found.name, found.version) if isinstance(found, Metadata) else ""
            yield top + fact_path("leftovers", name), {"location": site, "was": was}


PROBES = (Probe(
    "packages", collect, deadline_s=10.0, needs_targets=True, cap_bytes=8 << 20,
    tells=("packages", "packages/*", "python/version", "python/executable", "python/base", "leftovers/*", "pythons/*"),
    reads="METADATA, RECORD, INSTALLER and direct_url.json of each distribution in the interpreter's package folders; the interpreter's own version (-I -S)"),)
