"""How GPUs reach each other: what nvidia-smi prints, and what SGLang once measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftwatch.agent.collectors.topology import collect, collect_nvlink, collect_p2p
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.agent.topology_texts import parse_nvlink, parse_p2p, parse_topology
from tests.agent.recording import recorded, told

TEXTS = Path(__file__).parent / "texts" / "links"
MATRIX = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \tNV18\tPXB\t0-55\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t56-111\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \t\t\t\n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_4\n"
)


def text(name: str) -> str:
    return (TEXTS / name).read_text()


def test_rows_and_columns_are_devices_and_network_cards_have_their_own_names():
    found = parse_topology(MATRIX)
    assert found.matrix == {"GPU0": {"GPU1": "NV18", "mlx5_4": "PXB"}, "GPU1": {"GPU0": "NV18", "mlx5_4": "SYS"}, "mlx5_4": {"GPU0": "PXB", "GPU1": "SYS"}}
    assert found.affinity["GPU1"] == {"cpu": "56-111", "numa": "1", "gpu_numa": "N/A"}


@pytest.mark.parametrize(("name", "row", "expected"), [
    ("topo__nvidia-h100-80gb-hbm3__590.48.01.txt", "GPU0", {}),
    ("topo__posted__4xH100_NV6_4NIC__nccl1617.txt", "NIC3", {**dict.fromkeys(("GPU0", "GPU1", "GPU2", "NIC0", "NIC1", "NIC2"), "SYS"), "GPU3": "PIX"}),
    ("topo__posted__1x5090_2NIC__vllm21028_collect_env.txt", "NIC1", {"GPU0": "NODE", "NIC0": "PIX"}),
    ("topo__posted__3xA10G_PHB__vllm14025.txt", "GPU2", {"GPU0": "PHB", "GPU1": "PHB"}),
])
def test_what_people_pasted_reads_like_what_nvidia_smi_printed(name, row, expected):
    assert parse_topology(text(name)).matrix[row] == expected


def test_network_cards_that_head_a_column_themselves_need_no_legend():
    assert parse_topology(text("topo__posted__4xGPU_NV4_mlx5__nccl634.txt")).matrix["mlx5_3"]["mlx5_2"] == "PIX"


@pytest.mark.parametrize("size", range(60, 134, 9))
def test_a_matrix_that_was_cut_is_refused_and_never_smaller(size):
    with pytest.raises(Unreadable):
        parse_topology(MATRIX[:size])


def test_a_driver_that_does_not_answer_leaves_the_matrix_unknown_in_its_own_words(tmp_path):
    said = "Failed to initialize NVML: Driver/library version mismatch\n"
    facts, status, _ = told(collect, recorded(tmp_path, {"/sys/devices/system/node/node0/cpulist": "0-55\n"}, {"nvidia-smi topo -m": (18, said, "")}))
    assert (status, facts["topology/numa/0/cpus"]) == ("ok", "0-55")
    assert facts["topology/matrix"] == Unknown("error", "nvidia-smi topo -m: exit code 18: " + said.strip())


def test_a_command_that_hangs_costs_its_own_fact(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {}, hangs=[["nvidia-smi"]]))
    assert facts["topology/matrix"].status == "timeout"


def test_links_are_counted_by_gpu():
    found = parse_nvlink(text("nvlink__gpud__nvidia-smi.nvlink.status.a100.txt"))
    assert len(found) == 8
    assert set(map(str, found.values())) == {"{'active': 12, 'inactive': 0, 'gb_s': [25.0]}"}


def test_a_link_that_went_down_is_counted():
    said = text("nvlink__nvidia-h100-80gb-hbm3__590.48.01.txt").replace("Link 3: 26.562 GB/s", "Link 3: <inactive>")
    assert next(iter(parse_nvlink(said).values())) == {"active": 17, "inactive": 1, "gb_s": [26.562]}


def test_what_nvidia_smi_will_not_tell_of_a_gpu_is_unknown_and_what_it_has_not_is_left_out():
    assert next(iter(parse_nvlink(text("nvlink__nvidia-h100-mig__590.48.01.txt")).values())).status == "error"
    assert next(iter(parse_nvlink(text("nvlink__nvidia-geforce-rtx-2080-super__610.57.04.txt")).values())) == {"active": 0}
    assert parse_nvlink(text("nvlink__nvidia-l40s__595.80.txt")) == {}


def test_a_host_without_links_says_so(tmp_path):
    assert told(collect_nvlink, recorded(tmp_path, {}, {"nvidia-smi nvlink -s": (127, "", "")}))[1] == "absent"
    without = (0, text("nvlink__nvidia-l40s__595.80.txt"), "")
    assert told(collect_nvlink, recorded(tmp_path, {}, {"nvidia-smi nvlink -s": without}))[1] == "absent"


def test_a_tool_that_prints_nothing_does_not_say_that_there_are_no_links(tmp_path):
    assert told(collect_nvlink, recorded(tmp_path, {}, {"nvidia-smi nvlink -s": (0, "", "")}))[0]["nvlink"].status == "error"


def test_links_that_nobody_recorded_are_unknown(tmp_path):
    assert told(collect_nvlink, recorded(tmp_path, {}))[0]["nvlink"].status == "not_recorded"


SERVER = {
    "/proc/41/stat": "41 (python3) S 1 " + "0 " * 17 + "77 0", "/proc/41/cmdline": "python3\0-m\0sglang.launch_server\0--model-path\0/models/m",
    "/proc/41/environ": "HOME=/home/serve\0CUDA_VISIBLE_DEVICES=0,1",
}
CACHE = "/home/serve/.cache/sglang/gpu_p2p_access_cache_for_0,1.json"


def test_pairs_that_sglang_holds_to_be_cut_off_are_told(tmp_path):
    facts, _, _ = told(collect_p2p, recorded(tmp_path, {**SERVER, CACHE: '{"0->0": true, "0->1": false, "1->0": false, "1->1": true}'}))
    assert facts == {"topology/p2p/" + CACHE.replace("/", "%2F"): {"pairs": 4, "refused": ["0->1", "1->0"]}}


def test_without_a_server_its_cache_is_unknown_and_not_removed(tmp_path):
    facts, status, _ = told(collect_p2p, recorded(tmp_path, {"/proc/uptime": "1.0 1.0\n"}))
    assert (status, facts["topology/p2p"].status) == ("ok", "not_recorded")


@pytest.mark.parametrize("broken", ["", '{"0->1": tr', "[]", '{"0->1": 1}'])
def test_a_cache_that_is_none_is_refused(broken):
    with pytest.raises(Unreadable):
        parse_p2p(broken)
