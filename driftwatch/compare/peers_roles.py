"""What hosts of one role share, and what is each host's own: names, addresses, serials, times. A declared list (roles.toml), never a guess.

Reads no file: a role is handed in. A golden host is compared by :func:`shared_by_role`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.model import Known, matches

_OWN = re.compile(
    rb"(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})|(?P<mac>\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b)"
    rb"|(?P<time>\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)|(?P<ip>\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b)"
)
NEARLY = 0.01  # the share by which nearly equal sizes may differ
_LEAST_NAME = 3  # characters of a host's name that is looked for in texts


@dataclass(frozen=True)
class Role:
    """A role: globs of what its hosts share, of what is each host's own, of readings, and of sizes that are nearly equal.

    ``texts`` are facts whose text may name the host; ``versions`` are facts that are never noise.
    """

    name: str
    shared: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    nearly: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    def is_identity(self, path: str) -> bool:
        """Tell whether a fact is a name, an address, a serial or a time of one host."""
        return bool(self.identity) and matches(path, self.identity)

    def is_own(self, path: str) -> bool:
        """Tell whether peers are not judged by a fact: an identity, or a reading."""
        return self.is_identity(path) or (bool(self.readings) and matches(path, self.readings))

    def is_shared(self, path: str) -> bool:
        """Tell whether hosts of this role share a fact."""
        return bool(self.shared) and matches(path, self.shared) and not self.is_own(path)

    def has_text(self, path: str) -> bool:
        """Tell whether the text of a fact may name the host."""
        return bool(self.texts) and matches(path, self.texts)

    def with_more(self, lists: Mapping[str, tuple[str, ...]], name: str = "") -> Role:
        """Return this role with more of each list, under another name where one is given."""
        kept = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "name"}
        return replace(self, name=name or self.name, **{key: (*mine, *lists.get(key, ())) for key, mine in kept.items()})


def without_identity(value: bytes, host: str | None) -> bytes:
    """Return the JSON of a value with UUIDs, MAC and IP addresses, times and the host's own name in it replaced by what they are."""
    told = _OWN.sub(lambda found: b"(" + str(found.lastgroup).encode() + b")", value)
    name = (host or "").split(".")[0].encode("ascii", "ignore")
    if len(name) >= _LEAST_NAME and name in told:
        told = re.sub(rb"(?<![\w-])" + re.escape(host.encode("ascii", "ignore") if host else name) + rb"(?![\w-])", b"(host)", told)
        told = re.sub(rb"(?<![\w-])" + re.escape(name) + rb"(?![\w-])", b"(host)", told)
    return told


def shared_by_role(changes: Iterable[Change], role: Role, good_host: str | None = None, bad_host: str | None = None) -> tuple[Change, ...]:
    """Return the changes between two hosts that are drift of what their role shares; an open question of a whole probe stays.

    What is each host's own is left out, and so is a value that differs only in names and addresses of the hosts.
    """
    return tuple(
        change for change in changes
        if change.path.startswith("probes/") or (role.is_shared(change.path) and not _is_own_value(change, role, good_host, bad_host))
    )


def without_identities(changes: Iterable[Change], role: Role, good_host: str | None, bad_host: str | None) -> tuple[Change, ...]:
    """Return the changes between two hosts without what is each host's own: its identities, and values that differ in nothing else."""
    return tuple(change for change in changes if not role.is_identity(change.path) and not _is_own_value(change, role, good_host, bad_host))


def are_nearly_equal(one: Any, other: Any) -> bool:
    """Tell whether two sizes differ by no more than equal machines do."""
    if any(isinstance(size, bool) or not isinstance(size, (int, float)) for size in (one, other)):
        return False
    return bool(abs(one - other) <= NEARLY * max(abs(one), abs(other)))


def _is_own_value(change: Change, role: Role, good_host: str | None, bad_host: str | None) -> bool:
    """Tell whether the two values are one but for what is each host's own in them: names in a text, a little of a size."""
    good, bad = change.good, change.bad
    if not isinstance(good, Known) or not isinstance(bad, Known) or None in (good.value, bad.value):
        return False
    if bool(role.nearly) and matches(change.path, role.nearly):
        return are_nearly_equal(good.value, bad.value)
    if not role.has_text(change.path):
        return False
    one, other = (json.dumps(side.value, sort_keys=True).encode() for side in (good, bad))
    return without_identity(one, good_host) == without_identity(other, bad_host)
