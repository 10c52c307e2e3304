from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.model import ProbeResult
from tests.explain.below import GPUS, cards, host, symptom
from tests.explain.cases import places, told

XID = {"kernel_log/xid": {"count": 1, "lines": ["NVRM: Xid"]}}


def errors(uncorrected=(11, 0), corrected=0, **more):
    return host({**cards(ecc__aggregate_uncorrected=uncorrected, ecc__aggregate_corrected=corrected), **more})


def test_a_counter_that_grew_on_one_gpu_names_it_by_its_address():
    one = told(errors(), errors((12, 0)), symptom("hang")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.good, one.bad) == ("ecc", "GPU 0000:9c:00.0 memory errors", "11", "12")
    assert "the one beside it has none" in [term.says for term in one.because]


def test_equal_counters_and_a_silent_log_rule_the_devices_out():
    assert places(told(errors(), errors(), symptom("hang")), "memory errors of the GPUs") == ["ruled_out"]


def test_counters_that_were_not_read_rule_nothing_out():
    bad = host(None, nvml=ProbeResult("timeout", tells=("gpus", "gpus/*")))
    assert places(told(errors(), bad, symptom("hang")), "memory errors of the GPUs") == []


def test_a_few_corrected_errors_are_weak():
    assert told(errors(corrected=0), errors(corrected=(3, 0)), symptom("runtime-crash")).suspects[0].strength == "weak"


def test_a_fault_that_programs_make_weighs_less_than_one_of_the_device():
    bad = {number: errors(**XID, **{f"kernel_log/xid/0000:9c:00.0/{number}": 1}) for number in ("79", "31")}
    device, program = (told(errors(), bad[number], symptom("runtime-crash")).suspects[0] for number in ("79", "31"))
    assert {device.subject.name, program.subject.name} == {"GPU 0000:9c:00.0"}
    assert (device.strength, program.confidence < device.confidence - 0.2) == ("strong", True)


def test_errors_of_a_gpu_that_nobody_uses_weigh_less():
    held = {"gpus/GPU-b/holders/sglang::scheduler": {"count": 1, "used_mib": 900, "pids": [7]}}
    used, unused = (told(errors(**more), errors((12, 0), **more), symptom("hang")).suspects[0] for more in ({}, held))
    assert unused.confidence < used.confidence


def test_a_gpu_that_fell_off_the_bus_is_one_subject_with_its_fault():
    good = host({**cards(), "driver/module/version": "570.1", "pci_count/gpu": 2})
    left = {path: value for path, value in cards().items() if "GPU-a" not in path}
    bad = host({**left, **XID, "gpus/count": 1, "driver/module/version": "570.1", "pci_count/gpu": 1, "kernel_log/xid/0000:9c:00.0/79": 1})
    found = told(good, bad, symptom("startup-crash"))
    assert [(one.subject.kind, one.subject.name, one.strength) for one in found.suspects] == [("gpu", "GPU 0000:9c:00.0", "strong")]


def test_nvml_that_lists_fewer_gpus_than_the_bus_breaks_a_relation():
    good = host({**cards(), "pci_count/gpu": 2, "driver/module/version": "570.1"})
    bad = host({**cards(), "gpus/count": 1, "pci_count/gpu": 2, "driver/module/version": "570.1"})
    assert told(good, bad, symptom("device-lost")).suspects[0].subject.name == "GPUs that NVML does not list"


def test_a_slow_clock_counts_only_where_both_sides_were_at_work():
    busy, slow, idle = (
        host(cards(clocks__sm_mhz=clock, utilization_percent=used, power_draw_w=watt, event_reasons=[]))
        for clock, used, watt in ((2281, 96, 92.5), (799, 96, 19.5), (235, 0, 8.0))
    )
    one = told(busy, slow, symptom("slow")).suspects[0]
    assert (one.subject.kind, one.good, one.bad, one.strength) == ("power-clock", "2,281 MHz", "799 MHz", "strong")
    assert told(busy, idle, symptom("slow")).suspects == ()


def test_a_power_limit_that_fell_is_told_with_both_values():
    good, bad = (host(cards(power_limit_w=watt)) for watt in (700.0, 300.0))
    one = told(good, bad, symptom("slow")).suspects[0]
    assert (one.subject.name, one.good, one.bad) == ("2 of 2 GPUs power limit", "700 W", "300 W")


def test_mig_without_instances_is_a_broken_relation():
    good = host(cards(mig__current="Disabled", mig__pending="Disabled"))
    bad = host(cards(mig__current=("Enabled", "Disabled"), mig__pending=("Enabled", "Disabled"), mig__devices=(0, None)))
    one = told(good, bad, symptom("startup-crash", "CUDA error: no CUDA-capable device is detected")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.mark) == ("mig", "GPU 0000:9c:00.0 MIG mode", "!")


