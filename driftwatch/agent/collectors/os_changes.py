"""When packages of the operating system changed, and who did it: what one run of a tool changed is kept together. Reads logs only.

| path | what |
|---|---|
| os_changes/TIME (volatile) | {"at": ISO 8601 in UTC, "tool", "by": user or null, "command", "packages": {name: [old, new]}}; null: not installed |
| | tool: apt, unattended-upgrades, dpkg or dnf; "more": how many packages of no importance to the stack are not named |
| | "error": what the tool says went wrong; "unfinished": true where no end was written |
| os_changes_since (volatile) | the oldest moment that the logs tell of: before it nothing is known |
| unattended_upgrades/{kept_back,errors,reboots} (volatile) | packages it kept back; its last errors; when it rebooted the host, each in the host's own time |

The newest 50 are told. TIME ends without Z where the zone of the host's clock is not known. An event log is volatile: it is there to date other changes.
"""
from __future__ import annotations

from datetime import tzinfo

from ..host import Host
from ..os_history import (
    Pair,
    Transaction,
    grouped,
    outside,
    parse_apt,
    parse_dnf,
    parse_dnf_commands,
    parse_dpkg,
    parse_unattended,
    told_at,
    zone_of,
)
from ..os_stack import is_stack
from ..probe import Absent, Fact, Probe, Unknown, fact_path
from ..rotated import MOST_BYTES, newest_first, unpacked
from ..typed import Any, Callable, Dict, Iterator, List, Optional, Tuple

NEWEST = 50
MOST_LINES = 20000
MOST_STACK, MOST_OTHER = 100, 30
APT, DPKG, DNF = ("/var/log/apt", "history.log"), ("/var/log", "dpkg.log"), ("/var/log", "dnf.rpm.log")
UNATTENDED = "/var/log/unattended-upgrades/unattended-upgrades.log"
Log = Tuple[str, str]


class _Logs:
    """Reads logs and their ancestors, the newest first, and keeps what it could not read."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.refused: List[Unknown] = []
        self.is_any = False

    def read(self, log: Log, parse: Callable[[str], List[Any]], enough: int) -> List[Any]:
        """Return what the logs hold, as far back as ``enough`` entries need."""
        found: List[Any] = []
        for text in self._texts(*log):
            value = self.host.attempt(parse, text) if isinstance(text, str) else text
            if isinstance(value, Unknown):
                self.refused.append(value)
            else:
                found += value
            if len(found) >= enough:
                break
        return found

    def _texts(self, folder: str, base: str) -> Iterator[Any]:
        names = self.host.try_list(folder)
        if isinstance(names, Unknown):
            self.refused.append(names)
            return
        for name in newest_first(names or (), base):
            path = folder + "/" + name
            data = self.host.attempt(self.host.read_bytes, path, MOST_BYTES)
            self.is_any = self.is_any or data is not None
            yield data if isinstance(data, Unknown) else self.host.attempt(unpacked, path, data or b"")


def collect(host: Host) -> Iterator[Fact]:
    """Yield the newest transactions, the newest first; what the logs could not tell is unknown. Absent where there are no logs."""
    logs = _Logs(host)
    local = logs.read(APT, parse_apt, NEWEST)
    local += grouped(outside(logs.read(DPKG, parse_dpkg, MOST_LINES), local), "dpkg")
    zone = _zone(host)
    moments = [(told_at(one.at, zone), one) for one in local]
    moments += [(told_at(one.at, zone_of(None)), one) for one in _dnf(logs)]
    if not logs.is_any and not logs.refused:
        raise Absent("no log of package changes: /var/log/apt/history.log, /var/log/dpkg.log and /var/log/dnf.rpm.log are not there")
    if logs.refused:
        yield "os_changes", logs.refused[0]
    newest = sorted(moments, key=lambda one: one[0], reverse=True)[:NEWEST]
    if newest:
        yield "os_changes_since", newest[-1][0]
    yield from _numbered(host, newest)
    yield from _unattended(host)


def _dnf(logs: _Logs) -> List[Transaction]:
    lines = logs.read(DNF, parse_dnf, MOST_LINES)
    return grouped(lines, "dnf", logs.read(("/var/log", "dnf.log"), parse_dnf_commands, MOST_LINES)) if lines else []


def _zone(host: Host) -> Optional[tzinfo]:
    data = host.attempt(host.read_bytes, "/etc/localtime")
    zone = None if isinstance(data, Unknown) else zone_of(data)
    if zone is None:
        host.notes.append("the zone of the host's clock could not be told: the moments of os_changes are in its own time")
    return zone


def _numbered(host: Host, newest: List[Tuple[str, Transaction]]) -> Iterator[Fact]:
    seen: Dict[str, int] = {}
    for at, one in newest:
        seen[at] = seen.get(at, 0) + 1
        yield fact_path("os_changes", at if seen[at] == 1 else "%s#%d" % (at, seen[at])), _told(host, at, one)


def _told(host: Host, at: str, one: Transaction) -> Dict[str, Any]:
    kept = _kept(one.packages)
    told: Dict[str, Any] = {"at": at, "tool": one.tool, "by": one.by, "command": host.mask.text(one.command)[:400], "packages": kept}
    if len(kept) < len(one.packages):
        told["more"] = len(one.packages) - len(kept)
    if one.error:
        told["error"] = host.mask.text(one.error)[:400]
    if one.end is None:
        told["unfinished"] = True
    return told


def _kept(packages: Dict[str, Pair]) -> Dict[str, Pair]:
    stack = [name for name in packages if is_stack(name)][:MOST_STACK]
    others = [name for name in packages if not is_stack(name)][:MOST_OTHER]
    return {name: packages[name] for name in stack + others}


def _unattended(host: Host) -> Iterator[Fact]:
    text = host.attempt(host.tail, UNATTENDED, 1 << 18)
    if isinstance(text, Unknown):
        yield "unattended_upgrades", text
    elif text is not None:
        for name, value in parse_unattended(text).items():
            yield "unattended_upgrades/" + name, [host.mask.text(one)[:300] for one in value]


PROBES = (
    Probe(
        "os_changes", collect, deadline_s=10.0,
        tells=("os_changes", "os_changes/*", "os_changes_since", "unattended_upgrades", "unattended_upgrades/*"),
        volatile=("os_changes/*", "os_changes_since", "unattended_upgrades/*"),
        reads="/var/log/apt/history.log, /var/log/dpkg.log, /var/log/dnf.rpm.log, dnf.log and unattended-upgrades.log, rotated ones included",
        root_shows="logs that only root or the group adm may read",
    ),
)
