"""The hosts that a command line means: the config file's groups, and lists from files and standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.jobs import Job, Wish, host_jobs
from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.inventory import Inventory, Member, load_inventory, near, read_source, select
from driftwatch.fleet.sources.reading import LARGEST_FILE, read_text
from driftwatch.report.short_names import fold
from driftwatch.settings import Group
from driftwatch.transports.jumps import Jumps

LOCAL = "local"


def inventory(desk: Desk) -> Inventory:
    """Return all configured hosts."""
    return load_inventory(desk.settings.groups)


def selected(words: Sequence[str], desk: Desk) -> tuple[Member, ...]:
    """Return the hosts that words mean."""
    return select(words, inventory(desk), _read)


def member_jobs(members: Iterable[Member], wish: Wish, desk: Desk) -> list[Job]:
    """Return a job for each host, each asked as its group says and as the command line says, which goes before it."""
    jobs: list[Job] = []
    jumps = Jumps(desk.settings.ssh.jump_sessions)
    for group, ones in groupby(sorted(members, key=lambda one: one.group), key=lambda one: one.group):
        found = list(ones)
        of_group = desk.settings.groups.get(group, Group())
        profile = wish.profile or of_group.profile or (group if group in desk.settings.profiles else None)
        asked = replace(
            wish, names={one.dest: one.name for one in found if one.name != one.dest}, profile=profile, pythons=wish.pythons or of_group.pythons,
            source=wish.source or of_group.source, deadlines_s={**of_group.deadlines_s, **wish.deadlines_s}, jumps=jumps,
        )
        jobs += host_jobs([one.dest for one in found], asked, jumping(desk, of_group))
    return jobs


def destined_jobs(words: Sequence[str], wish: Wish, desk: Desk) -> list[Job]:
    """Return the jobs of a snapshot: of this machine where no word is given."""
    return member_jobs(selected(words, desk), wish, desk) if words else host_jobs([LOCAL], wish, desk)


def jumping(desk: Desk, group: Group) -> Desk:
    """Return the desk with the group's jump host among ssh's options; the user's own come first, so they win."""
    if group.jump is None:
        return desk
    return replace(desk, settings=replace(desk.settings, ssh_options=(*desk.settings.ssh_options, f"ProxyJump={group.jump}")))


def _read(place: str) -> str:
    return sys.stdin.read(LARGEST_FILE) if place == "-" else read_text(place)


def audited_jobs(words: Sequence[str], wish: Wish, desk: Desk) -> list[Job]:
    """Return the jobs of an audit. A plain name that no inventory lists and of which nothing is stored is refused: it was most likely mistyped."""
    found = inventory(desk)
    members = select(words, found, _read)
    stored = set(desk.store.hosts())
    for one in members:
        if words and one.name not in (LOCAL, *found.members, *stored):
            do = near(one.name, [*found.members, *stored]) or f"driftwatch snapshot {one.dest} --label good   makes its baseline"
            raise FleetError(f"{one.name} is in no inventory, and nothing of it is stored", str(desk.settings.file or "no config file"), do)
    return member_jobs(members, wish, desk)


def listed(members: Iterable[Member], desk: Desk) -> list[dict[str, str]]:
    """Return a row a host: its name, what reaches it, its group, and how that group is asked."""
    return [{"name": one.name, "dest": one.dest, "group": one.group, "how": _how(desk.settings.groups.get(one.group, Group()))} for one in members]


def _how(group: Group) -> str:
    parts = [f"{key} {value}" for key, value in (("profile", group.profile), ("jump", group.jump), ("source", group.source)) if value]
    parts += [f"python {one}" for one in group.pythons] + [f"deadline {name} {seconds:g} s" for name, seconds in group.deadlines_s.items()]
    return ", ".join(parts)


def imported(source: str, desk: Desk) -> str:
    """Return an inventory as lines for driftwatch.toml, a group each; as JSON the hosts with their groups."""
    found = read_source(source)
    if desk.given.format == "json":
        return json.dumps([{"name": one.name, "dest": one.dest, "groups": list(one.groups)} for one in found], indent=1) + "\n"
    groups: dict[str, list[str]] = {}
    for one in found:
        for group in one.groups or ("all",):
            groups.setdefault(group, []).append(one.dest)
    lines = [f"{_key(group)} = {json.dumps(list(fold(dests)), ensure_ascii=False)}" for group, dests in groups.items()]
    return "\n".join(["[hosts]", *lines]) + "\n"


def _key(group: str) -> str:
    return group if group.replace("-", "").replace("_", "").isalnum() and group.isascii() else json.dumps(group)
