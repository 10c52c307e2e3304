"""What the lines of a kernel log mean: faults of GPUs, links, memory and disks, sorted into classes and counted. Pure text; blames nobody.

Times are taken off the messages, and process ids and addresses inside them are replaced, so that equal messages compare equal.
"""
from __future__ import annotations

import re
from datetime import datetime, timezone

from .probe import Unreadable
from .typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Tuple

MOST_LINES = 5
LONGEST = 300
_STAMPED = Regex(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?([+-]\d\d):?(\d\d)\s(?:\S+ kernel: )?(.*)|\[\s*\d+\.\d+\]\s?(.*)")
_CONTINUES = Regex(r"NVRM: (?:this kernel module has|make sure that this kernel|components have the same)")
_BEGINS = Regex(r"Linux version |Booting Linux on physical CPU")
_PCI = Regex(r"\b([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(\.[0-7])?\b")
_XID = Regex(r"S?Xid \([^)]*\): (\d+)")
_PROCESS = Regex(r"(\bpid[ =:]{1,2})'?\d+'?|(\b[Pp]rocess )\d+(?= \()|(?<=[\w/])(\[)\d+(?=\]:)|(?<=task )(\S+?:)\d+(?= blocked)")
_ADDRESS = Regex(r"(?<![\w.-])(?:0x)?[0-9a-f]{12,16}(?![\w.-])|(?<=[\[,])[0-9a-f]{3,}(?=[,+][0-9a-f]{3})")
_TROUBLE = r"err|fail|time[d ]*out|insufficient|unplugged|unhealth|health|fatal|temperature|syndrome|assert|stuck|lost|down\b|reset|recover"

class _Class(NamedTuple):
    """A class of messages: one of its marks stands in each of them, and then its pattern fits."""

    name: str
    marks: Tuple[str, ...]
    pattern: Any


def _class(name: str, marks: str, *patterns: str) -> _Class:
    return _Class(name, tuple(marks.split("|")), Regex("|".join(patterns), re.DOTALL))


_CLASSES = (
    _class("sxid", "SXid", r"SXid \("),
    _class("xid", "Xid", r"NVRM: Xid \("),
    _class("api_mismatch", "API mismatch", "API mismatch"),
    _class("module_refused", "version of symbol|Unknown symbol|module|Lockdown|equired key", "disagrees about version of symbol", "Unknown symbol",
           "unsigned module", "unavailable key", "equired key not available", "version magic", r"Lockdown: .*modul"),
    _class("nvrm", "NVRM|nvidia|nv_drm", r"NVRM: (?!loading |Persistence mode is deprecated)", r"^nvidia\S* .*(?:\berror\b|\bERROR\b|failed with)",
           r"nv_drm\S* .*ERROR"),
    _class("oom_kill", "Killed process", r"Killed process \d+"),
    _class("allocation_failure", "allocation failure|cma", "page allocation failure", r"cma\w*: .*fail"),
    _class("nfs", "nfs: |NFS: |nfs4: |lockd: |RPC: ", r"(?:nfs|lockd): server .*(?:not responding|timed out|OK)",
           r"(?:NFS|nfs4?): .*(?:error|fail|expired|lost)", r"RPC: .*timed out"),
    _class("network_fs", "CIFS|ceph|Lustre|fuse:|beegfs|mmfs", r"CIFS: .*(?:not responded|VFS: )", r"ceph: .*(?:socket closed|error|lost|hung|bl\w+listed)",
           "LustreError", r"(?:fuse|beegfs|mmfs): .*(?:error|fail|lost)"),
    _class("aer", "AER: |PCIe Bus Error|DPC: ", "PCIe Bus Error", r"(?:AER|DPC): (?!enabled with|error containment cap)"),
    _class("pcie", "BAR |PCIe bandwidth|Link Down|Card not present|not ready", r"BAR \d+.*(?:failed to assign|no space|can't assign)",
           "PCIe bandwidth, limited", r"Slot.*(?:Link Down|Card not present)", r"pci.*not ready \d+ms"),
    _class("mlx5", "mlx5|mlx4|infiniband", r"(?:mlx[45]_\w+|infiniband) (?!.*firmware version).*(?i:" + _TROUBLE + ")"),
    _class("net_link", "Link is Down|link status|NETDEV WATCHDOG|timed out|link down", "Link is Down", "link status definitely down", "NETDEV WATCHDOG",
           r"transmit queue \d+ timed out", r": (?:NIC )?[Ll]ink down"),
    _class("io_error", "I/O|EXT4|XFS|nvme|medium error|BTRFS|read-only|Disk failure", "I/O error", "EXT4-fs error", r"XFS .*(?:error|[Ss]hut|[Cc]orrupt)",
           r"nvme.*(?:timeout|I/O .*[Aa]bort|is down|probe failure)", "medium error", "BTRFS (?:error|critical)", "emounting filesystem read-only",
           "Disk failure"),
    _class("hung_task", "blocked for more", r"blocked for more than \d+ seconds"),
    _class("lockup", "lockup|LOCKUP|stall", "(?:soft|hard) (?:lockup|LOCKUP)", "rcu.*detected stall"),
    _class("machine_check", "Hardware Error|EDAC|achine check", r"\[Hardware Error\]", r"EDAC .*(?:\d+ [CU]E\b|error)", "achine check (?:event|exception)"),
    _class("thermal", "temperature|throttled", "temperature above threshold", "clock throttled", "critical temperature"),
    _class("iommu_fault", "DMAR|IO_PAGE_FAULT|smmu", "IO_PAGE_FAULT", r"DMAR: .*(?:fault|\[DMA (?:Read|Write))", "smmu.*(?:fault|event 0x)"),
    _class("crash", "BUG|Oops|WARNING|general protection|panic|Unable to handle", r"\bBUG: ", "kernel BUG", r"\bOops\b", "WARNING: CPU",
           "^general protection fault", "panic -", "Unable to handle"),
    _class("segfault", "segfault|trap", "segfault at", "traps?: .*(?:invalid opcode|general protection|divide error|int3)"),
    _class("service_failed", ".service", r"\.service: (?:Failed with result|Main process exited|Start request repeated)"),
)


class Found(NamedTuple):
    """A class of messages: how many, when the first and the last came (ISO 8601 in UTC, None where no time is told), and up to five that differ."""

    many: int
    first: Optional[str]
    last: Optional[str]
    lines: List[str]


class Account(NamedTuple):
    """What a kernel log told: time of its first and last line, whether it reaches back to the start of the boot, its classes, and counts by place.

    A place is ``CLASS/PCI-ADDRESS``, for Xids and SXids with ``/NUMBER``, as the parts of a path.
    """

    since: Optional[str]
    until: Optional[str]
    is_whole: bool
    classes: Dict[str, Found]
    places: Dict[Tuple[str, ...], int]


class _Tally:
    """Counts one class while a log is read."""

    def __init__(self, stamp: str) -> None:
        self.count = 0
        self.first = self.last = stamp
        self.lines: Dict[str, str] = {}

    def add(self, stamp: str, text: str) -> None:
        self.count += 1
        self.last = stamp
        if len(self.lines) < MOST_LINES:
            line = without_ids(text)[:LONGEST]
            self.lines.setdefault(re.sub(r"(?<!\): )\b\d+", "0", line), line)


def parse_kernel_log(text: str) -> Account:
    """Return the account of a log as ``dmesg`` or ``journalctl -k`` print it. Raises Unreadable where no line of it is one of a kernel log."""
    tallies: Dict[str, _Tally] = {}
    places: Dict[Tuple[str, ...], int] = {}
    since, until, is_whole = None, "", False
    for number, (stamp, message) in enumerate(_messages(text)):
        since = stamp if since is None else since
        until = stamp
        is_whole = is_whole or (number < 20 and _BEGINS.match(message) is not None)
        name = class_of(message)
        if name:
            tallies.setdefault(name, _Tally(stamp)).add(stamp, message)
            place = _place(name, message)
            if place:
                places[place] = places.get(place, 0) + 1
    if since is None:
        raise Unreadable("no line of a kernel log in %r" % text[:80])
    classes = {name: Found(one.count, in_utc(one.first), in_utc(one.last), list(one.lines.values())) for name, one in sorted(tallies.items())}
    return Account(in_utc(since), in_utc(until), is_whole, classes, places)


def _messages(text: str) -> Iterator[Tuple[str, str]]:
    """Yield time as written ("" where none is) and text of each message, the rest of a message that goes on joined to its start."""
    stamp, held = "", ""
    for line in text.splitlines():
        for number, piece in enumerate(line.split("#012")):
            match = _STAMPED.match(piece) if number == 0 else None
            message = (match.group(4) or match.group(5) or "") if match else piece.strip()
            if not match and number == 0 and not (line[:1].isspace() and held):
                continue
            if held and (_CONTINUES.match(message) or not (match or number)):
                held += " " + re.sub("^NVRM: ", "", message)
                continue
            if held:
                yield stamp, held
            held = message
            stamp = "%s%s:%s" % match.group(1, 2, 3) if match and match.group(1) else "" if match else stamp
    if held:
        yield stamp, held


def class_of(message: str) -> str:
    """Return the class of a message, or "" for one that tells of no trouble."""
    for one in _CLASSES if "ommand line: " not in message else ():
        if any(mark in message for mark in one.marks) and one.pattern.search(message):
            return one.name
    return ""


def _place(name: str, message: str) -> Optional[Tuple[str, ...]]:
    pci = _PCI.search(message)
    if pci is None:
        return None
    address = pci.group(1).lower()
    where = (name, address[-10:] + (pci.group(2) or ".0"))
    number = _XID.search(message)
    return (*where, number.group(1)) if number else where


def without_ids(message: str) -> str:
    """Return a message with PID for each process id and ADDR for each address in memory."""
    named = _PROCESS.sub(lambda match: next(one for one in match.groups() if one) + "PID", message)
    return _ADDRESS.sub("ADDR", named)


def in_utc(stamp: str) -> Optional[str]:
    """Return a time with its offset as ISO 8601 in UTC, None for none and for one that is none."""
    try:
        return datetime.fromisoformat(stamp).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return None
