"""Packages of the operating system, as dpkg's or rpm's own records have them, and the fabric manager against which the driver is held.

| path | what |
|---|---|
| os_packages/NAME/version | of a package of the GPU, kernel, network, container or compiler stack; several of one name are joined by ", " |
| os_packages/NAME/held | true where it is kept from being upgraded (dpkg's selection ``hold``, dnf's version lock) |
| os_packages/NAME/state | where dpkg did not finish: ``half-configured``, ``unpacked`` … |
| os_packages_other/NAME | the version of any other package |
| os_pins/FILE | the lines of a file of /etc/apt/preferences.d that pin packages |
| fabricmanager/{package,version} | the package's name; the full version without the packager's revision |
| fabricmanager/binary | the full version that the program on disk tells |

NAME carries the architecture only where it is a foreign one (``:i386``).
"""
from __future__ import annotations

import re

from ..host import Host, Ran
from ..os_history import plain_name
from ..os_stack import is_stack, upstream
from ..probe import Absent, Fact, Probe, Unknown, Unreadable, fact_path
from ..typed import Any, Dict, Iterator, List, NamedTuple, Tuple

STATUS = "/var/lib/dpkg/status"
RPM = ["rpm", "-qa", "--qf", r"%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n"]
RPM_FOLDERS = ("/var/lib/rpm", "/usr/lib/sysimage/rpm", "/usr/share/rpm")
LOCKS = ("/etc/dnf/plugins/versionlock.list", "/etc/yum/pluginconf.d/versionlock.list")
PINS = "/etc/apt/preferences.d"
PROGRAM = "/usr/bin/nv-fabricmanager"
GONE = ("not-installed", "config-files")
MOST = 64 << 20


class Package(NamedTuple):
    """One installed package: its name and version as the packager writes them, what was selected (``hold``) and how far it came (``installed``)."""

    name: str
    version: str
    selection: str = "install"
    state: str = "installed"


def collect(host: Host) -> Iterator[Fact]:
    """Yield the stack's packages, what pins them, the fabric manager, then all other packages; Absent where the host keeps no such record."""
    packages = _packages(host)
    held = _locked(host)
    told = _by_name(packages)
    for name in sorted(name for name in told if is_stack(name)):
        yield from _one(name, told[name], held)
    yield from _pins(host)
    yield from _fabric_manager(host, packages)
    for name in sorted(name for name in told if not is_stack(name)):
        yield fact_path("os_packages_other", name), _versions(told[name])


def _packages(host: Host) -> List[Package]:
    if host.attempt(host.stat, STATUS) is not None:
        return parse_status(host.read(STATUS, MOST))
    if any(host.attempt(host.exists, folder) for folder in RPM_FOLDERS):
        return parse_rpm(host.run(RPM, 8.0))
    raise Absent("no record of packages: neither %s nor %s is there" % (STATUS, " nor ".join(RPM_FOLDERS)))


def parse_status(text: str) -> List[Package]:
    """Return the packages of dpkg's status file that are on disk, whole or in part."""
    found: List[Package] = []
    for stanza in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Version|Architecture): *(.*?)\s*$", stanza, re.MULTILINE))
        words = fields.get("Status", "").split()
        if len(words) == 3 and words[2] not in GONE and "Package" in fields:
            name = plain_name("%s:%s" % (fields["Package"], fields.get("Architecture", "all")))
            found.append(Package(name, fields.get("Version", ""), words[0], words[2]))
    if not found:
        raise Unreadable("%s: no package in %r" % (STATUS, text[:80]))
    return found


def parse_rpm(ran: Ran) -> List[Package]:
    """Return the packages that ``rpm -qa`` listed, without the keys that it keeps among them."""
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    found = [Package(row[0] + (":i686" if row[2] == "i686" else ""), row[1]) for row in rows if len(row) == 3 and row[0] != "gpg-pubkey"]
    if ran.rc != 0 or not found:
        raise Unreadable("rpm -qa: exit code %d: %s" % (ran.rc, (ran.stderr.strip() or ran.stdout.strip() or "no text")[:200]))
    return found


def _locked(host: Host) -> Tuple[str, ...]:
    """Return the patterns that dnf's version lock keeps."""
    texts = [host.try_read(path) for path in LOCKS]
    return tuple(line for text in texts if isinstance(text, str) for line in text.split() if line[:1] not in ("#", "!"))


def _by_name(packages: List[Package]) -> Dict[str, List[Package]]:
    told: Dict[str, List[Package]] = {}
    for one in packages:
        told.setdefault(one.name, []).append(one)
    return told


def _one(name: str, packages: List[Package], locked: Tuple[str, ...]) -> Iterator[Fact]:
    yield fact_path("os_packages", name, "version"), _versions(packages)
    if any(one.selection == "hold" for one in packages) or any(_is_lock(lock, name) for lock in locked):
        yield fact_path("os_packages", name, "held"), True
    for one in packages:
        if one.state != "installed":
            yield fact_path("os_packages", name, "state"), one.state


def _is_lock(lock: str, name: str) -> bool:
    """Tell whether an entry such as ``kernel-0:5.14.0-427.el9.*`` or ``kernel`` locks a package."""
    return re.fullmatch(re.escape(name) + r"(?:-\d.*|-\*)?", lock) is not None


def _versions(packages: List[Package]) -> str:
    return ", ".join(sorted(one.version for one in packages))


def _pins(host: Host) -> Iterator[Fact]:
    names = host.try_list(PINS)
    if isinstance(names, Unknown):
        yield "os_pins", names
        return
    for name in names or ():
        text = host.try_read(PINS + "/" + name)
        if isinstance(text, str):
            yield fact_path("os_pins", name), parse_pins(text)
        elif text is not None:
            yield fact_path("os_pins", name), text


def parse_pins(text: str) -> List[str]:
    """Return the lines of an apt preferences file that name packages, versions and priorities."""
    return [" ".join(line.split()) for line in text.splitlines() if re.match(r"(?:Package|Pin|Pin-Priority)\s*:", line)]


def _fabric_manager(host: Host, packages: List[Package]) -> Iterator[Fact]:
    for one in packages:
        if re.fullmatch(r"nvidia-fabric-?manager(?:-\d+)?", one.name):
            yield "fabricmanager/package", one.name
            yield "fabricmanager/version", upstream(one.version)
    is_there = host.attempt(host.exists, PROGRAM)
    if is_there:
        ran = is_there if isinstance(is_there, Unknown) else host.try_run([PROGRAM, "--version"], 2.0)
        yield "fabricmanager/binary", parse_fabric_manager(ran) if isinstance(ran, Ran) else ran


def parse_fabric_manager(ran: Ran) -> Any:
    """Return the version that ``nv-fabricmanager --version`` printed, else Unknown."""
    found = re.search(r"[Vv]ersion\D{0,8}(\d+(?:\.\d+)+)", ran.stdout)
    said = ran.stderr.strip() or ran.stdout.strip() or "no text"
    return found.group(1) if found else Unknown("error", "nv-fabricmanager --version: exit code %d: %s" % (ran.rc, said[:200]))


PROBES = (
    Probe(
        "os_packages", collect, deadline_s=10.0,
        tells=("os_packages", "os_packages/*", "os_packages_other", "os_packages_other/*", "os_pins", "os_pins/*", "fabricmanager", "fabricmanager/*"),
        reads="dpkg's status file or rpm -qa, apt's pins, dnf's version locks, nv-fabricmanager --version",
    ),
)
