"""Packages of the operating system: read from dpkg's or rpm's own records, held ones named, the fabric manager by its full version."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from driftwatch.agent import os_stack
from driftwatch.agent.collectors import os_packages
from driftwatch.agent.host import Host, Ran, Settings
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

STATUS = "/var/lib/dpkg/status"


def stanza(name, version, status="install ok installed", architecture="amd64"):
    return f"Package: {name}\nStatus: {status}\nArchitecture: {architecture}\nDescription: a\n Version: 9\nVersion: {version}\n\n"


DPKG = (
    stanza("nvidia-fabricmanager-535", "1:535.183.01-0ubuntu0.22.04.1", "hold ok installed") + stanza("vim", "2:9.1")
    + stanza("nvidia-dkms-535", "535.230.02-0ubuntu1", "install ok half-configured") + stanza("libnvidia-compute-535", "535.230.02-1", architecture="i386")
    + stanza("nvidia-utils-470", "470.1-1", "deinstall ok config-files")
)
RPM_LIST = "kernel-core\t5.14.0-427.el9\tx86_64\nkernel-core\t5.14.0-503.el9\tx86_64\nbash\t5.1.8-9.el9\tx86_64\ngpg-pubkey\t8483c65d-5ccc5b19\t(none)\n"
RPM = {" ".join(os_packages.RPM): RPM_LIST}


def test_packages_of_the_stack_are_told_apart_from_all_others(tmp_path):
    facts, status, _ = told(os_packages.collect, recorded(tmp_path, {STATUS: DPKG}))
    assert status == "ok"
    assert facts == {
        "os_packages/libnvidia-compute-535:i386/version": "535.230.02-1",
        "os_packages/nvidia-dkms-535/version": "535.230.02-0ubuntu1", "os_packages/nvidia-dkms-535/state": "half-configured",
        "os_packages/nvidia-fabricmanager-535/version": "1:535.183.01-0ubuntu0.22.04.1", "os_packages/nvidia-fabricmanager-535/held": True,
        "fabricmanager/package": "nvidia-fabricmanager-535", "fabricmanager/version": "535.183.01", "os_packages_other/vim": "2:9.1",
    }


def test_the_program_of_the_fabric_manager_tells_its_own_version(tmp_path):
    said = "Fabric Manager version is : 535.183.01\n"
    host = recorded(tmp_path, {STATUS: DPKG, os_packages.PROGRAM: "ELF"}, {os_packages.PROGRAM + " --version": said})
    assert told(os_packages.collect, host)[0]["fabricmanager/binary"] == "535.183.01"


def test_a_fabric_manager_that_tells_no_version_is_unknown():
    assert os_packages.parse_fabric_manager(Ran(1, "", "error while loading shared libraries\n")).status == "error"


def test_rpm_tells_every_version_of_a_package_that_stands_there_twice(tmp_path):
    facts, status, _ = told(os_packages.collect, recorded(tmp_path, {"/var/lib/rpm/rpmdb.sqlite": ""}, RPM))
    assert status == "ok"
    assert facts == {"os_packages/kernel-core/version": "5.14.0-427.el9, 5.14.0-503.el9", "os_packages_other/bash": "5.1.8-9.el9"}


def test_a_version_lock_of_dnf_holds_its_package_and_no_longer_name(tmp_path):
    files = {"/var/lib/rpm/rpmdb.sqlite": "", os_packages.LOCKS[0]: "# kept\nkernel-core-0:5.14.0-427.el9.*\n!bash-0:5\n"}
    facts = told(os_packages.collect, recorded(tmp_path, files, RPM))[0]
    assert facts["os_packages/kernel-core/held"] is True
    assert not os_packages._is_lock("kernel-core-0:5.14", "kernel")


def test_an_rpm_that_failed_is_no_empty_list(tmp_path):
    commands = {" ".join(os_packages.RPM): (1, "", "error: cannot open Packages database\n")}
    facts, status, reason = told(os_packages.collect, recorded(tmp_path, {"/var/lib/rpm/rpmdb.sqlite": ""}, commands))
    assert (facts, status) == ({}, "error")
    assert "cannot open Packages database" in reason


def test_a_record_that_may_not_be_read_is_denied(tmp_path):
    assert told(os_packages.collect, recorded(tmp_path, {STATUS: DPKG}, denied=[STATUS]))[1] == "denied"


def test_a_host_without_a_package_manager_has_none(tmp_path):
    assert told(os_packages.collect, recorded(tmp_path, {"/etc/hostname": "gpu-a"}))[1] == "absent"


@pytest.mark.parametrize("text", ["", "\0" * 4096, "Package: a\n"])
def test_a_damaged_status_file_is_refused(text):
    with pytest.raises(Unreadable, match="no package"):
        os_packages.parse_status(text)


def test_pins_of_apt_are_told_by_file(tmp_path):
    text = "# ours\nPackage: nvidia-fabricmanager-*\nPin: version   535.183*\nPin-Priority: 1001\n\nExplanation: x\n"
    facts, _, _ = told(os_packages.collect, recorded(tmp_path, {STATUS: DPKG, "/etc/apt/preferences.d/nvidia": text}))
    assert facts["os_pins/nvidia"] == ["Package: nvidia-fabricmanager-*", "Pin: version 535.183*", "Pin-Priority: 1001"]


def test_pins_that_may_not_be_read_are_unknown(tmp_path):
    host = recorded(tmp_path, {STATUS: DPKG, "/etc/apt/preferences.d/nvidia": "Package: a\n"}, denied=["/etc/apt/preferences.d"])
    assert isinstance(told(os_packages.collect, host)[0]["os_pins"], Unknown)


@pytest.mark.parametrize("name", [
    "nvidia-driver-550", "libnvidia-container1", "cuda-toolkit-12-8", "libcudnn9-cuda-13", "libnccl2", "linux-image-6.8.0-100-generic", "kernel-core",
    "kmod-nvidia", "mlnx-ofed-kernel-dkms", "doca-ofed", "rdma-core", "libibverbs1", "docker-ce", "containerd.io",
    "slurmd", "libc6", "libstdc++6", "python3.12", "datacenter-gpu-manager-4-core",
])
def test_names_of_the_stack(name):
    assert os_stack.is_stack(name)


@pytest.mark.parametrize("name", ["vim", "curl", "libcurl4", "tzdata", "python3-urllib3", "openssh-server", "snapd", "cloud-init", "libkrb5-3", "libcups2"])
def test_names_of_no_layer_under_a_gpu_server(name):
    assert not os_stack.is_stack(name)


@pytest.mark.parametrize(("version", "answer"), [("1:535.183.01-0ubuntu1", "535.183.01"), ("535.183.01", "535.183.01"), ("0:570.86.15-1.el9", "570.86.15")])
def test_the_packagers_own_numbers_do_not_count(version, answer):
    assert os_stack.upstream(version) == answer


def test_this_machines_packages_are_those_that_dpkg_lists():
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg on this machine")
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"], capture_output=True, text=True, check=True).stdout
    wanted = {tuple(line.split()[1:]) for line in listed.splitlines() if line.startswith("installed ")}
    found = os_packages._packages(Host(RealRoot(), Settings()))
    assert {(one.name.partition(":")[0], one.version) for one in found if one.state == "installed"} == wanted


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(os_packages.collect, recorded(tmp_path, {STATUS: DPKG, "/etc/apt/preferences.d/a/b": ""}))
    assert [path for path in facts if not matches(path, os_packages.PROBES[0].tells)] == []


SPEC = "Name: driftwatch-trial\nVersion: 1.2\nRelease: 3\nSummary: x\nLicense: none\nBuildArch: noarch\n%description\nx\n%files\n"


@pytest.fixture
def rpm_database(tmp_path, monkeypatch):
    """Return a real rpm database with one package that rpmbuild made; rpm finds it by the macros in the home."""
    if shutil.which("rpmbuild") is None or os.geteuid() != 0:
        pytest.skip("a real rpm database is made by root with rpmbuild (package rpm)")
    home = Path(tempfile.mkdtemp(prefix="rpm"))  # where nobody may read it too
    home.chmod(0o755)
    database = home / "db"
    (home / ".rpmmacros").write_text(f"%_dbpath {database}\n")
    (tmp_path / "trial.spec").write_text(SPEC)
    monkeypatch.setenv("HOME", str(home))
    for argv in (
        ["rpmbuild", "-bb", "--define", f"_topdir {tmp_path}", str(tmp_path / "trial.spec")], ["rpm", "--initdb"],
        ["rpm", "-i", "--nodeps", "--force-debian", str(tmp_path / "RPMS/noarch/driftwatch-trial-1.2-3.noarch.rpm")],
    ):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield database
    shutil.rmtree(str(home))


def test_a_real_rpm_database_is_read_and_nothing_in_it_is_touched(rpm_database):
    before = {path.name: path.stat().st_mtime_ns for path in rpm_database.iterdir()}
    packages = os_packages.parse_rpm(Host(RealRoot(), Settings()).run(os_packages.RPM, 8.0))
    assert [(one.name, one.version) for one in packages] == [("driftwatch-trial", "1.2-3")]
    assert {path.name: path.stat().st_mtime_ns for path in rpm_database.iterdir()} == before
