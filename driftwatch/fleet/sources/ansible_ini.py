"""Ansible's INI inventories, as far as they list hosts: groups, ``:children``, ``:vars``, ranges such as ``gpu[01:16]``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed, reached
from driftwatch.fleet.nodes import expand_colons

_SECTION = re.compile(r"\[([^\[\]:]+)(?::(children|vars))?\]\Z")
_KEYS = ("ansible_host", "ansible_user", "ansible_port")


class _Reading:
    """What was read so far: the variables of each host, and hosts, groups and variables by group."""

    def __init__(self) -> None:
        self.hosts: dict[str, dict[str, str]] = {}
        self.members: dict[str, list[str]] = {}
        self.children: dict[str, list[str]] = {}
        self.variables: dict[str, dict[str, str]] = {}

    def take(self, section: str, kind: str, line: str) -> None:
        """Take one line of a section. Raises ValueError for a line that is none."""
        if kind == "children":
            self.children.setdefault(section, []).append(line)
        elif kind == "vars":
            key, _, value = line.partition("=")
            self.variables.setdefault(section, {})[key.strip()] = value.strip().strip("'\"")
        else:
            self._take_hosts(section, line)

    def _take_hosts(self, section: str, line: str) -> None:
        words = shlex.split(line, comments=True)
        if not all("=" in word for word in words[1:]):
            raise ValueError(f"{line!r}: behind the host stand KEY=VALUE only")
        told = dict(word.split("=", 1) for word in words[1:])
        for name in expand_colons(words[0]):
            self.hosts.setdefault(name, {}).update(told)
            self.members.setdefault(section, []).append(name)

    def groups_of(self, host: str) -> tuple[str, ...]:
        """Return the groups that a host is in, the nearest first."""
        found = [group for group, names in self.members.items() if host in names]
        for group in found:
            found += [above for above, below in self.children.items() if group in below and above not in found]
        return tuple(found)

    def told_of(self, host: str, groups: tuple[str, ...]) -> Mapping[str, str]:
        """Return a host's variables: its own before those of its groups, these before those of all."""
        found: dict[str, str] = {}
        for group in ("all", *reversed(groups)):
            found.update(self.variables.get(group, {}))
        return {**found, **self.hosts[host]}


def parse_ini(text: str, where: str) -> tuple[Listed, ...]:
    """Return the hosts of an INI inventory. Raises FleetError with the place and the line of what is none."""
    reading = _Reading()
    section, kind = "ungrouped", ""
    for number, line in enumerate(text.splitlines(), 1):
        told = line.strip()
        if not told or told.startswith(("#", ";")):
            continue
        if named := _SECTION.match(told.partition("#")[0].strip()):
            section, kind = named[1].strip(), named[2] or ""
            continue
        try:
            reading.take(section, kind, told)
        except (ValueError, FleetError) as wrong:
            raise FleetError(str(wrong), f"{where}, line {number}", "a line holds a host and KEY=VALUE words, as in: gpu-a ansible_host=192.0.2.1") from None
    return tuple(_listed(reading, name) for name in reading.hosts)


def _listed(reading: _Reading, name: str) -> Listed:
    groups = reading.groups_of(name)
    told = reading.told_of(name, groups)
    dest = "local" if told.get("ansible_connection") == "local" else reached(name, *(told.get(key, "") for key in _KEYS))
    return Listed(name, dest, tuple(one for one in groups if one not in ("all", "ungrouped")))
