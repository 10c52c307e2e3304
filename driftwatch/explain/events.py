"""What belongs together among the changes that no suspect holds: one pip run, the launch arguments, the environment, one tree."""

from __future__ import annotations

from collections.abc import Iterable

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Event, Suspect
from driftwatch.explain.transactions import bringer
from driftwatch.explain.words import utc_minute
from driftwatch.model import Known

_SERVER_TITLES = {"args": "launch arguments", "given": "launch arguments", "env": "environment", "log": "what the log tells"}
_TITLES = {
    "env": "environment of the probing shell", "driver": "driver", "cuda": "driver", "kernel": "operating system", "os": "operating system",
    "system": "operating system", "python": "serving interpreter", "torch": "packages", "leftovers": "packages", "gpus": "GPUs", "nvml": "GPUs",
    "modules": "kernel modules", "services": "services", "limits": "limits", "cgroup": "limits", "containers": "containers", "container_runtime": "containers",
    "mounts": "mounts and disks", "disks": "mounts and disks", "shm": "mounts and disks", "models": "models", "caches": "caches", "loader": "native libraries",
    "libraries": "native libraries", "native": "native libraries", "objects": "native libraries", "pci": "devices and links", "topology": "devices and links",
    "nvlink": "devices and links", "acs": "devices and links", "iommu": "devices and links", "infiniband": "network", "net": "network", "nccl": "network",
    "firmware": "firmware", "kernel_log": "kernel log", "slurm": "job system", "cpu": "processors", "thp": "processors", "memory": "memory of the host",
}


def events(case: Case, suspects: Iterable[Suspect]) -> tuple[Event, ...]:
    """Return the changes that a reader counts and no suspect rests on, grouped; the largest group first, then by title."""
    held = {fact for suspect in suspects for term in suspect.because for fact in term.facts}
    found: dict[str, list[Change]] = {}
    for change in case.seen:
        if change.path not in held:
            found.setdefault(_title(case, change), []).append(change)
    return tuple(Event(title, tuple(changes)) for title, changes in sorted(found.items(), key=lambda group: (-len(group[1]), group[0])))


def _title(case: Case, change: Change) -> str:
    parts = change.path.split("/")
    if parts[0] == "packages" and len(parts) > 2:
        return _of_package(case, parts[1], parts[2])
    if parts[0] in ("os_packages", "os_packages_other") and len(parts) > 1:
        found = bringer(case, (parts[1],))
        return found.told if found is not None else "packages of the operating system"
    if parts[0] == "servers" and len(parts) > 2:
        return f"{parts[1]}: {next((_SERVER_TITLES[part] for part in parts[2:4] if part in _SERVER_TITLES), 'processes')}"
    if parts[0] in ("sources", "git") and len(parts) > 1:
        return f"{'files' if parts[0] == 'sources' else 'checkout'} of {parts[1]}"
    return _TITLES.get(parts[0], "other facts")


def _of_package(case: Case, name: str, what: str) -> str:
    if what in ("altered", "missing"):
        return "installed files"
    at = case.bad.get(f"packages/{name}/installed_at")
    when = _minute(at.value) if isinstance(at, Known) else ""
    return f"packages installed {when}" if when else "packages"


def _minute(value: object) -> str:
    """Return a time of installation by the minute, from an ISO text or from nanoseconds."""
    if isinstance(value, str) and len(value) >= 16:
        return value[:16].replace("T", " ") + "Z"
    return utc_minute(value)
