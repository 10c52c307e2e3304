"""Kernel modules: which are loaded, in which build and with which parameters; what is not loaded is known, what is hidden is not."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors import modules
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

LOADED = """nvidia_uvm 1585152 16 - Live 0x0000000000000000 (OE)
nvidia_peermem 16384 0 - Loading 0x0000000000000000 (OE)
nvidia 56811520 211 nvidia_uvm,nvidia_peermem Live 0x0000000000000000 (POE)
ib_core 491520 9 nvidia_peermem Live 0x0000000000000000
xt_conntrack 16384 1 - Live 0x0000000000000000
"""
FILES = {
    "/proc/modules": LOADED, "/sys/module/nvidia/version": "580.95.05\n", "/sys/module/nvidia/srcversion": "A61ADB003838F91936BAD62\n",
    "/sys/module/ib_core/srcversion": "4B1C9A7D2E6F801935C0AD7\n", "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "N\n",
    "/proc/driver/nvidia/params": 'EnableMSI: 1\nRegistryDwords: "RMForcePcieConfigSave=1"\n',
    "/sys/module/mlx5_core/srcversion": "77C01F2E9B3A64D58E1022A\n",
    "/etc/modprobe.d/nvidia.conf": "options nvidia NVreg_EnableResizableBar=1 \\\n  NVreg_DynamicPowerManagement=0\nblacklist nouveau\nblacklist pcspkr\n",
}


def test_modules_are_told_with_build_and_parameters(tmp_path):
    facts, status, _ = told(modules.collect, recorded(tmp_path, FILES))
    assert status == "ok"
    assert facts == {
        "modules/ib_core/loaded": True, "modules/ib_core/srcversion": "4B1C9A7D2E6F801935C0AD7",
        "modules/nvidia/loaded": True, "modules/nvidia/taint": "POE", "modules/nvidia/version": "580.95.05",
        "modules/nvidia/srcversion": "A61ADB003838F91936BAD62",
        "modules/nvidia/parameters/EnableMSI": "1", "modules/nvidia/parameters/RegistryDwords": "RMForcePcieConfigSave=1",
        "modules/nvidia_peermem/loaded": True, "modules/nvidia_peermem/taint": "OE", "modules/nvidia_peermem/state": "Loading",
        "modules/nvidia_uvm/loaded": True, "modules/nvidia_uvm/taint": "OE", "modules/nvidia_uvm/parameters/uvm_disable_hmm": "N",
        "modules/mlx5_core/loaded": True, "modules/mlx5_core/srcversion": "77C01F2E9B3A64D58E1022A",
        "modules/nvidia/configured": ["options NVreg_EnableResizableBar=1 NVreg_DynamicPowerManagement=0"], "modules/nouveau/configured": ["blacklist"],
        "modules_other": ["xt_conntrack"],
    }


def test_a_parameter_that_only_root_may_read_is_denied_and_the_others_are_told(tmp_path):
    denied = "/sys/module/nvidia_uvm/parameters/uvm_perf"
    facts = told(modules.collect, recorded(tmp_path, {**FILES, denied: "1"}, denied=[denied]))[0]
    assert facts["modules/nvidia_uvm/parameters/uvm_perf"].status == "denied"
    assert facts["modules/nvidia_uvm/parameters/uvm_disable_hmm"] == "N"


def test_a_hidden_list_makes_the_modules_unknown_but_those_that_sys_knows(tmp_path):
    facts, status, _ = told(modules.collect, recorded(tmp_path, FILES, denied=["/proc/modules"]))
    assert (status, facts["modules"].status, facts["modules_other"].status, facts["modules/nvidia/version"]) == ("ok", "denied", "denied", "580.95.05")


def test_orders_that_may_not_be_read_are_unknown(tmp_path):
    facts = told(modules.collect, recorded(tmp_path, {**FILES, "/lib/modprobe.d/a.conf": ""}, denied=["/lib/modprobe.d"]))[0]
    assert {facts[f"modules/{name}/configured"].status for name in ("nvidia", "nouveau", "ib_core")} == {"denied"}


def test_a_later_folder_replaces_a_file_of_the_same_name(tmp_path):
    files = {**FILES, "/lib/modprobe.d/nvidia.conf": "options nvidia NVreg_EnableMSI=0\n"}
    assert told(modules.collect, recorded(tmp_path, files))[0]["modules/nvidia/configured"][0].startswith("options NVreg_EnableResizableBar")


def test_a_kernel_without_modules_has_none(tmp_path):
    assert told(modules.collect, recorded(tmp_path, {"/etc/hostname": "gpu-a"}))[1] == "absent"


def test_a_list_that_was_cut_is_refused():
    with pytest.raises(Unreadable, match="cut"):
        modules.parse_modules(LOADED[:70])


def test_this_machine_gives_an_answer():
    assert told(modules.collect, Host(RealRoot(), Settings()))[1] in ("ok", "absent")


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(modules.collect, recorded(tmp_path, FILES, denied=["/proc/modules", "/proc/driver"]))
    assert [path for path in facts if not matches(path, modules.PROBES[0].tells)] == []
