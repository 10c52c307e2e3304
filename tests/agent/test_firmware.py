"""Firmware of the machine and of its GPUs, as files tell it."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors import firmware
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

DMI = "/sys/class/dmi/id/"
FILES = {
    DMI + "bios_version": "2.3.5\n", DMI + "product_name": "GPU server\n", "/proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0x2b0005c0\n",
    "/proc/driver/nvidia/gpus/0000:19:00.0/information": "Model: \t\t NVIDIA H100\nGPU Firmware: \t 580.95.05\n",
    "/proc/driver/nvidia/gpus/0000:3b:00.0/information": "Model: \t\t NVIDIA H100\nGPU Firmware: \t 580.95.05\n",
}


def test_firmware_is_told_by_its_place(tmp_path):
    facts, status, _ = told(firmware.collect, recorded(tmp_path, FILES))
    assert status == "ok"
    assert facts == {"firmware/bios": "2.3.5", "firmware/machine": "GPU server", "firmware/microcode": "0x2b0005c0", "firmware/gsp": "580.95.05"}


@pytest.mark.parametrize("said", ["N/A", "", "??"])
def test_a_gpu_that_runs_no_firmware_of_its_own_tells_none(said):
    assert firmware.parse_gsp(f"Model: \t NVIDIA\nGPU Firmware: \t {said}\nGPU Excluded:\t No\n") == ""


def test_a_gpu_whose_file_may_not_be_read_makes_the_firmware_of_all_unknown(tmp_path):
    facts = told(firmware.collect, recorded(tmp_path, FILES, denied=["/proc/driver/nvidia/gpus/0000:3b:00.0"]))[0]
    assert facts["firmware/gsp"].status == "denied"


def test_a_host_that_tells_nothing_has_none(tmp_path):
    assert told(firmware.collect, recorded(tmp_path, {"/etc/hostname": "gpu-a"}))[1] == "absent"


def test_this_machine_gives_an_answer():
    facts, status, _ = told(firmware.collect, Host(RealRoot(), Settings()))
    assert status in ("ok", "absent")
    assert [path for path in facts if not matches(path, firmware.PROBES[0].tells)] == []
