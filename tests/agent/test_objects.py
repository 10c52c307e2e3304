"""The shared objects of kernel packages, compiled and installed by the test: what they need, for which GPUs they are, and which names nobody defines."""

from __future__ import annotations

import shutil

import pytest

from driftwatch.agent.collectors import objects
from driftwatch.agent.host import Host, Settings, Target
from driftwatch.agent.probe import Unknown
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.installs import facts_of, host_for, install, record_line
from tests.agent.recording import recorded, told
from tests.lab.shared_objects import defining, expecting, fat_binary, library

WARN, GONE = "_ZN3c104warnERKNS_7WarningE", "_ZN3c1015SmallVectorBaseIjE8grow_podEPKvmm"
OPS = "objects/sgl-kernel/sgl_kernel%2Fsm90%2Fcommon_ops.abi3.so"
SITE = "/opt/venv/lib/python3.12/site-packages"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "lib" / "python3" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def installed(site, name, *paths):
    """Install a distribution whose shared objects lie there already."""
    info = install(site, name, "1")
    lines = [record_line(path, (site / path).read_bytes()) for path in paths]
    with (info / "RECORD").open("a") as file:
        file.write("\n".join(lines) + "\n")
    return info


def kernel(site, *names, **more):
    library(site / "sgl_kernel/sm90/common_ops.abi3.so", expecting(*names), **more)
    return installed(site, "sgl-kernel", "sgl_kernel/sm90/common_ops.abi3.so")


def torch(site, *names):
    library(site / "torch/lib/libc10.so", defining(*names), "-Wl,--hash-style=gnu", "-Wl,-soname,libc10.so")
    library(site / "torch/lib/libshm.so", "int shm;", "-Wl,--hash-style=gnu")
    return installed(site, "torch", "torch/lib/libc10.so", "torch/lib/libshm.so")


def facts(site):
    return facts_of(objects.collect, host_for(site))


def test_needs_architectures_and_expected_names_of_a_kernel_package_are_told(site):
    kernel(site, WARN, device_code=fat_binary(("sm", 90), ("sm", 100)))
    found = facts(site)
    assert found[OPS + "/needed"] == []
    assert found[OPS + "/architectures"] == ["sm_90", "sm_100"]
    assert found[OPS + "/torch_symbols"]["some"] == [WARN]


def test_of_torch_its_own_libraries_are_told_and_no_expected_names(site):
    torch(site, WARN)
    found = facts(site)
    assert found["objects/torch/torch%2Flib%2Flibc10.so/soname"] == "libc10.so"
    assert {path.rpartition("/")[2] for path in found} == {"needed", "soname", "architectures"}


def test_a_name_that_torch_does_not_define_is_unresolved(site):
    torch(site, WARN)
    kernel(site, WARN, GONE)
    assert facts(site)[OPS + "/unresolved"] == {"count": 1, "some": [GONE]}


def test_nothing_is_unresolved_where_torch_or_the_package_itself_defines_all(site):
    torch(site, WARN)
    kernel(site, WARN, GONE)
    library(site / "sgl_kernel/more.so", defining(GONE), "-Wl,--hash-style=gnu")
    installed(site, "sgl-kernel", "sgl_kernel/sm90/common_ops.abi3.so", "sgl_kernel/more.so")
    assert not any(path.endswith("/unresolved") for path in facts(site))


def test_without_torch_what_is_unresolved_is_unknown(site):
    kernel(site, WARN)
    assert facts(site)[OPS + "/unresolved"].status == "not_recorded"


def test_a_file_that_was_cut_is_unknown_and_the_others_are_told(site):
    kernel(site, WARN)
    (site / "sgl_kernel/other.so").write_bytes((site / "sgl_kernel/sm90/common_ops.abi3.so").read_bytes()[:5000])
    installed(site, "sgl-kernel", "sgl_kernel/sm90/common_ops.abi3.so", "sgl_kernel/other.so")
    found = facts(site)
    assert "cut" in found["objects/sgl-kernel/sgl_kernel%2Fother.so"].reason
    assert OPS + "/needed" in found


def test_a_file_that_is_gone_tells_nothing_and_a_distribution_without_record_is_unknown(site):
    info = kernel(site, WARN)
    (site / "sgl_kernel/sm90/common_ops.abi3.so").unlink()
    assert facts(site) == {}
    (info / "RECORD").unlink()
    assert facts(site)["objects/sgl-kernel"].status == "not_recorded"


def test_copies_under_versioned_names_are_told_once(site):
    library(site / "lib/mscclpp.so", "int a;")
    for name in ("mscclpp.so.0", "mscclpp.so.0.6.0"):
        shutil.copy(site / "lib/mscclpp.so", site / "lib" / name)
    installed(site, "sgl-kernel", "lib/mscclpp.so", "lib/mscclpp.so.0", "lib/mscclpp.so.0.6.0")
    assert {path.rpartition("/")[0] for path in facts(site)} == {"objects/sgl-kernel/lib%2Fmscclpp.so"}


def test_packages_that_bring_no_kernels_are_passed_over(site):
    library(site / "numpy/core.so", "int a;")
    installed(site, "numpy", "numpy/core.so")
    assert facts(site) == {}


def test_a_folder_that_hung_leaves_its_files_unknown(tmp_path):
    files = {f"{SITE}/sgl_kernel/a.so": "x", f"{SITE}/sgl_kernel-1.dist-info/RECORD": "sgl_kernel/a.so,sha256=x,1\nsgl_kernel/b.so,sha256=x,1\n",
             f"{SITE}/deep_gemm-1.dist-info/RECORD": "deep_gemm/c.so,sha256=x,1\n", f"{SITE}/deep_gemm/c.so": "no ELF" * 20}
    host = recorded(tmp_path, files, hangs=[f"{SITE}/sgl_kernel"])
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found, status, _ = told(objects.collect, host)
    assert status == "ok"
    assert [found[f"objects/sgl-kernel/sgl_kernel%2F{name}.so"].status for name in "ab"] == ["timeout", "timeout"]
    assert "no 64-bit" in found["objects/deep-gemm/deep_gemm%2Fc.so"].reason


def test_without_an_interpreter_nothing_is_said():
    assert told(objects.collect, Host(RealRoot(), Settings()))[1] == "not_recorded"


def test_every_path_is_one_that_the_probe_says_it_tells(site):
    torch(site)
    kernel(site, WARN)
    found = facts(site)
    assert any(isinstance(value, Unknown) or value for value in found.values())
    assert all(matches(path, objects.PROBES[0].tells) for path in found)
