"""Questions that neither side answers, for the same reason: they hide nothing that changed, but they are not read as equal either."""

from __future__ import annotations

from dataclasses import dataclass

from driftwatch.model import ANSWERED, Snapshot, Unknown, answer


@dataclass(frozen=True)
class Gap:
    """A question that is open on both sides with one status. A path ``probes/NAME`` stands for the whole probe."""

    path: str
    status: str
    reason: str


def standing_gaps(good: Snapshot, bad: Snapshot) -> tuple[Gap, ...]:
    """Return what is unknown on both sides with the same status: whole probes first, then single facts that no other gap covers."""
    probes = [
        Gap(f"probes/{name}", result.status, bad.probes[name].reason or result.reason)
        for name, result in sorted(good.probes.items())
        if result.status not in ANSWERED and name in bad.probes and bad.probes[name].status == result.status
    ]
    return (*probes, *_facts(good, bad))


def _facts(good: Snapshot, bad: Snapshot) -> list[Gap]:
    found: list[Gap] = []
    last = "\0"
    for path in sorted(path for path in good.unknown_paths if path in bad.facts):
        one, other = answer(good.facts[path]), answer(bad.facts[path])
        if isinstance(one, Unknown) and isinstance(other, Unknown) and one.status == other.status and not path.startswith(last + "/"):
            found.append(Gap(path, other.status, other.reason or one.reason))
            last = path
    return found
