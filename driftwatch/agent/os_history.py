"""What the package tools' logs say of past transactions: apt, dpkg, dnf and unattended-upgrades. Pure text to values.

Moments are as the log has them: of the host's own clock for apt, dpkg and unattended-upgrades, in UTC for dnf.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from datetime import datetime, timedelta, timezone, tzinfo
from importlib import import_module

from .probe import Unreadable
from .typed import Any, Dict, Iterable, List, NamedTuple, Optional, Regex, Tuple

Pair = Tuple[Optional[str], Optional[str]]
GAP_S = 60  # lines of one dpkg or dnf run follow each other closer than this
SLACK_S = 2
LONGEST_S = 3600  # how long a transaction may last whose end was never written
_ITEM = Regex(r"(\S+) \(([^)]*)\)")
_MOMENT = Regex(r"(\d{4})-(\d\d)-(\d\d)[ T]+(\d\d):(\d\d):(\d\d)")
_DPKG = Regex(r"^(\S+ \S+) (upgrade|install|remove|purge) (\S+) (\S+) (\S+)\s*$", re.MULTILINE)
_DNF = Regex(r"^(\S+) \S+ (Install|Upgrade|Downgrade|Reinstall|Erase|Remove|Obsolete)(e?d)?: (\S+)\s*$", re.MULTILINE)
_DNF_COMMAND = Regex(r"^(\S+) \S+ Command: (.*\S)[^\S\n]*$", re.MULTILINE)


class Transaction(NamedTuple):
    """One run of a package tool. ``packages`` maps a name to its old and new version (None: not installed); ``end`` is None if none was written."""

    at: datetime
    end: Optional[datetime]
    tool: str
    by: Optional[str]
    command: str
    packages: Dict[str, Pair]
    error: str = ""


class _Bytes:
    """Reads bytes in memory as the zone reader wants it: a file, though none is opened. The end comes as a ValueError: that reader never looks for it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` bytes."""
        self.seek(size, 1)
        return self.data[self.place - size:self.place]

    def seek(self, offset: int, _whence: int) -> None:
        """Move on by ``offset`` bytes."""
        self.place += offset
        if self.place > len(self.data):
            raise ValueError("cut")


class Line(NamedTuple):
    """One package that one line says was changed."""

    at: datetime
    name: str
    old: Optional[str]
    new: Optional[str]


def moment(text: str) -> Optional[datetime]:
    """Return the moment that a text begins with, without a zone; None where it begins with none."""
    found = _MOMENT.match(text)
    return datetime(*map(int, found.groups())) if found else None  # type: ignore[arg-type]  # noqa: DTZ001  # the clock of the log


def plain_name(name: str) -> str:
    """Return a package's name without the machine's own architecture; a foreign one (i386) stays."""
    return re.sub(r":(?:amd64|arm64|all|any)$", "", name)


def parse_apt(text: str) -> List[Transaction]:
    """Return the transactions of an apt history log; Unreadable where a text holds none."""
    stanzas = [dict(re.findall(r"^([A-Z][\w-]*): *((?:.*\S)?)[^\S\n]*$", one, re.MULTILINE)) for one in re.split(r"\n[ \t]*\n", text)]
    found = [_apt(one, start) for one in stanzas for start in (moment(one.get("Start-Date", "")),) if start]
    if text.strip() and not found:
        raise Unreadable("no transaction of apt in %r" % text.strip()[:80])
    return found


def _apt(fields: Dict[str, str], start: datetime) -> Transaction:
    packages: Dict[str, Pair] = {}
    for kind in ("Remove", "Purge", "Reinstall", "Install", "Upgrade", "Downgrade"):
        for name, inside in _ITEM.findall(fields.get(kind, "")):
            packages[plain_name(name)] = _versions(kind, [one.strip() for one in inside.split(",")])
    command = fields.get("Commandline", "")
    tool = "unattended-upgrades" if "unattended-upgrade" in command else "apt"
    by = fields.get("Requested-By", "").partition(" ")[0] or None
    return Transaction(start, moment(fields.get("End-Date", "")), tool, by, command, packages, fields.get("Error", ""))


def _versions(kind: str, told: List[str]) -> Pair:
    if kind in ("Upgrade", "Downgrade"):
        return told[0], told[-1]
    if kind == "Reinstall":
        return told[0], told[0]
    return (None, told[0]) if kind == "Install" else (told[0], None)


def parse_dpkg(text: str) -> List[Line]:
    """Return the packages that dpkg's log says were unpacked, upgraded or removed, in the order of the log."""
    if text.strip() and not _MOMENT.search(text):
        raise Unreadable("no line of dpkg's log in %r" % text.strip()[:80])
    told = ((moment(at), plain_name(name), old, new) for at, _, name, old, new in _DPKG.findall(text))
    return [Line(at, name, *(None if one == "<none>" else one for one in pair)) for at, name, *pair in told if at]


def parse_dnf(text: str) -> List[Line]:
    """Return the packages that dnf's rpm log says were installed, changed or removed, moments in UTC."""
    if text.strip() and not _MOMENT.search(text):
        raise Unreadable("no line of dnf's log in %r" % text.strip()[:80])
    found = []
    for at, kind, past, what in _DNF.findall(text):
        when, (name, version) = utc_moment(at), _nevra(what)
        is_old = kind in ("Erase", "Remove", "Obsolete") or (past and kind not in ("Install", "Reinstall"))
        if when:
            found.append(Line(when, name, version if is_old else None, None if is_old else version))
    return found


def _nevra(text: str) -> Tuple[str, str]:
    """Return the name and the version with its release of ``name-version-release.arch``."""
    parts = text.rpartition(".")[0].rsplit("-", 2)
    return (parts[0], "-".join(parts[1:])) if len(parts) == 3 else (text, "")


def utc_moment(text: str) -> Optional[datetime]:
    """Return the moment that a text such as ``2024-09-05T06:16:20+0200`` tells, in UTC and without a zone."""
    when, offset = moment(text), re.search(r"([+-])(\d\d):?(\d\d)$", text)
    if when is None or offset is None:
        return when
    away = timedelta(hours=int(offset.group(2)), minutes=int(offset.group(3)))
    return when - away if offset.group(1) == "+" else when + away


def parse_dnf_commands(text: str) -> List[Tuple[datetime, str]]:
    """Return when dnf was called and how, moments in UTC."""
    told = ((utc_moment(at), command) for at, command in _DNF_COMMAND.findall(text))
    return [(at, command) for at, command in told if at]


def outside(lines: Iterable[Line], transactions: Iterable[Transaction]) -> List[Line]:
    """Return the lines that belong to none of the transactions: dpkg was called by somebody else then."""
    ordered = sorted(transactions, key=lambda one: one.at)
    starts = [one.at - timedelta(seconds=SLACK_S) for one in ordered]
    ends = [(one.end or one.at + timedelta(seconds=LONGEST_S)) + timedelta(seconds=SLACK_S) for one in ordered]
    return [line for line in lines for place in (bisect_right(starts, line.at),) if place == 0 or ends[place - 1] < line.at]


def grouped(lines: Iterable[Line], tool: str, commands: Iterable[Tuple[datetime, str]] = ()) -> List[Transaction]:
    """Return the runs that lines make up: one ends where no further line follows within GAP_S seconds. A call shortly before names it."""
    runs: List[List[Line]] = []
    for line in sorted(lines, key=lambda one: one.at):
        if not runs or (line.at - runs[-1][-1].at).total_seconds() > GAP_S:
            runs.append([])
        runs[-1].append(line)
    return [_run(one, tool, list(commands)) for one in runs]


def _run(lines: List[Line], tool: str, commands: List[Tuple[datetime, str]]) -> Transaction:
    packages: Dict[str, Pair] = {}
    for line in lines:
        old, new = packages.get(line.name, (line.old, None))
        packages[line.name] = (old or line.old, line.new or new) if tool == "dnf" else (old, line.new)
    start = lines[0].at
    called = max((one for one in commands if one[0] <= start <= one[0] + timedelta(seconds=LONGEST_S)), default=(start, ""))
    return Transaction(start, lines[-1].at, tool, None, called[1], packages)


def parse_unattended(text: str) -> Dict[str, List[str]]:
    """Return what unattended-upgrades kept back (names), what went wrong and when it rebooted the host (each with its moment), the last five."""
    kept = re.findall(r" [Pp]ackage '?([a-z0-9][\w.+-]*)'? (?:is kept back|has been kept back|has conffile prompt)", text)
    listed = re.findall(r"Packages that (?:are kept back|have been kept back): (.+)", text)
    kept += [name for names in listed for name in names.split()]
    errors = re.findall(r"^(\S+ [\d:]+),\d+ (?:ERROR|CRITICAL) (.+)$", text, re.MULTILINE)
    reboots = re.findall(r"^(\S+ [\d:]+),\d+ \w+ Found \S+reboot-required, rebooting", text, re.MULTILINE)
    told = {"kept_back": sorted(set(kept)), "errors": ["%s %s" % one for one in errors[-5:]], "reboots": reboots[-5:]}
    return {name: value for name, value in told.items() if value}


def zone_of(localtime: Optional[bytes]) -> Optional[tzinfo]:
    """Return the zone of the host's clock from the bytes of /etc/localtime (None: there is none, so UTC); None where this Python cannot tell."""
    if localtime is None or localtime.endswith((b"\nUTC0\n", b"\nGMT0\n")):
        return timezone.utc
    try:
        zones: Any = import_module("zoneinfo")
        zone: tzinfo = zones.ZoneInfo.from_file(_Bytes(localtime))
        return zone
    except Exception:
        return None


def told_at(at: datetime, zone: Optional[tzinfo]) -> str:
    """Return a moment as ISO 8601 in UTC; without a closing Z where the zone of the host's clock is not known."""
    if zone is None:
        return at.isoformat()
    return at.replace(tzinfo=zone).astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"
