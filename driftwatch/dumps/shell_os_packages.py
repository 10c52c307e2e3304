"""Output of the system's package managers: ``dpkg -l``, ``dpkg-query -W``, ``apt list --installed``, ``rpm -qa``, also cut to names and versions.

Tells of the rows that are shown and of no other.

| path | what |
|---|---|
| os_packages/NAME/version | as the collector of the same name tells it |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

_DPKG = re.compile(r"(?P<state>[uihrp][a-zA-Z]R?)\s+(?P<name>[a-z0-9][\w.+-]{1,100})(?::\w+)?\s+(?P<version>\d\S*)\s+(?:amd64|arm64|all|i386)\b")
_DPKG_HEAD = re.compile(r"Desired=|\| Status=|\|/ Err|\|\|/ Name|\+\+\+-")
_APT = re.compile(r"(?P<name>[a-z0-9][\w.+-]{1,100})/\S+\s+(?P<version>\d\S*)\s+\w+\s+\[(?P<state>i)nstalled")
_APT_HEAD = re.compile(r"Listing\.\.\.|WARNING: apt|\s*\Z")
_RPM = re.compile(r"(?P<state>)(?P<name>[A-Za-z0-9][\w.+-]{1,100}?)-(?P<version>(?:\d+:)?\d[^-\s]*-[^-\s]+?)\.(?:x86_64|aarch64|noarch)\s*\Z")
_PAIR = re.compile(r"(?P<state>)(?P<name>[a-z0-9][\w.+-]{1,100})(?::\w+|/[\w.,-]+)?\s+(?P<version>(?:\d+:)?\d\S*)\s*\Z")
FILTERS = frozenset(("awk", "cut"))
_MOST = 4000


def _reader(rows: Sequence[re.Pattern[str]], other: re.Pattern[str]) -> Callable[[Simple, Sequence[str]], Told]:
    def read(_: Simple, lines: Sequence[str]) -> Told:
        facts: dict[str, Any] = {}
        used = 0
        for line in lines[:_MOST]:
            found = next((found for row in rows if (found := row.match(line))), None)
            if found is None and not other.match(line):
                break
            used += 1
            if found and found["state"][:1] in ("", "i") and not found["state"].startswith("iU"):
                facts[fact_path("os_packages", found["name"], "version")] = found["version"]
        return Told(used if facts else 0, facts)

    return read


READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({
    "dpkg": _reader((_DPKG, _PAIR), _DPKG_HEAD), "dpkg-query": _reader((_PAIR,), re.compile(r"\s*\Z")),
    "apt": _reader((_APT, _PAIR), _APT_HEAD), "rpm": _reader((_RPM,), re.compile(r"package \S+ is not installed")),
})
