"""The heads of nccl-tests and rccl-tests: ``#  Rank  0 Group  0 Pid  94170 on  node1 device  0 [0x1b] NVIDIA H100 80GB HBM3``, one row a rank.

Where the rows name several hosts, the cards of none are told: one index is another card on each.

| path | what |
|---|---|
| gpus/index-N/name | of ``device N``, as its host counts |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.gpu_names import index_facts

_ROW = re.compile(
    r"\s{0,8}#\s{1,8}Rank\s{1,8}\d{1,6}\s(?:.{0,60}\s)?Pid\s{1,12}\d{1,10} on\s{1,40}(?P<host>\S{1,80})\s{1,8}device\s{1,8}(?P<index>\d{1,3})"
    r"\s{1,8}\[[\w:.]{2,20}\]\s{1,8}(?P<name>\S.{0,100}?)\s*\Z")
_LONGEST = 400


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the runs of rows."""
    at = 0
    while at < len(lines):
        after = at
        while after < len(lines) and _ROW.match(lines[after][:_LONGEST]):
            after += 1
        if after > at:
            yield Stretch(at, after, 0.9)
        at = max(after, at + 1)


def parse(text: str) -> Parsed:
    """Return the names of the cards of one host."""
    lines = text.split("\n")
    found = [row for row in map(_ROW.match, lines) if row]
    if len({row["host"] for row in found}) > 1:
        return Parsed({}, notes=("nccl-tests: its ranks run on several hosts, and the cards of none are told",))
    told = [index_facts([row["index"]], "name", row["name"], is_cut=row.string is lines[-1]) for row in found]
    return Parsed({path: name for one in told for path, name in one.items()})


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="the head of nccl-tests", marks=("Rank ",), is_nested=True, knows_cuts=True,
    never_prints=("packages/*", "driver/*", "env/*", "servers/*", "os/*", "kernel/*"),
)
