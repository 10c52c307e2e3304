"""PCI devices and the ports above them: what they are, how their links run, and what the ports do to traffic between GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftwatch.agent.collectors.links import PROBES, collect, collect_acs
from driftwatch.agent.pci_texts import acs_control, kind_of, parse_acs, parse_speed, parse_width, upstream_of
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.model import matches
from tests.agent.recording import recorded, told

TEXTS = Path(__file__).parent / "texts" / "links"
GPU, NEAR, ROOT = "0000:19:00.0", "0000:16:00.0", "0000:15:01.0"
BELOW_ROOT = f"/sys/devices/pci0000:15/{ROOT}"


def device(path: str, device_class: str, vendor: str, **more: str) -> dict[str, str]:
    """Return the files of one device: its folder, and the link to it by address."""
    address = path.rpartition("/")[2]
    files = {"class": device_class, "vendor": vendor, "device": "0x2330", "numa_node": "0", **more}
    return {f"/sys/bus/pci/devices/{address}": "->../../.." + path[len("/sys"):], **{f"{path}/{name}": text + "\n" for name, text in files.items()}}


def link(speed: str = "32.0 GT/s PCIe", width: str = "16") -> dict[str, str]:
    """Return the files of a link whose maximum is 32 GT/s and 16 lanes."""
    return {"current_link_speed": speed, "current_link_width": width, "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}


def tree(**of_gpu: str) -> dict[str, str]:
    """Return a root port, a switch port below it, and a GPU below that."""
    return {
        **device(BELOW_ROOT, "0x060400", "0x8086", **link()),
        **device(f"{BELOW_ROOT}/{NEAR}", "0x060400", "0x8086", **link(width="8")),
        **device(f"{BELOW_ROOT}/{NEAR}/{GPU}", "0x030200", "0x10de", **(of_gpu or link())),
    }


def test_a_card_is_told_where_nothing_says_whether_it_is_a_virtual_function(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {**tree(), f"{BELOW_ROOT}/{NEAR}/{GPU}/physfn": ""}, denied=[f"{BELOW_ROOT}/{NEAR}/{GPU}/physfn"]))
    assert (facts["pci_count/gpu"], facts[f"pci/{GPU}/kind"]) == (1, "gpu")


def test_a_narrow_port_above_a_gpu_is_told_beside_the_gpu(tmp_path):
    facts, status, _ = told(collect, recorded(tmp_path, tree()))
    assert status == "ok"
    assert facts[f"pci/{GPU}/upstream"] == [NEAR, ROOT]
    assert (facts[f"pci/{GPU}/link/width"], facts[f"pci/{NEAR}/link/width"], facts[f"pci/{NEAR}/link/width_max"]) == (16, 8, 16)
    assert facts[f"pci/{NEAR}/kind"] == "port"


def test_gpus_are_counted_by_the_bus_and_none_is_zero(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, tree()))
    assert (facts["pci_count/gpu"], facts["pci_count/nvme"]) == (1, 0)


def test_only_the_current_speed_is_volatile_since_an_idle_gpu_lowers_it(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, tree(**link(speed="2.5 GT/s PCIe"))))
    assert (facts[f"pci/{GPU}/link/speed"], facts[f"pci/{GPU}/link/speed_max"]) == (2.5, 32.0)
    links = next(probe for probe in PROBES if probe.name == "links")
    assert [path for path in facts if matches(path, links.volatile)] == [f"pci/{one}/link/speed" for one in (GPU, ROOT, NEAR)]


def test_a_speed_that_the_device_does_not_tell_is_unknown_and_no_number(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, tree(**link(speed="Unknown", width="63"))))
    assert isinstance(facts[f"pci/{GPU}/link/speed"], Unknown)
    assert isinstance(facts[f"pci/{GPU}/link/width"], Unknown)


def test_a_driver_is_the_name_behind_its_link_and_none_where_no_driver_took_the_device(tmp_path):
    files = {**tree(), f"{BELOW_ROOT}/{NEAR}/{GPU}/driver": "->../../../../bus/pci/drivers/nvidia"}
    facts, _, _ = told(collect, recorded(tmp_path, files))
    assert facts[f"pci/{GPU}/driver"] == "nvidia"
    assert f"pci/{NEAR}/driver" not in facts


def test_virtual_functions_of_a_card_are_not_devices_of_their_own(tmp_path):
    card = "/sys/devices/pci0000:15/0000:18:00.1"
    files = {**device(card, "0x020000", "0x15b3"), f"{card}/physfn": "->../0000:18:00.0"}
    facts, _, _ = told(collect, recorded(tmp_path, files))
    assert facts["pci_count/nic"] == 0


@pytest.mark.parametrize(("device_class", "vendor", "kind"), [
    ("0x030200", "0x10de", "gpu"), ("0x030000", "0x10de", "gpu"), ("0x030000", "0x102b", ""), ("0x068000", "0x10de", "nvswitch"), ("0x020700", "0x15b3", "nic"),
    ("0x010802", "0x1344", "nvme"), ("0x040300", "0x10de", ""),
])
def test_what_a_device_is_comes_from_its_class_and_maker(device_class, vendor, kind):
    assert kind_of(device_class, vendor) == kind


def test_old_and_new_kernels_write_the_same_speed_differently():
    assert parse_speed("8 GT/s\n") == parse_speed("8.0 GT/s PCIe\n") == 8.0


@pytest.mark.parametrize("text", ["0", "63", "255", "Unknown", ""])
def test_what_is_no_width_is_refused(text):
    with pytest.raises(Unreadable):
        parse_width(text)


def test_a_bridge_of_volume_management_is_passed_on_the_way_up():
    path = "/sys/devices/pci0000:e0/0000:e0:05.5/pci10000:e0/10000:e0:01.0/10000:e1:00.0"
    assert upstream_of(path) == ["10000:e0:01.0", "0000:e0:05.5"]


def test_how_the_iommu_translates_is_told_of_the_devices_that_matter(tmp_path):
    group = {"/sys/kernel/iommu_groups/7/type": "identity\n", f"{BELOW_ROOT}/{NEAR}/{GPU}/iommu_group": "->/sys/kernel/iommu_groups/7"}
    assert told(collect, recorded(tmp_path, {**tree(), **group}))[0]["iommu/type"] == "identity"


def test_ports_that_redirect_are_told_only_where_they_lie_above_a_gpu(tmp_path):
    lspci = (TEXTS / "lspci-vvv__gpud.txt").read_text()
    ports = {"0000:17:01.0": f"{BELOW_ROOT}/{NEAR}/0000:17:01.0"}
    files = {**tree(), **device(ports["0000:17:01.0"], "0x060400", "0x1000"), **device(ports["0000:17:01.0"] + "/0000:19:00.0", "0x030200", "0x10de")}
    facts, status, _ = told(collect_acs, recorded(tmp_path, files, {"lspci -vvv": lspci}))
    assert status == "ok"
    assert facts == {"acs/0000:15:01.0": [], "acs/0000:17:01.0": []}


def test_every_bit_that_lspci_shows_as_on_is_told():
    found = parse_acs((TEXTS / "lspci-vvv__gpud.txt").read_text())
    assert found["0000:82:00.0"] == ["SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"]
    assert "0000:19:00.0" not in found


def test_capabilities_that_lspci_may_not_read_are_denied_and_not_off():
    text = "000f:00:00.0 PCI bridge: NVIDIA Corporation Device 22d1\n\tCapabilities: <access denied>\n"
    assert parse_acs(text)["000f:00:00.0"].status == "denied"


@pytest.mark.parametrize(("ran", "word"), [((127, "", ""), "no lspci"), ((1, "", "lspci: Cannot open /sys/bus/pci"), "exit code 1")])
def test_without_lspci_the_bits_are_unknown(tmp_path, ran, word):
    facts, status, _ = told(collect_acs, recorded(tmp_path, tree(), {"lspci -vvv": ran}))
    assert (status, set(facts)) == ("ok", {f"acs/{ROOT}", f"acs/{NEAR}"})
    assert all(word in value.reason for value in facts.values())


def test_a_host_without_a_gpu_has_no_path_to_judge(tmp_path):
    assert told(collect_acs, recorded(tmp_path, device(BELOW_ROOT, "0x060400", "0x8086")))[1] == "absent"


def space(*capabilities: tuple[int, int, int]) -> bytes:
    """Return a configuration space with extended capabilities: (id, where, control register)."""
    data = bytearray(4096)
    for at, (number, where, control) in enumerate(capabilities):
        following = capabilities[at + 1][1] if at + 1 < len(capabilities) else 0
        data[where:where + 4] = (number | 1 << 16 | following << 20).to_bytes(4, "little")
        data[where + 6:where + 8] = control.to_bytes(2, "little")
    return bytes(data)


def test_the_bits_are_read_from_the_configuration_space_itself():
    assert acs_control(space((1, 0x100, 0), (0x0D, 0x148, 0b11101))) == ["SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"]
    assert acs_control(space((1, 0x100, 0))) is None


def test_a_chain_of_capabilities_that_leads_back_ends():
    assert acs_control(space((1, 0x100, 0), (2, 0x148, 0), (1, 0x100, 0))) is None


@pytest.mark.parametrize(("size", "fill", "status"), [(64, b"\0", "denied"), (4096, b"\xff", "error")])
def test_a_space_that_cannot_be_read_whole_is_no_port_without_acs(tmp_path, size, fill, status):
    host = recorded(tmp_path, tree())
    for path in (BELOW_ROOT, f"{BELOW_ROOT}/{NEAR}"):
        (tmp_path / "files" / path.lstrip("/") / "config").write_bytes(fill * size)
    assert {value.status for value in told(collect_acs, host)[0].values()} == {status}
