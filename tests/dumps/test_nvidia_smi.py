import re
from pathlib import Path

from driftwatch.dumps.nvidia_smi import FORMAT
from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown
from tests.dumps.reading import facts, is_unknown, parsed, stretches

TEXTS = Path(__file__).parent / "texts"
XML = Path(__file__).parent.parent / "agent" / "texts" / "telegraf__a10g.xml"
MOVING = re.compile(r"power_draw|clocks/|utilization|temperature|memory_(used|free)|unattributed|event_reasons|holders")
UUID = "GPU-00000000-0000-0000-0000-000000000000"
ROW = """+-------------------------------+----------------------+----------------------+
|   1  Tesla V100-PCIE...  On   | 00008ED0:00:00.0 Off |                    0 |
| N/A   29C    P0   ERR! / 250W |    593MiB / 16160MiB |      0%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
"""
KMD = """+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.03              KMD Version: 610.43.03     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA GeForce RTX 3090        Off |   00000000:04:00.0  On |                  N/A |
| 37%   45C    P8             16W /  250W |   21865MiB /  24576MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  NVID"""


def read(name):
    return facts(FORMAT, (TEXTS / name).read_text())


def test_table_query_and_csv_of_one_moment_agree():
    query, csv = read("query__h100.txt"), read("csv__h100.csv")
    table = {path.replace("index-0", UUID): value for path, value in read("table__h100.txt").items()}
    apart = {path: (value, query.get(path)) for one in (csv, table) for path, value in one.items() if query.get(path) != value and not MOVING.search(path)}
    assert apart == {}


def test_the_processes_of_the_table_hold_the_memory():
    table = read("table__h100.txt")
    assert table["gpus/index-0/holders/memhog"] == {"count": 2, "used_mib": 4108, "pids": [11327, 11328]}
    assert table["gpus/index-0/unattributed_mib"] == 19818 - 4108 - 15690


def test_a_csv_of_processes_belongs_to_the_gpu_that_it_names():
    assert read("apps__h100.csv")[f"gpus/{UUID}/holders/gpu_burn"]["used_mib"] == 15690


def test_mig_devices_are_counted_in_the_table():
    found = read("table__h100-mig.txt")
    assert (found["gpus/index-0/mig/current"], found["gpus/index-0/mig/devices"]) == ("Enabled", 4)


def test_a_query_that_ends_inside_a_gpu_tells_what_stood_whole_and_says_so():
    (part,) = parsed(FORMAT, (TEXTS / "query__cut__gpud.txt").read_text())
    assert part.notes == ("nvidia-smi -q: the text ends inside GPU 1 of 8",)
    assert part.facts["gpus/count"] == 8
    assert not any(path.endswith(("/event_reasons", "/memory_total_mib")) for path in part.facts)
    assert is_unknown(next(value for path, value in part.facts.items() if path.endswith("/holders")), "ends before")


def test_a_remark_behind_the_driver_version_is_no_part_of_it():
    found = read("query__2080__610.txt")
    assert (found["driver/version"], found["cuda/driver"]) == ("610.57.04", "13.3")


def test_the_power_limit_is_found_below_its_new_heading():
    found = read("query__2080__610.txt")
    assert next(value for path, value in found.items() if path.endswith("/power_limit_w")) == 250.0


def test_an_err_in_a_cell_is_unknown_and_the_row_stands():
    found = facts(FORMAT, ROW)
    assert is_unknown(found["gpus/index-1/power_draw_w"], "ERR!")
    assert (found["gpus/index-1/power_limit_w"], found["gpus/index-1/memory_used_mib"]) == (250.0, 593)
    assert "gpus/count" not in found


def test_the_banner_of_610_names_driver_and_cuda():
    found = facts(FORMAT, KMD)
    assert (found["driver/version"], found["cuda/driver"]) == ("610.43.03", "13.3")


def test_a_row_that_was_cut_leaves_its_gpu_unknown():
    assert is_unknown(facts(FORMAT, KMD)["gpus/index-1"], "cut")


def test_memory_in_use_without_any_process_is_nobodys():
    lines = [line for line in (TEXTS / "table__h100.txt").read_text().split("\n") if "memhog" not in line and "gpu_burn" not in line]
    assert is_unknown(facts(FORMAT, "\n".join(lines))["gpus/index-0/holders"], "container")


