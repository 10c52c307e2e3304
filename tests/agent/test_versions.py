"""Versions read as text from the modules' own files: they find a kernel package whose files are not those of its metadata."""

from __future__ import annotations

import os
import time

import pytest

from driftwatch.agent.collectors import versions
from driftwatch.agent.host import Target
from driftwatch.model import matches
from tests.agent.installs import facts_of, host_for, install
from tests.agent.recording import recorded, told
from tests.lab import faultfs

SITE = "/opt/venv/lib/python3.12/site-packages"
TORCH = """from typing import Optional

__all__ = ['__version__', 'cuda']
__version__ = '2.9.1+cu128'
debug = False
cuda: Optional[str] = '12.8'
hip: Optional[str] = None
"""
FALLBACK = "try:\n    from sglang._version import __version__\nexcept ImportError:\n    __version__ = '0.0.0.dev0'\n"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def facts(site, **more):
    return facts_of(versions.collect, host_for(site, **more))


def test_torch_tells_its_local_label_and_its_cuda(site):
    install(site, "torch", "2.9.1", {"torch/version.py": TORCH, "torch/__init__.py": "import os\n"})
    assert facts(site) == {"packages/torch/text_version": "2.9.1+cu128", "packages/torch/text_file": f"{site}/torch/version.py", "torch/version": "2.9.1+cu128",
                           "torch/cuda": "12.8"}


def test_torch_is_told_whatever_packages_were_asked_for(site):
    install(site, "torch", "2.9.1", {"torch/version.py": TORCH})
    assert facts(site, packages=("six",))["torch/version"] == "2.9.1+cu128"


@pytest.mark.parametrize("owner", ["sgl-kernel", "sglang-kernel"])
def test_the_version_stands_under_the_distribution_whose_record_names_the_module(site, owner):
    files = {"sgl_kernel/__init__.py": "from sgl_kernel.version import __version__\n", "sgl_kernel/version.py": '__version__ = "0.3.21"\n'}
    install(site, owner, "0.4.0", files)
    assert facts(site)[f"packages/{owner}/text_version"] == "0.3.21"


def test_two_distributions_that_claim_one_module_are_both_told_its_text(site):
    install(site, "sgl-kernel", "0.3.21", {"sgl_kernel/version.py": '__version__ = "0.3.21"\n'})
    install(site, "sglang-kernel", "0.4.10", {"sgl_kernel/version.py": '__version__ = "0.4.10"\n'})
    found = facts(site)
    assert (found["packages/sgl-kernel/text_version"], found["packages/sglang-kernel/text_version"]) == ("0.4.10", "0.4.10")


@pytest.mark.parametrize(("files", "version"), [
    ({"vllm/_version.py": "version: str\n__version__ = version = '0.11.0'\n"}, "0.11.0"),
    ({"vllm/version.py": FALLBACK, "vllm/_version.py": "__version__ = version = '0.5.12'\n"}, "0.5.12"),
    ({"vllm/version.py": FALLBACK}, "0.0.0.dev0"),
    ({"vllm/version.py": "from ._build_meta import __version__\n", "vllm/_build_meta.py": '__version__ = "0.6.3"\n'}, "0.6.3"),
    ({"vllm/__init__.py": '"""Doc."""\n__version__: str = "4.57.1"\n'}, "4.57.1"),
    ({"vllm.py": '__version__ = "1.16.0"\n'}, "1.16.0"),
])
def test_the_literal_is_found_where_build_tools_put_it(site, files, version):
    install(site, "vllm", "9.9", files)
    assert facts(site)["packages/vllm/text_version"] == version


def test_a_module_without_a_literal_is_unknown_and_not_absent(site):
    install(site, "vllm", "1", {"vllm/__init__.py": "__version__ = read()\n"})
    assert facts(site)["packages/vllm/text_version"].status == "error"


def test_a_module_that_is_not_there_tells_nothing(site):
    assert facts(site) == {}


