"""The text of ``nvidia-smi -q -x``: chosen by tag and not by schema, N/A is no zero, and a text that was cut misses no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftwatch.agent.gpus import Gpu, Process, holder_facts, pci_address, program_name, unattributed
from driftwatch.agent.nvidia_smi import parse_query
from driftwatch.agent.probe import Unknown, Unreadable

TEXTS = Path(__file__).parent / "texts"
HEAD = "<?xml version='1.0'?>\n<nvidia_smi_log><driver_version>580.1</driver_version><cuda_version>13.0</cuda_version><attached_gpus>{}</attached_gpus>"
GPU = "<gpu id='00000000:C1:00.0'><uuid>GPU-{}</uuid>{}</gpu>"


def text_of(name):
    return (TEXTS / f"telegraf__{name}.xml").read_text()


def facts_of(text, position=0):
    return dict(parse_query(text).gpus[position].facts)


def one(inner, key="1"):
    return HEAD.format(1) + GPU.format(key, inner) + "</nvidia_smi_log>"


@pytest.mark.parametrize(("said", "expected"), [
    ("Licensed (Expiry: 2026-3-25 8:12:4 GMT)", "Licensed"), ("Unlicensed (Restricted)", "Unlicensed"), ("N/A", None),
])
def test_a_license_is_told_without_its_end_which_moves_every_day(said, expected):
    status = f"<vgpu_software_licensed_product><license_status>{said}</license_status></vgpu_software_licensed_product>"
    assert facts_of(one(status)).get("license") == expected


@pytest.mark.parametrize(("name", "driver", "cuda", "attached"), [
    ("gtx-1070-ti", None, None, None), ("a10g", "515.105.01", "11.7", 1), ("quadro-p2000-v12", "525.125.06", "12.0", 1),
    ("a100-sxm4-v12", "535.54.03", "12.2", 4), ("rtx-4000-sff-ada-v13", "595.84", "13.2", 1),
])
def test_the_head_tells_driver_cuda_and_how_many_gpus_are_attached(name, driver, cuda, attached):
    query = parse_query(text_of(name))
    assert (query.driver, query.cuda, query.attached, len(query.gpus), query.cut) == (driver, cuda, attached, 1, "")


@pytest.mark.parametrize(("name", "limits", "draw"), [
    ("a10g", (300.0, 300.0, 300.0), 25.58), ("quadro-p2000-v12", (75.0, 75.0, 75.0), 4.61), ("a100-sxm4-v12", (500.0, 500.0, 500.0), 67.03),
    ("rtx-4000-sff-ada-v13", (70.0, 70.0, 70.0), 8.81), ("gtx-1070-ti", (None, None, None), None),
])
def test_power_is_found_under_the_tags_of_every_schema(name, limits, draw):
    facts = facts_of(text_of(name))
    assert tuple(facts.get(f"power_limit{which}_w") for which in ("", "_requested", "_default")) == limits
    assert facts.get("power_draw_w") == draw


@pytest.mark.parametrize(("name", "reasons"), [
    ("a10g", ["gpu_idle"]), ("quadro-p2000-v12", ["gpu_idle"]), ("a100-sxm4-v12", []), ("rtx-4000-sff-ada-v13", ["gpu_idle"]), ("gtx-1070-ti", None),
])
def test_event_reasons_have_one_name_under_both_of_their_tags(name, reasons):
    assert facts_of(text_of(name)).get("event_reasons") == reasons


def test_a_whole_gpu_is_told_by_the_agreed_paths():
    facts = facts_of(text_of("a10g"))
    plain = ("name", "pci", "index", "pstate", "temperature_c", "utilization_percent", "persistence", "compute_mode", "vbios")
    assert {path: facts[path] for path in plain} == {
        "name": "NVIDIA A10G", "pci": "0000:00:1e.0", "index": 0, "pstate": "P8", "temperature_c": 17, "utilization_percent": 0,
        "persistence": "Disabled", "compute_mode": "Default", "vbios": "94.02.75.00.01",
    }
    assert {path: value for path, value in facts.items() if path.startswith(("memory", "link", "remapped", "ecc"))} == {
        "memory_api": "nvidia-smi", "memory_total_mib": 23028, "memory_used_mib": 22, "memory_free_mib": 22569, "memory_reserved_mib": 435,
        "link/generation": 1, "link/generation_max": 4, "link/width": 8, "link/width_max": 16,
        "remapped_rows/corrected": 0, "remapped_rows/uncorrected": 0, "remapped_rows/pending": False, "remapped_rows/failed": False,
        "ecc/current": "Enabled", "ecc/pending": "Enabled", "ecc/volatile_corrected": 0, "ecc/volatile_uncorrected": 0,
        "ecc/aggregate_corrected": 0, "ecc/aggregate_uncorrected": 0,
    }


def test_a_gpu_in_mig_mode_tells_its_mode_and_how_many_devices_it_has():
    facts = facts_of(text_of("a100-sxm4-v12"))
    assert (facts["mig/current"], facts["mig/devices"], facts["memory_used_mib"]) == ("Enabled", 4, 50)
    assert "utilization_percent" not in facts


def test_uncorrected_errors_of_all_kinds_are_summed():
    volatile = ("<sram_correctable>2</sram_correctable><sram_uncorrectable_parity>3</sram_uncorrectable_parity>"
                "<sram_uncorrectable_secded>4</sram_uncorrectable_secded><dram_correctable>10</dram_correctable><dram_uncorrectable>5</dram_uncorrectable>")
    facts = facts_of(one(f"<ecc_errors><volatile>{volatile}</volatile></ecc_errors>"))
    assert (facts["ecc/volatile_corrected"], facts["ecc/volatile_uncorrected"]) == (12, 12)


def test_totals_of_old_drivers_are_taken_as_they_are():
    volatile = "<single_bit><device_memory>1</device_memory><total>7</total></single_bit><double_bit><total>9</total></double_bit>"
    facts = facts_of(one(f"<ecc_errors><volatile>{volatile}</volatile></ecc_errors>"))
    assert (facts["ecc/volatile_corrected"], facts["ecc/volatile_uncorrected"]) == (7, 9)


@pytest.mark.parametrize("said", ["N/A", "[N/A]", "Not Supported", "Requested functionality has been deprecated", ""])
def test_a_figure_that_does_not_apply_is_left_out_and_never_zero(said):
    assert "memory_used_mib" not in facts_of(one(f"<fb_memory_usage><used>{said}</used></fb_memory_usage>"))


@pytest.mark.parametrize(("said", "status"), [
    ("ERR!", "error"), ("Unknown Error", "error"), ("GPU is lost", "error"), ("Insufficient Permissions", "denied"), ("many", "error"),
])
def test_a_figure_that_failed_is_unknown(said, status):
    assert facts_of(one(f"<temperature><gpu_temp>{said}</gpu_temp></temperature>"))["temperature_c"].status == status


@pytest.mark.parametrize("share", [0.15, 0.4, 0.6, 0.9])
def test_a_text_cut_anywhere_keeps_its_whole_gpus_and_says_that_it_was_cut(share):
    inner = "<processes></processes>" * 40
    whole = HEAD.format(8) + "".join(GPU.format(number, inner) for number in range(8)) + "</nvidia_smi_log>"
    query = parse_query(whole[: int(len(whole) * share)])
    assert query.attached == 8
    assert [gpu.key for gpu in query.gpus] == [f"GPU-{number}" for number in range(len(query.gpus))]
    assert query.cut.startswith(f"nvidia-smi -q -x: truncated: it ends inside GPU {len(query.gpus) + 1} of 8")


def test_a_malformed_gpu_leaves_those_before_it():
    query = parse_query(HEAD.format(2) + GPU.format(1, "") + "<gpu><uuid>GPU-2</pci></gpu></nvidia_smi_log>")
    assert ([gpu.key for gpu in query.gpus], "malformed" in query.cut) == (["GPU-1"], True)


def test_lines_around_the_text_are_kept():
    text = "WARNING: infoROM is corrupted at gpu 0000:C1:00.0\n" + one("") + "\nReboot the system\n"
    assert parse_query(text).said == ("WARNING: infoROM is corrupted at gpu 0000:C1:00.0", "Reboot the system")


def test_a_text_that_is_no_such_log_is_refused():
    with pytest.raises(Unreadable, match="no nvidia_smi_log"):
        parse_query("NVIDIA-SMI has failed")


def test_process_names_that_no_xml_may_hold_cost_no_fact():
    inner = "<processes><process_info><pid>7</pid><process_name>a&b \x1b[31m</process_name><used_memory>5 MiB</used_memory></process_info></processes>"
    assert parse_query(one(inner)).gpus[0].processes == (Process(7, 5, "a&b ?[31m"),)


def test_processes_of_both_kinds_are_told_with_blanks_and_folders_in_their_names():
    processes = parse_query(text_of("rtx-4000-sff-ada-v13")).gpus[0].processes
    assert Process(34626, 183, "chromium") in processes
    assert Process(4937, 160, "python") in processes


@pytest.mark.parametrize(("inner", "processes"), [
    ("<processes></processes>", ()), ("<processes>N/A</processes>", None),
    ("<processes><process_info><pid>7</pid><process_name>x</process_name><used_memory>N/A</used_memory></process_info></processes>", (Process(7, None, "x"),)),
])
def test_no_process_no_list_and_no_size_are_three_things(inner, processes):
    assert parse_query(one(inner)).gpus[0].processes == processes


def test_a_driver_that_prints_no_processes_leaves_them_unknown():
    assert parse_query(text_of("gtx-1070-ti")).gpus[0].processes.status == "not_recorded"


def test_a_gpu_without_a_uuid_is_known_by_its_place():
    assert parse_query(HEAD.format(1) + "<gpu id='00000000:C1:00.0'></gpu></nvidia_smi_log>").gpus[0].key == "index-0"


@pytest.mark.parametrize(("text", "address"), [("00000000:C1:00.0", "0000:c1:00.0"), ("0000:c1:00.0", "0000:c1:00.0"), ("0000000F:01:00.0", "000f:01:00.0"),
                                               ("00010000:01:00.0", "00010000:01:00.0")])
def test_an_address_is_written_as_the_kernel_writes_it(text, address):
    assert pci_address(text) == address


@pytest.mark.parametrize(("text", "name"), [
    ("/opt/microsoft/msedge/msedge --type=gpu-process --token=x", "msedge"), ("sglang::scheduler_TP0", "sglang::scheduler_TP0"), ("[Not Found]", ""), ("-", ""),
    ("python3", "python3"), ("/usr/bin/my tool", "my tool"),
])
def test_a_programs_name_holds_no_folder_and_no_option(text, name):
    assert program_name(text) == name


def gpu(used_mib, *processes):
    return Gpu("GPU-1", None, (), used_mib, tuple(processes))


def test_holders_of_one_name_are_told_together_and_the_rest_apart():
    told = dict(holder_facts(gpu(1000, Process(9, 300, "worker"), Process(8, 200, "worker"), Process(7, 100, "a/b"))))
    assert told == {"holders/worker": {"count": 2, "used_mib": 500, "pids": [8, 9]}, "holders/a%2Fb": {"count": 1, "used_mib": 100, "pids": [7]},
                    "unattributed_mib": 400}


def test_a_size_that_is_not_told_makes_the_sum_and_the_rest_unknown():
    told = dict(holder_facts(gpu(1000, Process(9, 300, "worker"), Process(8, None, "worker"))))
    assert told["holders/worker"] == {"count": 2, "used_mib": None, "pids": [8, 9]}
    assert told["unattributed_mib"] == Unknown("not_recorded", "the driver does not tell the size of 1 of 2 processes")


def test_memory_that_nobody_holds_on_a_host_is_a_finding():
    assert dict(holder_facts(gpu(12701))) == {"unattributed_mib": 12701}


def test_inside_a_container_used_memory_without_a_process_is_no_finding_but_unknown():
    told = dict(holder_facts(gpu(12701), is_contained=True))
    assert {path: value.status for path, value in told.items()} == {"holders": "denied", "unattributed_mib": "denied"}
    assert "ask on the host" in told["holders"].reason


def test_inside_a_container_an_idle_gpu_is_known_to_be_idle():
    assert dict(holder_facts(gpu(4), is_contained=True)) == {"unattributed_mib": 4}


def test_a_gpu_that_tells_no_use_of_memory_tells_no_rest_either():
    assert unattributed(None, ()) is None