def test_a_mode_that_waits_for_a_reset_is_told():
    good, bad = (host(cards(ecc__current="Enabled", ecc__pending=pending)) for pending in ("Enabled", ("Disabled", "Enabled")))
    assert [one.subject.name for one in told(good, bad, symptom("slow")).suspects] == ["GPU 0000:9c:00.0 ECC mode"]


def test_a_link_of_half_the_width_names_the_device_and_an_idle_speed_does_not_count():
    good, bad = (
        host(
            {
                **cards(),
                "pci/0000:9c:00.0/link/width": width,
                "pci/0000:9c:00.0/link/speed": speed,
                "pci/0000:9c:00.0/kind": "gpu",
                "pci/0000:41:00.0/link/width": 16,
                "pci/0000:41:00.0/kind": "gpu",
            }
        )
        for width, speed in ((16, 32.0), (8, 2.5))
    )
    found = told(good, bad, symptom("slow"))
    assert [(one.subject.kind, one.subject.name) for one in found.suspects] == [("pcie-link", "GPU 0000:9c:00.0 link")]
    assert "its siblings run wider" in [term.says for term in found.suspects[0].because]


@pytest.mark.parametrize(
    ("facts", "moved", "kind"),
    [
        ({"iommu/type": "identity"}, {"iommu/type": "DMA-FQ"}, "topology"),
        ({"acs/0000:17:01.0": ["SrcValid"]}, {"acs/0000:17:01.0": ["SrcValid", "ReqRedir"]}, "topology"),
        ({"nvlink/GPU-a/active": 18}, {"nvlink/GPU-a/active": 12}, "topology"),
        ({"topology/matrix": {"GPU0": {"GPU1": "NV18"}}}, {"topology/matrix": {"GPU0": {"GPU1": "SYS"}}}, "topology"),
        ({"kernel/cmdline": "quiet"}, {"kernel/cmdline": "quiet intel_iommu=on"}, "topology"),
        ({"kernel/cmdline": "quiet"}, {"kernel/cmdline": "quiet isolcpus=0-3"}, "kernel"),
        ({"infiniband/mlx5_0/ports/1/state": "ACTIVE"}, {"infiniband/mlx5_0/ports/1/state": "DOWN"}, "network"),
        ({"net/eth0/mtu": 9000}, {"net/eth0/mtu": 1500}, "network"),
        ({"nccl/conf/NCCL_IB_DISABLE": "0"}, {"nccl/conf/NCCL_IB_DISABLE": "1"}, "nccl"),
        ({"os_packages/libnccl2/version": "2.6.4"}, {"os_packages/libnccl2/version": "2.7.3"}, "nccl"),
        ({"firmware/bios": "1.2"}, {"firmware/bios": "1.3"}, "firmware"),
        ({"cpu/governor": "performance"}, {"cpu/governor": "powersave"}, "power-clock"),
    ],
)
def test_what_moved_between_devices_is_of_its_kind(facts, moved, kind):
    found = told(host({**cards(), **facts}), host({**cards(), **moved}), symptom("hang"))
    assert [one.subject.kind for one in found.suspects] == [kind]


def test_a_port_that_was_down_before_and_few_errors_are_no_news():
    down = {"infiniband/mlx5_1/ports/1/state": "DOWN", "infiniband/mlx5_1/ports/1/counters/symbol_error": 0}
    assert told(host(down), host({**down, "infiniband/mlx5_1/ports/1/counters/symbol_error": 3}), symptom("slow")).suspects == ()


def test_ports_that_moved_alike_are_one_suspect_and_others_are_not():
    good = host({f"infiniband/mlx5_{number}/ports/1/rate": "400 Gb/sec (4X NDR)" for number in range(4)})
    now = ("400 Gb/sec (4X NDR)", "100 Gb/sec (4X EDR)", "200 Gb/sec (4X HDR)", "100 Gb/sec (4X EDR)")
    bad = host({f"infiniband/mlx5_{number}/ports/1/rate": rate for number, rate in enumerate(now)})
    assert sorted(one.subject.name for one in told(good, bad, symptom("slow")).suspects) == ["mlx5_1 and mlx5_3", "mlx5_2"]


NO_ROOM = {"kernel_log/pcie": {"count": 1, "lines": ["pci 0000:9c:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space"]}}


