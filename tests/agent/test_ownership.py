"""Who owns what in a package folder: real wheels unpacked over one another, folders that nobody owns, .pth files with code, editable installs, user site."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from driftwatch.agent.collectors import ownership
from driftwatch.agent.host import Target
from driftwatch.model import matches
from tests.agent.installs import edit, facts_of, host_for, install, venv, wheel
from tests.agent.recording import recorded, told

VERSION = "python/owned_twice/sgl_kernel%2Fversion.py"
BACKEND = """
import os, zipfile
def build_editable(folder, settings=None, metadata=None):
    with zipfile.ZipFile(folder + "/thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing.pth", os.getcwd() + "\\n")
        wheel.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n")
        wheel.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("thing-1.0.dist-info/RECORD", "".join(name + ",,\\n" for name in [*wheel.namelist(), "thing-1.0.dist-info/RECORD"]))
    return "thing-1.0-py3-none-any.whl"
"""
SITE = "/opt/venv/lib/python3.12/site-packages"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "lib" / "python3" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def facts(*sites):
    return facts_of(ownership.collect, host_for(*sites))


def two_kernels(site, first, last):
    """Install two distributions that bring one module, in this order."""
    for name, version in (first, last):
        install(site, name, version, {"sgl_kernel/__init__.py": "", "sgl_kernel/version.py": f"__version__ = {version!r}\n", f"sgl_kernel/{version}.py": ""})


def test_a_clean_folder_tells_nothing(site):
    install(site, "idna", "3.6", {"idna/__init__.py": "", "idna/core.py": "a = 1\n"})
    install(site, "six", "1.16", {"six.py": ""})
    assert facts(site) == {}


@pytest.mark.parametrize("last", ["sgl-kernel", "sglang-kernel"])
def test_of_two_distributions_that_own_one_path_the_one_whose_bytes_are_there_is_told(site, last):
    order = sorted([("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.1")], key=lambda one: one[0] == last)
    two_kernels(site, *order)
    found = facts(site)
    assert found[VERSION] == {"by": ["sgl-kernel", "sglang-kernel"], "bytes_of": [last]}
    other = "sglang-kernel" if last == "sgl-kernel" else "sgl-kernel"
    assert found["python/overlaps/sgl-kernel+sglang-kernel"] == {"files": 2, "differing": 1, "bytes_of": {last: 1, other: 0, "neither": 0}, "unread": 0}


def test_bytes_of_neither_owner_are_told_as_such(site):
    two_kernels(site, ("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.1"))
    edit(site / "sgl_kernel/version.py", "by hand\n")
    found = facts(site)
    assert found[VERSION]["bytes_of"] == []
    assert found["python/overlaps/sgl-kernel+sglang-kernel"]["bytes_of"]["neither"] == 1


def test_a_file_of_two_owners_that_is_gone_was_not_read(site):
    two_kernels(site, ("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.1"))
    (site / "sgl_kernel/version.py").unlink()
    assert facts(site)[VERSION]["bytes_of"] is None


def test_one_path_with_the_same_bytes_is_no_finding(site):
    install(site, "nvidia-nccl-cu12", "2.27.5", {"nvidia/__init__.py": "", "nvidia/nccl/lib/libnccl.so.2": "x"})
    install(site, "nvidia-cudnn-cu12", "9.1", {"nvidia/__init__.py": "", "nvidia/cudnn/lib/libcudnn.so.9": "x"})
    assert facts(site) == {}


def test_beyond_forty_files_the_rest_is_unknown_and_the_pair_counts_them_all(site):
    for version in ("1", "2"):
        install(site, f"kernel{version}", version, {f"k/m{number}.py": version for number in range(55)})
    found = facts(site)
    assert sum(path.startswith("python/owned_twice/") for path in found) == 40
    assert found["python/owned_twice"].reason == "55 files, 40 of them are named"
    assert found["python/overlaps/kernel1+kernel2"]["bytes_of"] == {"kernel1": 0, "kernel2": 55, "neither": 0}


def test_a_dist_info_without_its_files_is_hollow_and_a_metapackage_is_not(site):
    install(site, "flashinfer-python", "0.6.3", {"flashinfer/__init__.py": "", "flashinfer/jit.py": ""})
    install(site, "cuda-toolkit", "13.0")
    shutil.rmtree(site / "flashinfer")
    assert facts(site) == {"python/hollow/flashinfer-python": ["flashinfer"]}


def test_what_no_record_names_is_unowned_by_its_kind(site):
    install(site, "six", "1.16", {"six.py": ""})
    (site / "copied").mkdir()
    (site / "copied/__init__.py").touch()
    (site / "left/__pycache__").mkdir(parents=True)
    (site / "space").mkdir()
    (site / "space/thing.py").touch()
    (site / "sitecustomize.py").touch()
    (site / "fast.cpython-311-x86_64-linux-gnu.so").touch()
    (site / "linked").symlink_to("/opt/src/linked")
    (site / "README.txt").touch()
    (site / "__pycache__").mkdir()
    assert {path.rpartition("/")[2]: value for path, value in facts(site).items()} == {
        "copied": "package", "left": "empty folder", "space": "folder without __init__.py", "sitecustomize.py": "module",
        "fast.cpython-311-x86_64-linux-gnu.so": "extension module", "linked": "link to %2Fopt%2Fsrc%2Flinked".replace("%2F", "/")}


def test_where_a_distribution_has_no_record_what_else_is_unowned_is_unknown(site):
    (install(site, "PyYAML", "6", {"yaml/__init__.py": ""}) / "RECORD").unlink()
    (site / "stray.py").touch()
    found = facts(site)
    assert found["python/unowned/stray.py"] == "module"
    assert found["python/unowned"].status == "not_recorded"


def test_an_egg_info_owns_what_it_declares(site):
    (site / "old-1.0.egg-info").mkdir()
    (site / "old-1.0.egg-info/top_level.txt").write_text("old_module\n")
    (site / "old_module.py").touch()
    assert list(facts(site)) == ["python/unowned"]


def test_a_pth_file_is_told_with_its_paths_and_its_code(site):
    (site / "here.pth").write_text("# a comment\n/opt/src\nimport sys; sys.path.insert(0, '/opt/patched')\n\n")
    told_of = facts(site)["python/pth/here.pth"]
    assert (told_of["paths"], told_of["code"]) == (["/opt/src"], ["import sys; sys.path.insert(0, '/opt/patched')"])
    assert told_of["location"] == str(site)


def test_a_secret_in_a_pth_file_does_not_leave(site):
    (site / "proxy.pth").write_text("import os; os.environ['https_proxy'] = 'http://joe:hunter2pass@proxy:3128'\n")
    assert "hunter2pass" not in json.dumps(facts(site)["python/pth/proxy.pth"])


def test_a_second_pth_file_of_one_name_is_told_with_its_whole_path(site, tmp_path):
    other = tmp_path / "base" / "site-packages"
    other.mkdir(parents=True)
    for folder in (site, other):
        (folder / "a.pth").write_text("/opt/src\n")
    assert [value["location"] for value in facts(site, other).values()] == [str(site), str(other)]


def test_an_editable_install_tells_where_its_files_are_and_whether_they_are(site, tmp_path):
    for name in ("there", "gone"):
        install(site, name, "1", direct_url=json.dumps({"url": f"file://{tmp_path}/{name}", "dir_info": {"editable": True}}))
    (tmp_path / "there").mkdir()
    install(site, "plain", "1", direct_url=json.dumps({"url": f"file://{tmp_path}/plain", "dir_info": {}}))
    found = facts(site)
    assert {path: value["is_there"] for path, value in found.items()} == {"python/editable/there": True, "python/editable/gone": False}
    assert found["python/editable/gone"]["source"] == f"{tmp_path}/gone"


def pip_install(python, *what):
    """Install into another environment, or skip the test with the reason."""
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check"]
    ran = subprocess.run([*pip, *what], capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"this Python has no pip that can install into another environment: {ran.stderr.strip()[-100:]}")


def test_what_pip_itself_installs_as_editable_is_found_as_such(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
    (project / "backend.py").write_text(BACKEND)
    python, folder = venv(tmp_path / "venv")
    pip_install(python, "--no-build-isolation", "-e", str(project))
    found = facts(folder)
    assert found["python/editable/thing"] == {"source": str(project), "is_there": True, "how": "direct_url.json"}
    assert found["python/pth/thing.pth"]["paths"] == [str(project)]


def test_a_distribution_of_the_user_site_tells_what_it_hides(tmp_path):
    user, system = tmp_path / "home/.local/lib/python3.12/site-packages", tmp_path / "usr/lib/python3.12/site-packages"
    for folder in (user, system):
        folder.mkdir(parents=True)
    install(user, "numpy", "1.26", {"numpy.py": ""})
    install(user, "idna", "3.6", {"idna.py": ""})
    install(system, "numpy", "2.1", {"numpy.py": ""})
    assert facts(user, system) == {"python/user_site/numpy": {"version": "1.26", "hides": [{"location": str(system), "version": "2.1"}]},
                                   "python/user_site/idna": {"version": "3.6", "hides": []}}


def test_what_pip_itself_installs_twice_is_found(tmp_path):
    python, folder = venv(tmp_path / "venv")
    for name, version in (("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.1")):
        pip_install(python, str(wheel(tmp_path / "wheels", name, version, {"sgl_kernel/version.py": version})))
    assert facts(folder)[VERSION]["bytes_of"] == ["sglang-kernel"]


def test_in_a_recording_files_that_were_left_out_make_nothing_hollow(tmp_path):
    host = recorded(tmp_path, {f"{SITE}/idna-3.6.dist-info/RECORD": "idna/__init__.py,sha256=x,1\n"})
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found, status, _ = told(ownership.collect, host)
    assert (status, list(found)) == ("ok", ["python/hollow"])
    assert found["python/hollow"].status == "not_recorded"


def test_a_package_folder_that_may_not_be_listed_leaves_the_probe_denied(tmp_path):
    host = recorded(tmp_path, {f"{SITE}/six.py": ""}, denied=[SITE])
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    assert told(ownership.collect, host)[1] == "denied"


def test_folders_of_pythonpath_are_no_package_folders(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/anything.py").touch()
    site = tmp_path / "site-packages"
    site.mkdir()
    assert facts(tmp_path / "src", site) == {}


def test_every_path_is_one_that_the_probe_says_it_tells(site):
    two_kernels(site, ("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.1"))
    (site / "a.pth").write_text("/x\n")
    (site / "stray.py").touch()
    found = facts(site)
    assert len(found) == 4
    assert all(matches(path, ownership.PROBES[0].tells) for path in found)