def test_the_xml_tells_what_the_collector_tells():
    found = facts(FORMAT, XML.read_text())
    assert found["driver/version"]
    assert any(path.endswith("/memory_total_mib") for path in found)


def test_a_list_tells_uuid_index_and_mig_devices():
    text = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-0000-0000-0000-000000000000)\n"
    assert facts(FORMAT, text) == {
        f"gpus/{UUID}/index": 0, f"gpus/{UUID}/name": "NVIDIA H100 80GB HBM3", f"gpus/{UUID}/mig/devices": 1, f"gpus/{UUID}/mig/current": "Enabled"}


def test_links_below_a_gpu_are_counted():
    text = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
    assert facts(FORMAT, text)[f"nvlink/{UUID}/inactive"] == 1


def test_a_command_names_the_fields_of_rows_without_header():
    text = "$ nvidia-smi --query-gpu=index,name,memory.used --format=csv,noheader\n0, NVIDIA L4, 12 MiB\n1, NVIDIA L4, 7 MiB\n"
    assert facts(FORMAT, text)["gpus/index-1/memory_used_mib"] == 7


def test_a_csv_row_that_was_cut_is_passed_over():
    text = "index, name, memory.used [MiB], memory.total [MiB]\n0, NVIDIA L4, 12 MiB, 23034 MiB\n1, NVI"
    assert "gpus/index-1/name" not in facts(FORMAT, text)


