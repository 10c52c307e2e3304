"""Ansible inventories: the output of ``ansible-inventory --list``, or a file that this program reads where it is installed, else INI and YAML read here.

Of a host's variables only those that say how it is reached are used: ``ansible_host``, ``ansible_user`` and ``ansible_port``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed, reached
from driftwatch.fleet.nodes import expand_colons
from driftwatch.fleet.sources.ansible_ini import parse_ini
from driftwatch.fleet.sources.reading import ask_program, read_text

PROGRAM = "ansible-inventory"
NOT_GROUPS = ("_meta", "all", "ungrouped")
YAML_ENDINGS = (".yml", ".yaml")
DEEPEST = 64


def read(place: str) -> tuple[Listed, ...]:
    """Return the hosts of an inventory file. Raises FleetError where it cannot be read, or is no inventory."""
    text = read_text(place)
    if text.lstrip().startswith("{"):
        return parse_list(text, place)
    if shutil.which(PROGRAM):
        return parse_list(ask_program([PROGRAM, "--inventory", place, "--list"]), place)
    return parse_yaml(text, place) if place.endswith(YAML_ENDINGS) else parse_ini(text, place)


def parse_yaml(text: str, where: str) -> tuple[Listed, ...]:
    """Return the hosts of a YAML inventory: groups with ``hosts``, ``children`` and ``vars``. Raises FleetError for another text."""
    import yaml  # noqa: PLC0415  # loaded only for such a file

    try:
        told = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as wrong:
        raise FleetError(f"the inventory is no YAML: {' '.join(str(wrong).split())[:200]}", where, "correct it") from None
    if not isinstance(told, dict):
        raise FleetError("the inventory holds no groups", where, "a group holds hosts:, children: and vars:")
    found: dict[str, _Host] = {}
    for name, group in told.items():
        _walk(str(name), group, _Above(), found)
    return tuple(_listed(name, {**one.above, **one.own}, tuple(dict.fromkeys(one.groups))) for name, one in found.items())


@dataclass
class _Host:
    """A host while the groups are walked: its own variables, those of its groups (nearer ones later), and the groups."""

    own: dict[str, Any] = field(default_factory=dict)
    above: dict[str, Any] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Above:
    """The groups above a group, and their variables."""

    names: tuple[str, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)


def _walk(name: str, group: Any, above: _Above, found: dict[str, _Host]) -> None:
    if not isinstance(group, dict) or len(above.names) > DEEPEST:
        return
    here = _Above((*above.names, name), {**above.variables, **_table(group.get("vars"))})
    for pattern, variables in _table(group.get("hosts")).items():
        for host in expand_colons(str(pattern)):
            one = found.setdefault(host, _Host())
            one.own.update(_table(variables))
            one.above.update(here.variables)
            one.groups += [group for group in reversed(here.names) if group not in NOT_GROUPS]
    for child, below in _table(group.get("children")).items():
        _walk(str(child), below, here, found)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


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
            for host in _hosts(told, group):
                groups.setdefault(host, []).append(group)
    names = dict.fromkeys([*variables, *groups, *_hosts(told, "all"), *_hosts(told, "ungrouped")])
    return tuple(_listed(name, variables.get(name), tuple(groups.get(name, ()))) for name in names)


def _hosts(told: Mapping[str, Any], group: str) -> Iterator[str]:
    """Yield the hosts of a group and of the groups below it."""
    waiting, seen = [group], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            found = _table(told.get(name))
            yield from _names(found.get("hosts"))
            waiting += reversed(_names(found.get("children")))


def _names(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _listed(name: str, variables: Any, groups: tuple[str, ...]) -> Listed:
    said = variables if isinstance(variables, dict) else {}
    parts = [str(said.get(key) or "") for key in ("ansible_host", "ansible_user", "ansible_port")]
    return Listed(name, "local" if said.get("ansible_connection") == "local" else reached(name, *parts), groups)
