"""Snapshots of what lies below the Python packages, made by hand, with probes that own the facts as the real collectors do."""

from __future__ import annotations

from typing import Any

from driftwatch.model import ProbeResult, Snapshot, Symptom
from tests.explain.cases import TELLS, VOLATILE

BELOW = {
    "system": ("os/*", "kernel/release", "kernel/cmdline", "kernel/boot_id", "kernel/booted_at", "system/*"),
    "kernels": ("kernel/installed/*", "kernel/images"),
    "os_packages": ("os_packages/*", "os_packages_other/*", "fabricmanager/*"),
    "os_changes": ("os_changes/*",),
    "modules": ("modules/*",),
    "services": ("services/*",),
    "loader_order": ("loader/*",),
    "libraries": ("libraries", "libraries/*"),
    "links": ("pci/*", "pci_count/*", "iommu/*", "acs/*"),
    "topology": ("topology/*", "nvlink/*"),
    "infiniband": ("infiniband/*",),
    "network": ("net/*", "nccl/*"),
    "mounts": ("mounts/*",),
    "disks": ("mounts/*/answers", "disks/*", "shm/*"),
    "holders": ("holders", "holders/*"),
    "kernel_log": ("kernel_log", "kernel_log/*"),
    "tasks": ("tasks/*",),
    "cgroups": ("cgroup/*",),
    "limits": ("limits/*",),
    "memory": ("memory/*",),
    "cpu": ("cpu/*",),
    "models": ("models/*",),
    "firmware": ("firmware/*",),
    "containers": ("containers/*", "container_runtime/*", "slurm/*"),
}
MOVING = (
    *VOLATILE,
    "os_changes/*",
    "system/memory/*",
    "kernel/boot_id",
    "kernel/booted_at",
    "gpus/*/clocks/*",
    "gpus/*/power_draw_w",
    "gpus/*/utilization_percent",
    "gpus/*/event_reasons",
    "mounts/*/holds",
    "infiniband/*/counters/*",
    "disks/*/free_bytes",
    "disks/*/inodes_free",
)
GPUS = ("GPU-a", "GPU-b")
ADDRESSES = ("0000:9c:00.0", "0000:41:00.0")


def host(facts: dict[str, Any] | None = None, **probes: ProbeResult) -> Snapshot:
    """Return a snapshot with these facts, None left out; every probe answered but those given."""
    told = {path: value for path, value in (facts or {}).items() if value is not None}
    answered = {name: ProbeResult("ok", tells=tells) for name, tells in {**TELLS, **BELOW}.items()}
    return Snapshot("gpu-a", "2026-03-02T10:00:00Z", probes={**answered, **probes}, volatile=MOVING, facts=told)


def cards(**of_each: Any) -> dict[str, Any]:
    """Return the facts of two GPUs; a value that is a pair gives one to each. ``__`` stands for a slash."""
    facts: dict[str, Any] = {"gpus/count": len(GPUS)}
    for position, (gpu, address) in enumerate(zip(GPUS, ADDRESSES, strict=True)):
        facts[f"gpus/{gpu}/pci"] = address
        for name, value in of_each.items():
            facts[f"gpus/{gpu}/{name.replace('__', '/')}"] = value[position] if isinstance(value, tuple) else value
    return facts


def symptom(klass: str, text: str | None = None) -> Symptom:
    """Return a symptom of a class, with its decisive line."""
    return Symptom(klass, text)
