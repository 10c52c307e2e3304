"""Cards as the tools of other makers print them, and as programs that use them name them: by index, and nothing that is no name or no card."""

import pytest

from driftwatch.dumps import amd_tools, ggml_devices, nccl_tests, npu_smi
from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown
from tests.dumps.reading import facts

NPU_HEAD = """+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.0                   Version: 25.2.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
"""
ONE_CHIP = NPU_HEAD + """| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 3     910B4               | OK            | 85.1        41                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          2824 / 32768         |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 3       0                 | 2914          | VLLM::EngineCore         | 56580                   |
+===========================+===============+====================================================+
"""
TWO_CHIPS = NPU_HEAD + """| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 1     Ascend910           | OK            | 165.1       36                0    / 0             |
| 0     2                   | 0000:9F:00.0  | 0           0    / 0          3100 / 65536         |
+------------------------------------------------------------------------------------------------+
| 1     Ascend910           | OK            | -           37                0    / 0             |
| 1     3                   | 0000:9E:00.0  | 0           0    / 0          2890 / 65536         |
+===========================+===============+====================================================+
"""
NO_HBM = """| NPU     Name              | Health        | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device            | Bus-Id        | AICore(%)    Memory-Usage(MB)                        |
+===========================+===============+======================================================+
| 0       310P3             | OK            | NA           41                0     / 0             |
| 0       0                 | 0000:01:00.0  | 0            1852 / 21527                            |
+===========================+===============+======================================================+
"""
AGENTS = """*******
Agent 1
*******
  Name:                    AMD EPYC 7282 16-Core Processor
  Marketing Name:          AMD EPYC 7282 16-Core Processor
  Device Type:             CPU
*******
Agent 2
*******
  Name:                    gfx1100
  Marketing Name:          Radeon RX 7900 XTX
  Device Type:             GPU
*******
Agent 3
*******
  Name:                    gfx906
  Marketing Name:
  Device Type:             GPU
*******
Agent 4
*******
  Name:                    gfx1030
  Marketing Name:          Radeon RX 6800
  Device Type:             GPU
*** Done ***
"""
STATIC = """GPU: 1
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        VENDOR_ID: 0x1002
    BUS:
        BDF: 0000:05:00.0
    IFWI:
        NAME: AMD MI300
        VERSION: 00154951
    DRIVER:
        NAME: amdgpu
        VERSION: 6.10.5
        OS_KERNEL_VERSION: 5.15.0-164-generic
    BOARD:
        PRODUCT_NAME: AMD Instinct MI300 OAM
    VRAM:
        TYPE: HBM
        SIZE: 196592 MB
"""
CONCISE = """================ Concise Info ================
Device  [Model : Revision]    Temp    Power
0       [0x471e : 0xc8]       28.0°C  79.0W
        0x744c
"""
RANK = "#  Rank  {} Group  0 Pid  94170 on      {} device  {} [0x1b] {}\n"


def test_ascend_cards_are_read_with_their_memory_and_the_tools_own_version_is_no_drivers():
    assert facts(npu_smi.FORMAT, ONE_CHIP) == {
        "gpus/index-3/name": "910B4", "gpus/index-3/index": 3, "gpus/index-3/pci": "0000:c1:00.0", "gpus/index-3/memory_total_mib": 32768,
        "gpus/index-3/memory_used_mib": 2824}


def test_two_chips_of_one_ascend_card_go_by_the_number_that_the_runtime_counts_by():
    found = facts(npu_smi.FORMAT, TWO_CHIPS)
    assert [found[f"gpus/index-{index}/pci"] for index in (2, 3)] == ["0000:9f:00.0", "0000:9e:00.0"]
    assert "gpus/index-1/name" not in found


def test_memory_that_is_no_hbm_is_not_told():
    assert facts(npu_smi.FORMAT, NO_HBM) == {"gpus/index-0/name": "310P3", "gpus/index-0/index": 0, "gpus/index-0/pci": "0000:01:00.0"}


