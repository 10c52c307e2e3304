"""Ansible inventories: the output of ``ansible-inventory --list``, or a file that this program reads where it is installed, else INI read here.

Of a host's variables only those that say how it is reached are used: ``ansible_host``, ``ansible_user`` and ``ansible_port``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed, reached
from driftwatch.fleet.sources.ansible_ini import parse_ini
from driftwatch.fleet.sources.reading import ask_program, read_text

PROGRAM = "ansible-inventory"
NOT_GROUPS = ("_meta", "all", "ungrouped")
YAML_ENDINGS = (".yml", ".yaml")


def read(place: str) -> tuple[Listed, ...]:
    """Return the hosts of an inventory file. Raises FleetError where it cannot be read, or is no inventory."""
    text = read_text(place)
    if text.lstrip().startswith("{"):
        return parse_list(text, place)
    if shutil.which(PROGRAM):
        return parse_list(ask_program([PROGRAM, "--inventory", place, "--list"]), place)
    if place.endswith(YAML_ENDINGS):
        raise FleetError(f"a YAML inventory is read by {PROGRAM}, which is not installed here", place, f"{PROGRAM} -i FILE --list > hosts.json, where it is")
    return parse_ini(text, place)


def parse_list(text: str, where: str) -> tuple[Listed, ...]:
    """Return the hosts of ``ansible-inventory --list``. Raises FleetError for another text."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise FleetError(f"the inventory is no JSON: {wrong}", where, f"make it with {PROGRAM} --list") from None
    variables = told.get("_meta", {}).get("hostvars") if isinstance(told, dict) and isinstance(told.get("_meta"), dict) else None
    if not isinstance(variables, dict):
        raise FleetError("the inventory holds no _meta.hostvars", where, f"make it with {PROGRAM} --list")
    groups: dict[str, list[str]] = {}
    for group in told:
        if group not in NOT_GROUPS:
            for host in _hosts(told, group, set()):
                groups.setdefault(host, []).append(group)
    names = dict.fromkeys([*variables, *groups, *_hosts(told, "all", set()), *_hosts(told, "ungrouped", set())])
    return tuple(_listed(name, variables.get(name), tuple(groups.get(name, ()))) for name in names)


def _hosts(told: Mapping[str, Any], group: str, seen: set[str]) -> Iterator[str]:
    """Yield the hosts of a group and of the groups below it."""
    if group in seen:
        return
    seen.add(group)
    found = told.get(group)
    if isinstance(found, dict):
        yield from (one for one in found.get("hosts") or () if isinstance(one, str))
        for child in found.get("children") or ():
            yield from _hosts(told, child, seen)


def _listed(name: str, variables: Any, groups: tuple[str, ...]) -> Listed:
    said = variables if isinstance(variables, dict) else {}
    parts = [str(said.get(key) or "") for key in ("ansible_host", "ansible_user", "ansible_port")]
    return Listed(name, "local" if said.get("ansible_connection") == "local" else reached(name, *parts), groups)
