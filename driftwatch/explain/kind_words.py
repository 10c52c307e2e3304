"""Words that people use for a whole kind of thing, and the kinds of subject and the facts that they mean. A table; it knows no incident."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Kind:
    """The kinds of subject that a word means, the first being the one it goes by, and globs of its facts."""

    subjects: tuple[str, ...]
    globs: tuple[str, ...]


_ROWS = (
    ("driver, nvidia driver, gpu driver, nvidia", "driver", "driver/version driver/module/* driver/on_disk/* driver/library/* cuda/driver"),
    ("kernel, linux kernel, linux", "kernel", "kernel/release kernel/cmdline"),
    ("kernel module, kernel modules, module, modules", "kernel-module driver", "modules/*"),
    ("reboot, boot", "kernel", "kernel/boot_id"),
    ("python, interpreter", "python", "python/version python/executable"),
    ("cuda, cuda runtime, toolkit", "library", "cuda/driver torch/cuda packages/nvidia-cuda-runtime*/version"),
    ("environment, env, variables, environment variables", "env-var", "env/* servers/*/env/*"),
    ("arguments, args, flags, launch arguments, command line", "launch-arg", "servers/*/args/* servers/*/given/* services/*/unit/ExecStart"),
    ("packages, pip", "package", "packages/*/version"),
    ("memory, gpu memory, vram, leak, memory leak", "gpu-memory gpu-process", "gpus/*/memory_total_mib"),
    ("other processes, gpu processes, leftover, leftovers, hog, zombie", "gpu-process gpu-memory", "gpus/*/holders/*"),
    ("gpu, gpus, card, cards, hardware", "gpu", "gpus/count gpus/*/name gpus/*/memory_total_mib gpus/*/pci"),
    ("ecc", "ecc", "gpus/*/ecc/* gpus/*/remapped_rows/*"),
    ("mig", "mig", "gpus/*/mig/*"),
    ("clocks, power, power limit, throttling", "power-clock", "gpus/*/power_limit_w gpus/*/clocks_max/* gpus/*/persistence"),
    ("pcie, pci, link, links", "pcie-link", "pci/* gpus/*/link/generation_max gpus/*/link/width"),
    ("topology, nvlink, p2p", "topology", "topology/* nvlink/*"),
    ("network, nic, infiniband, rdma", "network", "net/* infiniband/*"),
    ("dns, names, hostname, name resolution, etc/hosts", "network", "names/*"),
    ("limits, ulimit, shm", "limit", "limits/* servers/*/limits/* shm/*"),
    ("ram, host memory, swap", "host-memory", "system/memory/total_kib swap/* thp/*"),
    ("disk, disks", "disk", "disks/*"),
    ("mount, mounts, nfs, file system, filesystem", "mount", "mounts/*"),
    ("firmware, bios", "firmware", "firmware/*"),
    ("container, containers, docker, image", "container", "containers/* container_runtime/*"),
    ("service, services, systemd", "service", "services/*"),
    ("fabric manager, fabricmanager", "service", "fabricmanager/*"),
    ("cache, caches", "cache", "caches/*"),
    ("libraries, library", "library", "libraries/* servers/*/libraries/*"),
    ("source, sources, code, checkout, git, commit, edit", "git file", "git/* sources/*/files/*"),
    ("model, weights", "file", "models/*"),
)
KINDS: Mapping[str, Kind] = MappingProxyType(
    {word: Kind(tuple(kinds.split()), tuple(globs.split())) for words, kinds, globs in _ROWS for word in words.split(", ")},
)