@pytest.mark.parametrize(("log", "first"), [(NO_ROOM, ("firmware", "BIOS")), ({}, ("gpu", "GPU 0000:9c:00.0 and 0000:41:00.0"))])
def test_cards_for_whose_memory_the_kernel_has_no_room_are_a_matter_of_the_bios_that_moved(log, first):
    good = host({**cards(), "driver/module/version": "570.1", "pci_count/gpu": 2, "firmware/bios": "1106"})
    bad = host({"gpus/count": 0, "driver/module/version": "570.1", "pci_count/gpu": 2, "firmware/bios": "1203", **log})
    one = told(good, bad, symptom("device-lost")).suspects[0]
    assert (one.subject.kind, one.subject.name) == first


@pytest.mark.parametrize(("flavours", "line"), [
    (("proprietary", None), "NVRM: installed in this system is not supported by open"),
    (("open", "proprietary"), "NVRM: installed in this system requires use of the NVIDIA open kernel modules."),
])
def test_a_driver_of_the_kind_that_the_cards_do_not_take_is_blamed_in_the_kernels_words(flavours, line):
    version = "580.95.05"
    parts = {"driver/library/libcuda/version": version, "driver/on_disk/version": version}
    good, bad = (
        host({**parts, "gpus/count": cards_there, "driver/module/version": flavour and version, "driver/module/flavour": flavour})
        for flavour, cards_there in zip(flavours, (2, 0), strict=True)
    )
    bad = replace(bad, facts={**bad.facts, "kernel_log/nvrm": {"count": 3, "lines": ["NVRM: The NVIDIA GPU 0000:08:00.0", line]}})
    one = told(good, bad, symptom("device-lost")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("driver", "NVIDIA driver", "strong")
    assert f"the kernel's log: {line}" in [term.says for term in one.because]


def test_the_module_that_cuda_needs_stands_before_those_of_displays():
    loaded = {f"modules/{name}/loaded": True for name in ("nvidia", "nvidia_modeset", "nvidia_uvm")}
    found = told(host(loaded), host({"modules/nvidia/loaded": True}), symptom("startup-crash", "RuntimeError: CUDA unknown error"))
    assert [(one.subject.name, one.strength) for one in found.suspects][:1] == [("nvidia_uvm", "strong")]
    assert all(one.strength == "weak" for one in found.suspects[1:])


@pytest.mark.parametrize(("used", "is_blamed"), [(90, True), (3, False)])
def test_a_link_that_is_slow_while_its_gpu_works_is_a_suspect(used, is_blamed):
    sides = [host(cards(link__generation=generation, utilization_percent=used)) for generation in ((5, 5), (1, 5))]
    found = told(*sides, symptom("slow")).suspects
    assert bool(found) is is_blamed
    assert not found or (found[0].subject.kind, found[0].good, found[0].bad) == ("pcie-link", "5", "1")


def test_lost_links_are_told_once_and_not_as_another_topology_too():
    sides = []
    for links in (6, 4):
        matrix = {"GPU0": {"GPU1": f"NV{links}"}, "GPU1": {"GPU0": f"NV{links}"}}
        sides.append(host({**cards(), **{f"nvlink/{gpu}/active": links for gpu in GPUS}, "topology/matrix": matrix}))
    assert [one.subject.name for one in told(*sides, symptom("slow")).suspects] == ["2 of 2 GPUs NVLink"]


def test_both_ends_of_one_link_that_became_narrower_are_one_suspect():
    def link(width):
        kinds = {"pci/0000:41:00.0/kind": "gpu", "pci/0000:3d:01.0/kind": "port", "pci/0000:41:00.0/upstream": ["0000:3d:01.0", "0000:38:00.0"]}
        return host({**kinds, **{f"pci/{address}/link/width": width for address in ("0000:3d:01.0", "0000:41:00.0")}})

    assert [one.subject.name for one in told(link(16), link(4), symptom("slow")).suspects] == ["GPU 0000:41:00.0 link"]


@pytest.mark.parametrize(("package", "name"), [(True, "nvidia-firmware-570"), (False, "/lib/firmware/nvidia/570.195.03/gsp_ga10x.bin")])
def test_firmware_that_the_kernel_did_not_find_is_named_with_the_package_that_is_gone(package, name):
    lines = ["nvidia 0000:08:00.0: Direct firmware load for nvidia/570.195.03/gsp_ga10x.bin failed with error -2", "NVRM: RmInitAdapter failed!"]
    good = host({"os_packages/nvidia-firmware-570/version": "570.195.03-0ubuntu1"})
    bad = host({"kernel_log/nvrm": {"count": 2, "lines": lines}, **({} if package else good.facts)})
    one = told(good, bad, symptom("device-lost", "No devices were found")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("firmware", name, "strong")