def test_driver_and_library_of_two_versions_leave_all_gpus_unknown():
    found = facts(FORMAT, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n")
    assert is_unknown(found["gpus"], "mismatch")
    assert found["nvml/version"] == "570.124"


def test_a_gpu_without_handle_is_unknown_by_its_address():
    assert is_unknown(facts(FORMAT, "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error")["gpus/0000:cb:00.0"])


def test_a_markdown_table_is_no_table_of_gpus():
    assert stretches(FORMAT, "| model | tok/s |\n|---|---|\n| llama | 12 |\n")[0] == []


def test_hostile_rows_give_no_number():
    text = KMD.replace("21865MiB", "9" * 5000 + "MiB").replace("45C", "\x9b45C")
    assert "gpus/index-0/memory_used_mib" not in facts(FORMAT, text)


def test_a_table_of_windows_names_the_kind_of_driver_where_linux_names_persistence():
    text = """+-----------------------------------------------------------------------------+
| NVIDIA-SMI 369.30                 Driver Version: 369.30                    |
|===============================+======================+======================|
|   0  GeForce 840M       WDDM  | 0000:03:00.0     Off |                  N/A |
| N/A   37C    P8    N/A /  N/A |     52MiB /  2048MiB |      0%      Default |
"""
    found = facts(FORMAT, text)
    assert [found[f"gpus/index-0/{key}"] for key in ("name", "pci", "memory_total_mib")] == ["GeForce 840M", "0000:03:00.0", 2048]
    assert "gpus/index-0/persistence" not in found


def test_a_banner_without_its_box_tells_the_driver():
    assert facts(FORMAT, "same driver:\n\nNVIDIA-SMI 550.127.05             Driver Version: 550.127.05     CUDA Version: 12.4\n") == {
        "driver/version": "550.127.05", "cuda/driver": "12.4"}


def test_a_banner_without_its_box_that_was_cut_tells_no_piece_of_a_version():
    assert "cuda/driver" not in FORMAT.parse("NVIDIA-SMI 550.127.05             Driver Version: 550.127.05     CUDA Version: 12").facts


def test_the_part_of_mig_devices_alone_tells_that_mig_is_on_and_no_gpu_of_its_own():
    text = """+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
|  1    3   0   0  |  14366MiB / 19968MiB | 28      0 |  2   0    1    0    0 |
|                  |      4MiB / 32767MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
|  1    5   0   1  |   9826MiB / 19968MiB | 28      0 |  2   0    1    0    0 |
"""
    assert facts(FORMAT, text) == {"gpus/index-1/mig/current": "Enabled"}


def test_a_document_that_was_cut_in_a_gpu_tells_what_stood_whole_before():
    document = """<nvidia_smi_log>
\t<driver_version>531.41</driver_version>
\t<attached_gpus>1</attached_gpus>
\t<gpu id="00000000:01:00.0">
\t\t<product_name>NVIDIA L4</product_name>
\t\t<uuid>GPU-00000001-a861-27a8-b8b8-e9883bb7682d</uuid>
\t\t<fb_memory_usage>
\t\t\t<total>23034 MiB</total>
\t\t\t<used>1"""
    found = {path.rpartition("/")[2]: value for path, value in facts(FORMAT, document).items() if path.startswith("gpus/GPU-")}
    assert found == {"pci": "0000:01:00.0", "index": 0, "name": "NVIDIA L4"}


def test_a_listed_gpu_needs_no_last_bracket_where_its_uuid_is_whole():
    uuid = "GPU-00000001-a861-27a8-b8b8-e9883bb7682d"
    assert f"gpus/{uuid}/name" in facts(FORMAT, f"GPU 0: NVIDIA L4 (UUID: {uuid}\n")
    assert stretches(FORMAT, f"GPU 0: NVIDIA L4 (UUID: {uuid[:-2]}\n")[0] == []


def test_a_table_of_processes_that_was_cut_leaves_open_who_else_holds_memory():
    table = """+-----------------------------------------------------------------------------+
|   0  GeForce GTX 108...  Off  | 00000000:01:00.0  On |                  N/A |
| 57%   68C    P2    65W / 280W |  10524MiB / 11169MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  GeForce GTX 108...  Off  | 00000000:02:00.0 Off |                  N/A |
| 30%   59C    P2    60W / 280W |   8904MiB / 11172MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
| Processes:                                                       GPU Memory |
|=============================================================================|
|    0      1122      G   /usr/lib/xorg/Xorg                           168MiB |
|    0      3399      C   python                                     10310MiB |
|    1      3399      C   python                                      8000MiB |
"""
    cut = facts(FORMAT, table)
    assert cut["gpus/index-0/unattributed_mib"] == 46
    assert is_unknown(cut["gpus/index-1/unattributed_mib"], "cut")
    assert facts(FORMAT, table + "+" + "-" * 77 + "+\n")["gpus/index-1/unattributed_mib"] == 904


def test_a_list_that_was_cut_does_not_count_the_devices_of_its_last_gpu():
    gpu = "GPU 0: NVIDIA H100 PCIe (UUID: GPU-00000001-a861-27a8-b8b8-e9883bb7682d)\n  MIG 1g.10gb     Device  0: (UUID: MIG-00000001)\n  MIG 1g"
    top = "gpus/GPU-00000001-a861-27a8-b8b8-e9883bb7682d"
    told = read_dump(gpu, "paste")
    assert isinstance(told.get(f"{top}/mig/devices"), Unknown)
    assert told.get(f"{top}/name") == Known("NVIDIA H100 PCIe")


def test_a_piece_from_within_one_gpu_tells_its_whole_sections():
    piece = """        Pending                           : N/A
    Serial Number                         : 1
    GPU UUID                              : GPU-00000001-a861-27a8-b8b8-e9883bb7682d
    VBIOS Version                         : 92.00.45.00.05
    GSP Firmware Version                  : 535.104.05
    PCI
        Bus                               : 0x0A
        Bus Id                            : 00000000:0A:00.0
    Fan Speed                             : N/A
    FB Memory Usage
        Total                             : 819"""
    found = read_dump(f"```\n{piece}", "paste").facts
    top = "gpus/GPU-00000001-a861-27a8-b8b8-e9883bb7682d"
    assert (found[f"{top}/vbios"], found["firmware/gsp"], found[f"{top}/pci"]) == ("92.00.45.00.05", "535.104.05", "0000:0a:00.0")
    assert f"{top}/memory_total_mib" not in found


def test_a_piece_that_names_no_gpu_tells_nothing():
    assert stretches(FORMAT, "    VBIOS Version                         : 92.00.45.00.05\n    MultiGPU Board                        : No\n")[0] == []


def test_rows_that_were_picked_from_several_gpus_are_no_piece_of_one():
    rows = "".join(f"    GPU UUID                              : GPU-0000000{at}-a861\n    VBIOS Version                         : 92.0{at}\n" for at in (1, 2))
    assert stretches(FORMAT, rows)[0] == []
