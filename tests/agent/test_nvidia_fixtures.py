"""What real nvidia-smi, lspci, ibstat and kernels printed (tests/fixtures/nvidia, sources in its SOURCES.md): facts or a named status, never a traceback.

Each file goes through the collector that would have read it on a host; tests/dumps/test_nvidia_fixtures.py reads them as pastes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftwatch.agent.collectors import infiniband, kernel_log, links, mounts, nvml, topology
from driftwatch.agent.probe import Unknown
from driftwatch.model import matches
from tests.agent.recording import recorded, told

TOP = Path(__file__).parents[1] / "fixtures/nvidia"
SYSFS = "sys-class-infiniband"
FILES = sorted(path for path in TOP.rglob("*") if path.is_file() and path.parent.name != "licences" and path.name != "SOURCES.md" and SYSFS not in str(path))
ASKED = {
    "xml": (nvml.collect, "nvidia-smi -q -x"), "query": (nvml.collect, "nvidia-smi -q -x"), "table": (nvml.collect, "nvidia-smi -q -x"),
    "csv": (nvml.collect, "nvidia-smi -q -x"), "topo": (topology.collect, "nvidia-smi topo -m"), "nvlink": (topology.collect_nvlink, "nvidia-smi nvlink -s"),
    "lspci": (links.collect_acs, "lspci -vvv"), "errors": (kernel_log.collect, "dmesg --time-format iso"),
}
WRITTEN = {"gpud__mountinfo.txt": (mounts.collect, "/proc/self/mountinfo")}


def names(path):
    return f"{path.parent.name}/{path.name}"


def text_of(path):
    return path.read_bytes().decode("utf-8", "surrogateescape")


def plausible(facts):
    """Tell of a GPU's figures whether they can be true: what was not told is left out or unknown, and never zero."""
    for path, value in facts.items():
        if path.startswith("gpus/") and isinstance(value, (int, float)) and path.endswith(("memory_total_mib", "power_limit_w", "link/width_max")):
            assert value > 0, path


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name in ASKED], ids=names)
def test_a_collector_makes_facts_or_a_named_status_of_it(path, tmp_path):
    if path.name in WRITTEN:
        collect, where = WRITTEN[path.name]
        host = recorded(tmp_path, {where: text_of(path)})
    else:
        collect, command = ASKED[path.parent.name]
        host = recorded(tmp_path, {}, {command: text_of(path)})
    facts, status, reason = told(collect, host)
    assert status in ("ok", "absent") or reason
    assert all(value.reason for value in facts.values() if isinstance(value, Unknown))
    plausible({path: value for path, value in facts.items() if not isinstance(value, Unknown)})
    json.dumps(facts)


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "xml"], ids=names)
def test_every_gpu_of_an_xml_is_told_by_its_uuid_and_what_it_counts_beyond_is_lost(path, tmp_path):
    facts, status, _ = told(nvml.collect, recorded(tmp_path, {}, {"nvidia-smi -q -x": text_of(path)}))
    gpus = {one.split("/")[1] for one in facts if one.count("/") > 1 and one.startswith("gpus/")}
    assert (status, bool(gpus)) == ("ok", True)
    assert all(gpu.startswith("GPU-") and facts[f"gpus/{gpu}/memory_total_mib"] > 0 and facts[f"gpus/{gpu}/name"] for gpu in gpus)
    assert ("gpus" in facts) is (facts.get("gpus/count", len(gpus)) > len(gpus))


@pytest.mark.parametrize("folder", sorted(TOP.glob(f"ib/{SYSFS}*")), ids=lambda path: path.name)
def test_an_adapter_in_sysfs_is_told_with_its_ports(folder, tmp_path):
    files = {f"/sys/class/infiniband/{path.relative_to(folder)}": path.read_text() for path in folder.rglob("*") if path.is_file()}
    facts, status, _ = told(infiniband.collect, recorded(tmp_path, files))
    assert status == "ok"
    assert facts["infiniband/mlx5_0/ports/1/state"] == "ACTIVE"
    assert isinstance(facts["infiniband/mlx5_0/ports/1/counters/link_downed"], int)
    assert all(matches(path, infiniband.PROBES[0].tells) for path in facts)


def test_the_sources_and_their_licences_travel_with_the_files():
    assert "Apache-2.0" in (TOP / "SOURCES.md").read_text()
    assert {path.name for path in (TOP / "licences").iterdir()} >= {"gpud-Apache-2.0.txt", "gpud-NOTICE.txt", "nvidia_gpu_exporter-MIT.txt", "telegraf-MIT.txt"}
