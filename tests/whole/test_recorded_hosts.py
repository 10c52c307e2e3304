"""Every recorded host of tests/hosts, both sides: no probe ends as an error, none is missing, and where a key says that the culprit shows, a fact differs.

A key (tests/hosts/keys) names public source, culprit, and ``where``: files and commands of the host. What of our facts rests on such a place is told
by PLACES, in general: by the kind of file or command, never by a case.
"""

from __future__ import annotations

import functools
import json
import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from driftwatch.capture.plan import offers, plan_for
from driftwatch.capture.take import Order, take_recorded
from driftwatch.compare.pair import compare
from driftwatch.model import Snapshot
from driftwatch.symptom import of_snapshot
from tests.explain.cases import told

HOSTS = Path(__file__).parents[1] / "hosts"
KEYS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((HOSTS / "keys").glob("*.json"))}
FLEET = "fleet-h100"
GROUPS = sorted({offer.probe.group for offer in offers()} - {""})
POOL = ThreadPoolExecutor(2)
SIDES = [(name, side) for name in KEYS for side in (("good", "bad") if name != FLEET else [f"gpu-f{number}" for number in range(1, 6)])]
OWN_WORDS = {("01-nvml-user-newer-than-kmod", "bad"): {"nvml": "driver/library version mismatch"}}  # what the host's own nvidia-smi answers there

PLACES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"cmd: nvidia-smi -q -x", ("gpus", "nvml", "driver/version", "cuda/driver", "probes/nvml")),
    (r"cmd: (dmesg|journalctl -k)", ("kernel_log",)),
    (r"cmd: modinfo|/proc/driver/nvidia/version|/usr/lib/\S*/lib(nvidia-ml|cuda)\.so", ("driver", "modules", "loader", "cuda/driver", "probes/driver")),
    (r"/var/lib/dpkg/status", ("os_packages", "os_packages_other", "fabricmanager", "kernel/installed")),
    (r"/var/log/(apt|dpkg|dnf)", ("os_changes",)),
    (r"cmd: systemctl|cmd: journalctl -u|/etc/systemd", ("services", "limits", "servers")),
    (r"cmd: nvidia-ctk", ("container_runtime",)),
    (r"/proc/sys/kernel/osrelease", ("kernel",)),
    (r"/proc/modules|/sys/module", ("modules", "modules_other", "driver/module")),
    (r"/proc/\d+/", ("servers", "holders", "tasks", "gpus", "libraries", "cgroup")),
    (r"/proc/meminfo", ("system/memory", "memory")),
    (r"/proc/pressure", ("system/pressure",)),
    (r"cmd: ldconfig|/usr/lib/\S*\.so", ("loader", "libraries", "native")),
    (r"/proc/mounts", ("mounts", "disks")),
    (r"\S*/cache/", ("caches",)),
    (r"cmd: slurmd", ("slurm",)),
    (r"\S*\.log$", ("servers",)),
    (r"\S*-packages/", ("packages", "versions")),
    (r"/sys/bus/pci", ("pci", "gpus")),
)
NOT_SHOWN = {("s1-seed-fraction", "/root/run_baseline.sh"): "a script of no known kind: what it starts shows in the server's command line and in its log"}
KINDS = {
    "driver-user-kernel-mismatch": "driver", "fabricmanager-version": "service driver", "container-toolkit": "container", "ofed-abi": "kernel-module package",
    "kernel-upgrade-no-module": "kernel-module kernel", "gpu-memory-hardware": "ecc gpu", "gpu-memory-stale-process": "gpu-process gpu-memory",
    "shm-size": "limit package library", "ulimit-nofile": "limit", "host-memory-page-cache": "host-memory", "platform-power-state": "power-clock",
    "gpu-power-or-memory-hardware": "ecc gpu power-clock", "mig-mode": "mig", "ld-path-system-library": "library package", "network-filesystem": "mount",
    "on-disk-cache": "cache", "visible-devices": "env-var", "driver-upgrade": "driver",
}


def snapshot(name: str, side: str) -> Snapshot:
    """Return the snapshot of one side of an archive, taken once in a run of the tests; the next one is begun meanwhile."""
    at = SIDES.index((name, side))
    first, *_next = [begun(*one) for one in SIDES[at:at + 2]]
    return first.result()


@functools.cache
def begun(name: str, side: str) -> Future[Snapshot]:
    return POOL.submit(taken, name, side)


def taken(name: str, side: str) -> Snapshot:
    return take_recorded(str(HOSTS / f"{name}.tar.xz" / name / side), Order(plan_for(groups=GROUPS), key=b"k" * 32, key_id="k1"))


def pair(name: str) -> tuple[Snapshot, Snapshot]:
    sides = ("good", "bad") if name != FLEET else ("gpu-f1", KEYS[FLEET]["culprit"]["name"])
    return snapshot(name, sides[0]), snapshot(name, sides[1])


def resting_on(where: str) -> tuple[str, ...]:
    """Return the paths below which facts rest on a place of a host."""
    place = re.sub(r"^gpu-f\d+: ", "", where)
    return next((tops for pattern, tops in PLACES if re.match(pattern, place)), ())


def differing(good: Snapshot, bad: Snapshot, where: str) -> list[str]:
    """Return the facts that rest on a place and are not the same on both sides; a probe that answers on one side only counts."""
    paths = [change.path for change in compare(good, bad)]
    paths += [f"probes/{name}" for name, probe in bad.probes.items() if good.probes[name].status != probe.status]
    return [path for path in paths if any(f"{path}/".startswith(f"{top}/") for top in resting_on(where))]


@pytest.mark.parametrize(("name", "side"), SIDES, ids=map("/".join, SIDES))
def test_every_probe_of_a_recorded_host_answers_and_none_ends_as_an_error(name, side):
    found = snapshot(name, side)
    assert set(found.probes) == {offer.probe.name for offer in offers()}
    expected = OWN_WORDS.get((name, side), {})
    wrong = {probe: result.reason for probe, result in found.probes.items() if result.status in ("error", "died", "lost")}
    assert {probe: words for probe, words in wrong.items() if not words.startswith(expected.get(probe, "\n"))} == {}
    assert set(wrong) == set(expected)


def test_a_host_that_was_unreachable_is_lost_and_says_so():
    assert {(one.status, one.reason[:11]) for one in taken(FLEET, "gpu-f6").probes.values() if one.status != "not_recorded"} == {("lost", "unreachable")}


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if key["where"]])
def test_where_the_key_says_that_the_culprit_shows_a_fact_differs(name):
    good, bad = pair(name)
    silent = [where for where in KEYS[name]["where"] if not differing(good, bad, where)]
    print(name, "not shown:", silent)  # noqa: T201  # tells people which places our facts do not cover
    assert silent == [where for case, where in NOT_SHOWN if case == name]


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if key["expect"].startswith("culprit") and name != FLEET])
def test_something_of_the_culprits_kind_is_suspected(name):
    good, bad = pair(name)
    kind = KEYS[name]["culprit"]["kind"]
    assert {one.subject.kind for one in told(good, bad, of_snapshot(bad)).suspects} & set(KINDS.get(kind, kind).split())


def test_every_archive_has_a_key_that_names_its_public_source():
    assert {path.name.partition(".")[0] for path in HOSTS.glob("*.tar.xz")} == set(KEYS)
    sources: dict[str, Any] = {name: key.get("source_url") for name, key in KEYS.items()}
    assert all(sources.values())
