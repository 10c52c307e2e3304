"""Pools of the host's memory beside /proc/meminfo (that is the system probe's): NUMA nodes, huge pages, swap, kills for want of memory. Reads text only.

| path | what |
|---|---|
| memory/oom_kills | processes that the kernel killed for want of memory since boot |
| memory/cma_total_kib, memory/swap_total_kib | contiguous area of the kernel; swap |
| memory/hugepages/SIZE/total | pages reserved of a size such as ``2048kB`` |
| memory/hugepages/SIZE/{free,reserved,surplus} (volatile) | of these |
| memory/nodes/N/total_kib | memory of a NUMA node |
| memory/nodes/N/{free_kib,cache_kib} (volatile) | free there; page cache there |
| memory/events/NAME (volatile) | counters of /proc/vmstat since boot: swapping, failed compaction, stalls, memory of the wrong node |
| memory/free_blocks/NODE/ZONE (volatile) | free blocks of 1, 2, 4 … pages: how broken up free memory is |
| swap/DEVICE | {"type", "size_kib", "priority"} |
| swap/zswap | Y or N |

``memory/hugepages``, ``memory/nodes``, ``memory/events``, ``memory/free_blocks`` and ``swap`` are unknown as a whole where they cannot be read.
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Fact, Probe, Unknown, Unreadable, fact_path
from ..typed import Any, Dict, Generator, Iterator, List, Regex

HUGE = "/sys/kernel/mm/hugepages"
NODES = "/sys/devices/system/node"
OF_HUGE = (("total", "nr_hugepages"), ("free", "free_hugepages"), ("reserved", "resv_hugepages"), ("surplus", "surplus_hugepages"))
EVENTS = Regex(
    r"^(pswpin|pswpout|pgmajfault|allocstall\w*|compact_stall|compact_fail|thp_fault_fallback|numa_miss|numa_foreign|numa_pages_migrated|cma_alloc_fail"
    r"|drop_pagecache) (\d+)$", re.MULTILINE)


def collect(host: Host) -> Iterator[Fact]:
    """Yield what counts as the host's set-up, then what is in use."""
    stat = host.try_read("/proc/vmstat")
    yield from _told("memory/oom_kills", host.attempt(parse_oom_kills, stat) if isinstance(stat, str) else stat)
    meminfo = host.try_read("/proc/meminfo")
    for name, field in (("cma_total_kib", "CmaTotal"), ("swap_total_kib", "SwapTotal")):
        yield from _told("memory/" + name, kib(meminfo, field) if isinstance(meminfo, str) else meminfo)
    yield from _huge(host, meminfo if isinstance(meminfo, str) else "")
    yield from _nodes(host)
    yield from _swap(host)
    for name, count in EVENTS.findall((yield from _text("memory/events", stat))):
        yield "memory/events/" + name, int(count)
    blocks = yield from _text("memory/free_blocks", host.try_read("/proc/buddyinfo"))
    for (node, zone), counts in parse_buddyinfo(blocks).items():
        yield fact_path("memory", "free_blocks", node, zone), counts


def _told(path: str, value: Any) -> Iterator[Fact]:
    if value is not None:
        yield path, value


def _text(path: str, answer: Any) -> Generator[Fact, None, str]:
    """Return a text, "" for a file that is not there; yield that what ``path`` tells is unknown where it could not be read."""
    if isinstance(answer, Unknown):
        yield path, answer
    return answer if isinstance(answer, str) else ""


def parse_oom_kills(text: str) -> Any:
    """Return how many processes were killed for want of memory, None where the kernel does not count them (before 4.13)."""
    if not re.search(r"^nr_free_pages \d+$", text, re.MULTILINE):
        raise Unreadable("/proc/vmstat: no counters in %r" % text[:80])
    found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
    return int(found.group(1)) if found else None


def kib(text: str, field: str) -> Any:
    """Return a field of a meminfo file, also of a NUMA node's, in KiB; None where it has none."""
    found = re.search(r"^(?:Node \d+ )?%s:\s+(\d+) kB$" % field, text, re.MULTILINE)
    return int(found.group(1)) if found else None


def parse_buddyinfo(text: str) -> Dict[Any, List[int]]:
    """Return the counts of free blocks by node and zone."""
    lines = re.findall(r"^Node (\d+), zone +(\w+) +([\d ]+?) *$", text, re.MULTILINE)
    return {(node, zone): [int(one) for one in counts.split()] for node, zone, counts in lines}


def _huge(host: Host, meminfo: str) -> Iterator[Fact]:
    sizes = yield from host.names_in(HUGE, "memory/hugepages")
    usual, total = kib(meminfo, "Hugepagesize"), re.search(r"^HugePages_Total:\s+(\d+)$", meminfo, re.MULTILINE)
    if usual is not None and total and "hugepages-%dkB" % usual not in sizes:
        yield fact_path("memory", "hugepages", "%dkB" % usual, "total"), int(total.group(1))
    for size in sizes:
        for name, file in OF_HUGE:
            text = host.try_read("%s/%s/%s" % (HUGE, size, file))
            number = int(text) if isinstance(text, str) and text.strip().isdigit() else None if isinstance(text, str) else text
            yield from _told(fact_path("memory", "hugepages", size.replace("hugepages-", ""), name), number)


def _nodes(host: Host) -> Iterator[Fact]:
    for name in (yield from host.names_in(NODES, "memory/nodes")):
        text = host.try_read("%s/%s/meminfo" % (NODES, name)) if re.match(r"node\d+\Z", name) else None
        if not isinstance(text, str):
            yield from _told("memory/nodes/" + name[4:], text)
            continue
        for path, field in (("total_kib", "MemTotal"), ("free_kib", "MemFree"), ("cache_kib", "FilePages")):
            yield from _told("memory/nodes/%s/%s" % (name[4:], path), kib(text, field))


def _swap(host: Host) -> Iterator[Fact]:
    text = yield from _text("swap", host.try_read("/proc/swaps"))
    for device, kind, size, priority in re.findall(r"^(\S+)\s+(\S+)\s+(\d+)\s+\d+\s+(-?\d+)$", text, re.MULTILINE):
        yield fact_path("swap", device), {"type": kind, "size_kib": int(size), "priority": int(priority)}
    zswap = host.try_read("/sys/module/zswap/parameters/enabled")
    yield from _told("swap/zswap", zswap.strip() if isinstance(zswap, str) else zswap)


PROBES = (Probe(
    "memory", collect, deadline_s=5.0, tells=("memory/*", "swap", "swap/*"),
    reads="/proc/meminfo, /proc/vmstat, /proc/swaps, /proc/buddyinfo, meminfo and huge pages of each NUMA node",
    volatile=("memory/hugepages/*/free", "memory/hugepages/*/reserved", "memory/hugepages/*/surplus", "memory/nodes/*/free_kib", "memory/nodes/*/cache_kib",
              "memory/events", "memory/events/*", "memory/free_blocks", "memory/free_blocks/*")),)
