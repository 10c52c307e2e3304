"""Which hosts there are, and which of them a few words mean: names, ranges, ``@group``, globs, a list in a file or on standard input."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed
from driftwatch.fleet.nodes import expand, split_names
from driftwatch.fleet.sources.plain import host_of, parse
from driftwatch.settings import Group
from driftwatch.transports.destination import BadDestination

KINDS = {"ansible": "ansible", "ssh-config": "ssh_config", "slurm": "slurm", "nodeset": "nodeset", "list": "plain"}
GLOB = "*?"
_OTHER_WAYS = re.compile(r"(?!ssh:|openssh:|paramiko:)[a-z]+://")  # containers, pods and Slurm's nodes are named by their transports
NEAR = 3
SHOWN_GROUPS = 8


@dataclass(frozen=True)
class Member:
    """A host that is asked: its name, what reaches it, and the configured group through which it is known ("" for none)."""

    name: str
    dest: str
    group: str = ""


@dataclass(frozen=True)
class Inventory:
    """All hosts that are configured, each once, and the names of those in each group."""

    members: Mapping[str, Member]
    groups: Mapping[str, tuple[str, ...]]


def read_source(text: str) -> tuple[Listed, ...]:
    """Return the hosts of an inventory, written ``KIND:PLACE`` or ``KIND``. Raises FleetError for a kind that there is not, or a place that is wrong."""
    kind, _, place = text.partition(":")
    if kind not in KINDS:
        raise FleetError(f"{text}: there is no kind of inventory called {kind!r}", do=f"one of: {', '.join(f'{name}:…' for name in KINDS)}")
    module = importlib.import_module(f"driftwatch.fleet.sources.{KINDS[kind]}")
    found: tuple[Listed, ...] = module.read(place)
    return found


def load_inventory(groups: Mapping[str, Group]) -> Inventory:
    """Return the hosts of the config file's groups. A host in several groups is looked at as the first of them says."""
    members: dict[str, Member] = {}
    names: dict[str, list[str]] = {}
    for name, group in groups.items():
        for one in _listed(group, name):
            members.setdefault(one.name, Member(one.name, one.dest, name))
            for joined in (name, *one.groups):
                names.setdefault(joined, []).append(one.name)
    return Inventory(members, {group: tuple(dict.fromkeys(found)) for group, found in names.items()})


def select(words: Sequence[str], inventory: Inventory, read: Callable[[str], str]) -> tuple[Member, ...]:
    """Return the hosts that words mean, each once, all that are configured where there is no word. ``read`` gives the text of a list.

    A plain name that is not configured is a host of its own. Raises FleetError for an unknown group, a glob that fits nothing, an empty selection.
    """
    found = [one for word in words for one in _meant(word, inventory, read)] if words else list(inventory.members.values())
    if not found:
        do = 'name hosts, or write them into driftwatch.toml: [hosts] prod = ["gpu-[01-16]"]'
        raise FleetError("no host is selected", "no group of the config file lists one" if not words else " ".join(words), do)
    return tuple({one.name: one for one in found}.values())


def near(word: str, names: Iterable[str]) -> str:
    """Return the nearest names as advice, "" where nothing is near."""
    found = difflib.get_close_matches(word, list(names), NEAR)
    return f"did you mean {' or '.join(found)}?" if found else ""


def _listed(group: Group, name: str) -> Iterable[Listed]:
    yield from parse("\n".join(group.members), f"the group {name} of the config file")
    for source in group.sources:
        yield from read_source(source)


def _meant(word: str, inventory: Inventory, read: Callable[[str], str]) -> Iterable[Member]:
    if _OTHER_WAYS.match(word):
        return [Member(word, word)]
    if word == "-" or "/" in word.replace("://", ""):
        return [_member(one.dest, inventory, one.name) for one in parse(read(word), "standard input" if word == "-" else word)]
    if word.startswith("@"):
        return [inventory.members[name] for name in _group(word[1:], inventory)]
    if any(mark in word for mark in GLOB):
        return _fitting(word, inventory)
    return [_member(dest, inventory) for one in split_names(word) for dest in expand(one)]


def _group(name: str, inventory: Inventory) -> tuple[str, ...]:
    if name not in inventory.groups:
        known = ", ".join(f"@{one}" for one in list(inventory.groups)[:SHOWN_GROUPS]) or "none"
        raise FleetError(f"there is no group @{name}", "the config file's [hosts]", near(name, inventory.groups) or f"there are: {known}")
    return inventory.groups[name]


def _fitting(glob: str, inventory: Inventory) -> list[Member]:
    found = [one for name, one in inventory.members.items() if fnmatch.fnmatchcase(name, glob)]
    if not found:
        raise FleetError(f"no configured host fits {glob}", f"{len(inventory.members):,} hosts in the config file's [hosts]", "driftwatch hosts")
    return found


def _member(dest: str, inventory: Inventory, name: str = "") -> Member:
    try:
        named = name or host_of(dest)
    except BadDestination as wrong:
        raise FleetError(str(wrong), do="HOST, USER@HOST, ssh://USER@HOST:PORT, gpu[01-16], @group") from None
    known = inventory.members.get(named)
    return known if known is not None and dest in (named, known.dest) else Member(named, dest)

