"""Installed kernels and whether each would find an NVIDIA module: known for each one, unknown where its folder cannot be seen."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors import kernels
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

RUNNING = {"/proc/sys/kernel/osrelease": "6.8.0-1\n"}
TOP = "/lib/modules"


def test_a_kernel_without_a_module_stands_beside_one_that_has_it(tmp_path):
    files = {**RUNNING, f"{TOP}/6.8.0-1/updates/dkms/nvidia.ko.zst": "", f"{TOP}/6.8.0-2/kernel/drivers/video/typec_nvidia.ko": ""}
    facts, status, _ = told(kernels.collect, recorded(tmp_path, files))
    assert (status, facts) == ("ok", {
        "kernel/installed/6.8.0-1": {"nvidia_module": True, "path": "updates/dkms/nvidia.ko.zst"}, "kernel/installed/6.8.0-2": {"nvidia_module": False},
    })


@pytest.mark.parametrize("path", [
    "updates/dkms/nvidia.ko", "extra/nvidia/nvidia.ko.xz", "kernel/drivers/video/nvidia.ko", "kernel/nvidia-550/nvidia.ko", "updates/dkms/nvidia-current.ko",
])
def test_the_module_is_found_wherever_an_installer_puts_it(tmp_path, path):
    facts = told(kernels.collect, recorded(tmp_path, {**RUNNING, f"{TOP}/6.8.0-1/{path}": ""}))[0]
    assert facts["kernel/installed/6.8.0-1"] == {"nvidia_module": True, "path": path}


def test_what_modprobe_knows_counts_before_what_lies_on_disk(tmp_path):
    files = {**RUNNING, f"{TOP}/6.8.0-1/modules.dep": "kernel/odd/nvidia.ko: kernel/i2c.ko\n", f"{TOP}/6.8.0-2/modules.dep": "kernel/usb/typec_nvidia.ko:\n",
             f"{TOP}/6.8.0-2/updates/dkms/nvidia.ko": ""}
    facts = told(kernels.collect, recorded(tmp_path, files))[0]
    assert facts["kernel/installed/6.8.0-1"] == {"nvidia_module": True, "path": "kernel/odd/nvidia.ko"}
    assert facts["kernel/installed/6.8.0-2"] == {"nvidia_module": False, "path": "updates/dkms/nvidia.ko", "unlisted": True}


def test_a_folder_that_may_not_be_listed_is_denied_and_never_without_a_module(tmp_path):
    files = {**RUNNING, f"{TOP}/6.8.0-1/updates/dkms/nvidia.ko": ""}
    facts = told(kernels.collect, recorded(tmp_path, files, denied=[f"{TOP}/6.8.0-1/updates"]))[0]
    assert facts["kernel/installed/6.8.0-1"].status == "denied"


def test_seen_from_a_container_the_hosts_kernels_are_unknown(tmp_path):
    assert told(kernels.collect, recorded(tmp_path, RUNNING))[0]["kernel/installed"].status == "denied"


def test_where_the_note_of_a_reboot_may_not_be_seen_it_is_unknown(tmp_path):
    facts, _, _ = told(kernels.collect, recorded(tmp_path, {**RUNNING, f"{TOP}/6.8.0-1/a": ""}, denied=["/run"]))
    assert facts["kernel/reboot_required"].status == "denied"


def test_images_and_a_reboot_that_is_waited_for_are_told(tmp_path):
    images = {"/boot/vmlinuz-6.8.0-1": "", "/boot/vmlinuz-6.8.0-2.old": "", "/boot/vmlinuz": "->vmlinuz-6.8.0-1", "/boot/initrd.img-6": ""}
    files = {**RUNNING, **images, f"{TOP}/6.8.0-1/modules.dep": "",
             "/run/reboot-required": "*** System restart required ***\n", "/run/reboot-required.pkgs": "linux-image-6.8.0-2\nlibc6\nlibc6\n"}
    facts = told(kernels.collect, recorded(tmp_path, files))[0]
    assert (facts["kernel/images"], facts["kernel/reboot_required"]) == (["6.8.0-1", "6.8.0-2"], ["libc6", "linux-image-6.8.0-2"])


def test_a_boot_folder_that_nobody_recorded_is_unknown(tmp_path):
    facts = told(kernels.collect, recorded(tmp_path, RUNNING, not_recorded=["/boot"]))[0]
    assert facts["kernel/images"].status == "not_recorded"


def test_this_machine_gives_an_answer():
    assert told(kernels.collect, Host(RealRoot(), Settings()))[1] == "ok"


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(kernels.collect, recorded(tmp_path, {**RUNNING, f"{TOP}/6.8.0-1/a": "", "/boot/vmlinuz-1": "", "/run/reboot-required": ""}))
    assert [path for path in facts if not matches(path, kernels.PROBES[0].tells)] == []
