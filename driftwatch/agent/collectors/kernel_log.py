"""The kernel's own log, of this boot and of the one before, sorted into classes of trouble. Only reads: the log is never cleared.

CLASS: xid, sxid, api_mismatch, module_refused, nvrm, oom_kill, allocation_failure, nfs, network_fs, aer, pcie, mlx5, net_link, io_error, hung_task, lockup,
machine_check, thermal, iommu_fault, crash, segfault, service_failed.

| path | what |
|---|---|
| kernel_log/CLASS | {"count", "lines"}: how many messages, up to five that differ, without times, process ids and addresses |
| kernel_log/CLASS/first, last (volatile) | when the first and the last came, ISO 8601 in UTC |
| kernel_log/xid/PCI/NUMBER, kernel_log/sxid/PCI/NUMBER | how many of this number came for the device |
| kernel_log/CLASS/PCI | how many of another class came for the device |
| kernel_log/from, since, until (volatile) | which tool told it; time of its first and last line |
| kernel_log/previous/… | the same of the boot before, where the journal keeps it; unknown where not |

``kernel_log`` as a whole is unknown where the start of this boot is no longer in the log: a class that is not told may have been in the part that is gone.
"""
from __future__ import annotations

import re

from ..host import MIB, Host, Ran
from ..kernel_messages import Account, parse_kernel_log
from ..probe import Denied, Fact, NotRecorded, Probe, TimedOut, Unknown, Unreadable, fact_path
from ..typed import Any, Iterator, List, NoReturn, Regex, Tuple

RING = ["dmesg", "--time-format", "iso"]
OLD_RING = ["dmesg"]
JOURNAL = ["journalctl", "-k", "-b", "-o", "short-iso", "--no-pager"]
PREVIOUS = ["journalctl", "-k", "-b", "-1", "-o", "short-iso", "--no-pager"]
NEWEST = ["-n", "30000"]
CAP = 8 * MIB
ADVICE = "run as root, or as a member of the groups adm and systemd-journal: %s"
_REFUSED = Regex(r"not permitted|[Pp]ermission|not seeing messages|insufficient", re.DOTALL)
_NOT_KEPT = Regex(r"no persistent journal|[Nn]o journal (?:boot entry|files)|specified boot .* not available|No such boot ID|No entries")
GONE = Unknown("not_recorded", "the log no longer reaches back to the start of this boot: what is not told may have been in the part that is gone")
NOT_KEPT = Unknown("not_recorded", "the journal of the boot before is not kept here (Storage=persistent in journald.conf keeps it)")


def collect(host: Host) -> Iterator[Fact]:
    """Yield what this boot's log says, then that of the boot before."""
    source, account = _this_boot(host)
    yield "kernel_log/from", source
    yield from _facts("kernel_log", account)
    if not account.is_whole:
        yield "kernel_log", GONE
    before = _ask(host, PREVIOUS)
    if isinstance(before, Account):
        yield from _facts("kernel_log/previous", before)
    else:
        yield "kernel_log/previous", before or NOT_KEPT


def _facts(top: str, account: Account) -> Iterator[Fact]:
    yield from _times(top, (("since", account.since), ("until", account.until)))
    for name, found in account.classes.items():
        yield "%s/%s" % (top, name), {"count": found.many, "lines": found.lines}
        yield from _times("%s/%s" % (top, name), (("first", found.first), ("last", found.last)))
    for place, count in sorted(account.places.items()):
        yield "%s/%s" % (top, fact_path(*place)), count


def _times(top: str, pairs: Tuple[Tuple[str, Any], ...]) -> Iterator[Fact]:
    for name, value in pairs:
        if value is not None:
            yield "%s/%s" % (top, name), value


def _this_boot(host: Host) -> Tuple[str, Account]:
    """Return which tool told the log of this boot and what: the ring buffer's where it is whole, else the journal's where that reaches further back."""
    ring = _ask(host, RING)
    if isinstance(ring, Account) and ring.is_whole:
        return "dmesg", ring
    journal = _ask(host, JOURNAL)
    if isinstance(journal, Account) and not (isinstance(ring, Account) and (ring.since or "") <= (journal.since or "")):
        return "journalctl", journal
    if isinstance(ring, Unknown) and "option" in ring.reason:
        ring = _ask(host, OLD_RING)
    if not isinstance(ring, Account):
        _refuse([one for one in (ring, journal) if isinstance(one, Unknown)])
    return "dmesg", ring


def _ask(host: Host, argv: List[str]) -> Any:
    """Return the account of the log that a command prints, None if there is no such command, else Unknown. Too long a journal: of its newest lines."""
    ran = host.attempt(host.run, argv, 2.5, None, CAP)
    if isinstance(ran, Unknown) and "output limit" in ran.reason and argv[0] == "journalctl":
        ran = host.attempt(host.run, argv + NEWEST, 2.5, None, CAP)
    if not isinstance(ran, Ran):
        return ran
    account = host.attempt(parse_kernel_log, ran.stdout) if ran.stdout.strip() else None
    if isinstance(account, Account):
        return account
    return _why_none(argv, ran)


def _why_none(argv: List[str], ran: Ran) -> Unknown:
    said = " ".join((ran.stderr + " " + ran.stdout).split())[:200]
    command = " ".join(argv)
    if _REFUSED.search(said):
        return Unknown("denied", "%s: %s: %s" % (command, said, ADVICE % command))
    if argv == PREVIOUS and (_NOT_KEPT.search(said) or not said):
        return NOT_KEPT
    return Unknown("not_recorded" if not said else "error", "%s: exit code %d: %s" % (command, ran.rc, said or "it printed nothing"))


def _refuse(reasons: List[Unknown]) -> NoReturn:
    """Raise the refusal that says most of why no log could be read."""
    for kind in (Denied, TimedOut, Unreadable, NotRecorded):
        if any(one.status == kind.status for one in reasons):
            raise kind("; ".join(one.reason for one in reasons))
    raise Denied("neither dmesg nor journalctl is here, nothing else reads the kernel's log: run one of them on the host")


PROBES = (Probe(
    "kernel_log", collect, deadline_s=10.0, tells=("kernel_log", "kernel_log/*"), reads="dmesg, else journalctl -k -b; journalctl -k -b -1",
    volatile=("kernel_log/from", "kernel_log/since", "kernel_log/until", "kernel_log/*/first", "kernel_log/*/last", "kernel_log/previous/since",
              "kernel_log/previous/until", "kernel_log/previous/*/first", "kernel_log/previous/*/last"),
    root_shows="the log, where kernel.dmesg_restrict is set"),)
