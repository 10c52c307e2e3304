"""The roles of hosts: those of the package (roles.toml), and what the site's config file adds. Read here, used in compare."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.compare.change import Change
from driftwatch.compare.equal import FIRST_HAND
from driftwatch.compare.pair import compare
from driftwatch.compare.peers_align import renamed, uuids
from driftwatch.compare.peers_roles import Role, shared_by_role, without_identities
from driftwatch.model import Snapshot
from driftwatch.settings import Settings

DEFAULT = "serving"


@cache
def built_in() -> Mapping[str, Role]:
    """Return the roles that come with driftwatch."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table = toml.loads(resources.files("driftwatch").joinpath("roles.toml").read_text(encoding="utf-8"))["roles"]
    return {name: Role(name, **{key: tuple(value) for key, value in lists.items()}) for name, lists in table.items()}


def role_of(settings: Settings, name: str = DEFAULT) -> Role:
    """Return a role with what the site adds to it; one that only the site has begins as ``serving``. Raises UsageFault for an unknown name."""
    ours, lists = built_in(), settings.roles.get(name)
    if name not in ours and lists is None:
        known = ", ".join(sorted({*ours, *settings.roles}))
        raise UsageFault(f"there is no role {name!r}; there are: {known}", str(settings.file or "no config file"), f"write it as [roles.{name}]")
    return ours.get(name, ours[DEFAULT]).with_more(lists or {}, name)


def shared_changes(good: Snapshot, bad: Snapshot, role: Role) -> Sequence[Change]:
    """Return what differs between two hosts of a role in what it shares: devices under the same names, identities left out."""
    return shared_by_role(compare(renamed(good, bad), bad), role, good.host, bad.host)


def are_two_hosts(good: Snapshot, bad: Snapshot) -> bool:
    """Tell whether two snapshots are of two machines: two names, and no GPU in common."""
    is_first_hand = {good.source, bad.source} <= FIRST_HAND
    return is_first_hand and bool(good.host and bad.host) and good.host != bad.host and not uuids(good) & uuids(bad)


def between_hosts(good: Snapshot, bad: Snapshot, role: Role) -> tuple[Snapshot, tuple[Change, ...]]:
    """Return the good side with its GPUs under the other's UUIDs, and what differs without what is each host's own."""
    known = renamed(good, bad)
    return known, without_identities(compare(known, bad), role, good.host, bad.host)