def test_an_editable_install_is_followed_to_its_sources(site, tmp_path):
    (tmp_path / "sglang/python/sglang").mkdir(parents=True)
    (tmp_path / "sglang/python/sglang/version.py").write_text('__version__ = "0.5.9"\n')
    install(site, "sglang", "0.5.8", {"__editable__.sglang-0.5.8.pth": f"{tmp_path}/sglang/python\n"})
    found = facts(site)
    assert (found["packages/sglang/text_version"], found["packages/sglang/text_file"]) == ("0.5.9", f"{tmp_path}/sglang/python/sglang/version.py")


def test_a_folder_that_pip_left_empty_does_not_hide_the_sources(site, tmp_path):
    (site / "sglang/__pycache__").mkdir(parents=True)
    (tmp_path / "src/sglang").mkdir(parents=True)
    (tmp_path / "src/sglang/version.py").write_text('__version__ = "0.5.9"\n')
    host = host_for(site, source=str(tmp_path / "src/sglang"))
    assert facts_of(versions.collect, host)["packages/sglang/text_version"] == "0.5.9"


def test_a_fifo_in_place_of_a_version_file_holds_nobody(site):
    install(site, "vllm", "1", {"vllm/__init__.py": '__version__ = "1"\n'})
    os.mkfifo(str(site / "vllm/version.py"))
    begun = time.monotonic()
    assert facts(site)["packages/vllm/text_version"] == "1"
    assert time.monotonic() - begun < 2


def test_a_module_folder_that_hung_costs_its_own_fact_only(tmp_path):
    files = {f"{SITE}/{name}/version.py": f'__version__ = "{number}"\n' for number, name in enumerate(("sgl_kernel", "torch", "vllm"))}
    host = recorded(tmp_path, files, hangs=[f"{SITE}/sgl_kernel"])
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found = facts_of(versions.collect, host)
    assert (found["packages/sgl-kernel/text_version"].status, found["torch/version"], found["packages/vllm/text_version"]) == ("timeout", "1", "2")


def test_a_torch_that_hung_leaves_its_cuda_unknown_too(tmp_path):
    host = recorded(tmp_path, {f"{SITE}/torch/version.py": TORCH}, hangs=[f"{SITE}/torch"])
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found = facts_of(versions.collect, host)
    assert [found[path].status for path in ("torch/version", "torch/cuda", "torch/hip")] == ["timeout"] * 3


@pytest.mark.skipif(bool(faultfs.why_not()), reason=f"no FUSE here: {faultfs.why_not()}")
def test_a_real_mount_that_never_answers_costs_its_own_fact_only(site):
    install(site, "vllm", "1", {"vllm/version.py": '__version__ = "1"\n'})
    install(site, "torch", "2.9.1", {"torch/version.py": TORCH})
    with faultfs.mounted(site / "sgl_kernel", "hang.py") as mount:
        (site / "sgl_kernel.py").symlink_to(mount / "hang.py")
        found = facts(site, packages=("sgl_kernel", "vllm"))
    assert found["packages/sgl-kernel/text_version"].status == "timeout"
    assert (found["packages/vllm/text_version"], found["torch/cuda"]) == ("1", "12.8")


def test_a_package_folder_that_may_not_be_listed_leaves_the_versions_unknown(tmp_path):
    host = recorded(tmp_path, {f"{SITE}/torch/version.py": TORCH}, denied=[SITE])
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found = facts_of(versions.collect, host)
    assert {value.status for value in found.values()} == {"denied"}


def test_without_an_interpreter_nothing_is_absent(tmp_path):
    assert told(versions.collect, recorded(tmp_path, {}))[1] == "not_recorded"


def test_every_path_is_one_that_the_probe_says_it_tells(site):
    install(site, "torch", "2.9.1", {"torch/version.py": TORCH})
    assert all(matches(path, versions.PROBES[0].tells) for path in facts(site))