def test_a_card_whose_second_row_was_cut_is_not_told():
    assert "gpus/index-3/name" not in facts(npu_smi.FORMAT, "\n".join(TWO_CHIPS.split("\n")[:10]))


def test_the_table_of_ascend_cards_is_read_below_its_command_too():
    told = read_dump(f"root@npu-7:~# npu-smi info\n{ONE_CHIP}", "paste").facts
    assert told["gpus/index-3/name"] == "910B4"
    assert not any(path.startswith("transcript/") for path in told)


def test_of_rocminfo_s_agents_the_gpus_are_counted_and_named_for_people():
    assert facts(amd_tools.FORMAT, AGENTS) == {"gpus/index-0/name": "Radeon RX 7900 XTX", "gpus/index-2/name": "Radeon RX 6800"}


def test_each_section_of_amd_smi_has_its_own_name_and_version():
    assert facts(amd_tools.FORMAT, STATIC) == {
        "gpus/index-1/name": "AMD Instinct MI300X", "gpus/index-1/pci": "0000:05:00.0", "gpus/index-1/memory_total_mib": 196592,
        "driver/version": "6.10.5", "kernel/release": "5.15.0-164-generic"}


def test_a_driver_s_version_that_was_cut_is_unknown():
    assert is_unknown(read_dump(STATIC[:STATIC.index("6.10.5") + 3], "paste").facts["driver/version"])


def test_the_title_of_amd_smi_tells_the_driver_and_rocm():
    line = "| AMD-SMI 26.0.0+37d158ab      amdgpu version: 6.14.14  ROCm version: 7.0.0    |\n"
    assert facts(amd_tools.FORMAT, line) == {"driver/version": "6.14.14", "rocm/version": "7.0.0"}


def test_rocm_smi_s_series_is_a_name_and_an_id_of_a_device_is_none():
    rows = "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\nGPU[0]\t\t: Card Model: \t\t0x74a1\nGPU[1]\t\t: Card Series: \t\t0x74a1\n"
    assert facts(amd_tools.FORMAT, rows) == {"gpus/index-0/name": "AMD Instinct MI300X"}
    assert facts(amd_tools.FORMAT, CONCISE) == {}


def test_a_label_that_begins_like_a_card_of_amd_smi_keeps_the_lines_below_it():
    assert facts(amd_tools.FORMAT, "GPU: 4\n    VERSION: 1.2\n    name: x\n") == {}


@pytest.mark.parametrize(("line", "told"), [
    ("  Device 0: NVIDIA GeForce RTX 4070, compute capability 8.9, VMM: yes", {"name": "NVIDIA GeForce RTX 4070", "compute_capability": "8.9"}),
    ("load:   Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32", {"name": "AMD Radeon RX 7900 XTX"}),
])
def test_a_card_that_ggml_found_is_read(line, told):
    assert facts(ggml_devices.FORMAT, line + "\n") == {f"gpus/index-0/{key}": value for key, value in told.items()}


def test_the_cards_of_nccl_tests_are_read_by_their_number():
    text = RANK.format(0, "gpu-7", 0, "NVIDIA H100 80GB HBM3") + RANK.format(1, "gpu-7", 1, "NVIDIA H100 80GB HBM3")
    assert facts(nccl_tests.FORMAT, text) == dict.fromkeys(("gpus/index-0/name", "gpus/index-1/name"), "NVIDIA H100 80GB HBM3")


def test_a_card_s_name_that_was_cut_in_the_row_of_a_rank_is_unknown():
    assert is_unknown(read_dump(RANK.format(0, "gpu-7", 0, "NVIDIA H100 80G").rstrip(), "paste").facts["gpus/index-0/name"])


def test_of_ranks_on_several_hosts_no_card_is_told():
    assert facts(nccl_tests.FORMAT, RANK.format(0, "gpu-7", 0, "NVIDIA H100") + RANK.format(1, "gpu-8", 0, "NVIDIA H200")) == {}
