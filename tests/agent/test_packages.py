"""Installed distributions as their folders tell them: broken metadata keeps its name, and nothing is dropped."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import time

import importlib_metadata
import pytest

from driftwatch.agent.collectors import packages
from driftwatch.agent.dist_metadata import parse_direct_url, parse_metadata, without_userinfo
from driftwatch.agent.host import Host, Settings, Target
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.model import matches
from tests.agent.installs import facts_of, host_for, install, venv
from tests.agent.recording import recorded, told

SITE = "/opt/venv/lib/python3.12/site-packages"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def facts(*sites, **more):
    return facts_of(packages.collect, host_for(*sites, **more))


def recorded_facts(folder, files, **described):
    host = recorded(folder, files, **described)
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    return told(packages.collect, host)


def test_names_and_versions_are_those_that_importlib_metadata_finds():
    ours = sysconfig.get_paths()["purelib"]
    found = facts(ours)
    expected = {importlib_metadata.Prepared.normalize(one.name).replace("_", "-"): one.version for one in importlib_metadata.distributions(path=[ours])}
    assert {path.split("/")[1]: value for path, value in found.items() if path.startswith("packages/") and path.endswith("/version")} == expected


def test_requirements_are_those_that_importlib_metadata_finds():
    ours = sysconfig.get_paths()["purelib"]
    found = facts(ours)
    for one in importlib_metadata.distributions(path=[ours]):
        name = importlib_metadata.Prepared.normalize(one.name).replace("_", "-")
        assert found[f"packages/{name}/requires"] == list(one.requires or [])


def test_an_installed_wheel_tells_all_that_its_folder_holds(site):
    info = install(site, "Sgl_Kernel", "0.3.21+cu128", {"sgl_kernel/__init__.py": ""}, requires=("torch==2.9.1", 'triton; extra == "t"'))
    os.utime(info / "RECORD", (1_772_445_600, 1_772_445_600))
    found = facts(site)
    told_of_it = {path[len("packages/sgl-kernel/"):]: value for path, value in found.items() if path.startswith("packages/sgl-kernel/")}
    assert told_of_it.pop("record").startswith("sha256:")
    assert told_of_it == {"version": "0.3.21+cu128", "build": "cu128", "requires": ["torch==2.9.1", 'triton; extra == "t"'], "location": str(site),
                          "installed_at": "2026-03-02T10:00:00Z", "installer": "pip"}


def test_a_fifo_in_place_of_metadata_is_said_within_a_second(site):
    info = install(site, "torch", "2.9.1")
    install(site, "zzz", "1")
    (info / "METADATA").unlink()
    os.mkfifo(str(info / "METADATA"))
    begun = time.monotonic()
    found = facts(site)
    assert time.monotonic() - begun < 1
    assert "not a regular file" in found["packages/torch/metadata"]
    assert found["packages/zzz/version"] == "1"


@pytest.mark.parametrize(("data", "why"), [
    (b"", "empty"), (b"Metadata-Version: 2.1\nName: to", "no version"), (b"\0" * 600, "NUL"), (b"Version: 1\n", "name"), (None, "no such file"),
    (b"Name: a/../b\nVersion: 1\n", "valid name"),
])
def test_broken_metadata_is_a_fact_and_the_name_comes_from_the_folder(site, data, why):
    info = install(site, "sgl-kernel", "0.3.21")
    (info / "METADATA").unlink()
    if data is not None:
        (info / "METADATA").write_bytes(data)
    found = facts(site)
    assert found["packages/sgl-kernel/metadata"].startswith("unreadable: ")
    assert why in found["packages/sgl-kernel/metadata"]
    assert isinstance(found["packages/sgl-kernel/version"], Unknown)
    assert "0.3.21" in found["packages/sgl-kernel/version"].reason


def test_latin_1_in_the_head_is_said_and_the_version_still_told(site):
    info = install(site, "six", "1.16.0")
    (info / "METADATA").write_bytes(b"Name: six\nVersion: 1.16.0\nAuthor: Ren\xe9\nLicense: MIT\n\n")
    found = facts(site)
    assert found["packages/six/metadata"] == "unreadable: byte 0xe9 on line 3 is no UTF-8"
    assert found["packages/six/version"] == "1.16.0"


def test_a_letter_cut_at_the_end_of_the_head_is_no_trouble():
    text = ("Name: six\nVersion: 1\nSummary: é".encode()[:-1]).decode("utf-8", "surrogateescape")
    assert parse_metadata(text).trouble == ""


def test_of_two_dist_infos_of_one_name_the_one_installed_last_is_told_and_the_other_named(site):
    old = install(site, "sgl-kernel", "0.3.21")
    install(site, "sgl_kernel", "0.3.9").rename(site / "Sgl.Kernel-0.3.9.dist-info")
    os.utime(str(old / "RECORD"), (1_000_000_000, 1_000_000_000))
    found = facts(site)
    assert found["packages/sgl-kernel/version"] == "0.3.9"
    assert found["packages/sgl-kernel/others"] == [{"folder": "sgl_kernel-0.3.21.dist-info", "version": "0.3.21"}]


def test_without_file_times_the_higher_version_is_told(tmp_path):
    files = {f"{SITE}/a-{version}.dist-info/METADATA": f"Name: a\nVersion: {version}\n" for version in ("0.3.9", "0.3.21")}
    found, _, _ = recorded_facts(tmp_path, files)
    assert (found["packages/a/version"], found["packages/a/others"]) == ("0.3.21", [{"folder": "a-0.3.9.dist-info", "version": "0.3.9"}])


def test_the_same_name_in_a_later_folder_is_shadowed(site, tmp_path):
    install(site, "numpy", "2.0")
    beyond = tmp_path / "dist-packages"
    beyond.mkdir()
    install(beyond, "numpy", "1.26")
    found = facts(site, beyond)
    assert (found["packages/numpy/version"], found["packages/numpy/shadows"]) == ("2.0", [{"location": str(beyond), "version": "1.26"}])


def test_one_folder_by_two_names_is_counted_once(site):
    install(site, "numpy", "2.0")
    (site.parent.parent / "lib64").symlink_to(site.parent)
    assert "packages/numpy/shadows" not in facts(site, site.parent.parent / "lib64" / site.name)


def test_a_leftover_of_an_interrupted_install_is_told(site):
    install(site, "torch", "2.9.0").rename(site / "~orch-2.9.0.dist-info")
    (site / "~orch").mkdir()
    found = facts(site)
    assert found["leftovers/~orch-2.9.0.dist-info"] == {"location": str(site), "was": "torch 2.9.0"}
    assert found["leftovers/~orch"] == {"location": str(site), "was": ""}
    assert not any(path.startswith("packages/") for path in found)


def test_user_and_password_of_a_direct_url_stay_here(site):
    install(site, "sglang", "0.5.9", direct_url=json.dumps({"url": "https://me:hunter2@git.example.invalid/s.git", "vcs_info": {"vcs": "git"}}))
    assert facts(site)["packages/sglang/direct_url"] == {"url": "https://git.example.invalid/s.git", "vcs_info": {"vcs": "git"}}


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000])
def test_a_direct_url_that_makes_no_sense_is_unreadable(text):
    with pytest.raises(Unreadable):
        parse_direct_url(text)


@pytest.mark.parametrize(("url", "left"), [
    ("ssh://git@host/x", "ssh://host/x"), ("https://host/a@b", "https://host/a@b"), ("git@host:x.git", "git@host:x.git"), ("https://a:b@c@host/", "https://host/"),
])
def test_userinfo_is_what_stands_before_the_host(url, left):
    assert without_userinfo(url) == left


def test_an_egg_info_folder_and_file_are_distributions_too(site):
    (site / "idna-3.3.egg-info").mkdir()
    (site / "idna-3.3.egg-info" / "PKG-INFO").write_text("Name: idna\nVersion: 3.3\n")
    (site / "PyYAML-6.0-py3.11.egg-info").write_text("Name: PyYAML\nVersion: 6.0\n")
    found = facts(site)
    assert (found["packages/idna/version"], found["packages/pyyaml/version"]) == ("3.3", "6.0")


def test_a_version_that_is_none_and_a_strange_name_are_told_as_they_are(site):
    install(site, "odd", "not a version")
    (site / os.fsdecode(b"caf\xe9-1.0.dist-info")).mkdir()
    found = facts(site)
    assert found["packages/odd/version"] == "not a version"
    assert json.loads(json.dumps(found["packages/caf\udce9/metadata"])).startswith("unreadable: ")


def test_further_interpreters_stand_below_their_path(site, tmp_path):
    install(site, "torch", "2.9.1")
    other = tmp_path / "other"
    other.mkdir()
    install(other, "torch", "2.8.0")
    host = host_for(site)
    host.targets += (Target("/usr/bin/python-nowhere", (str(other),), None, ""), host.targets[0])
    found = facts_of(packages.collect, host)
    assert found["packages/torch/version"] == "2.9.1"
    assert found["pythons/%2Fusr%2Fbin%2Fpython-nowhere/packages/torch/version"] == "2.8.0"
    assert found["pythons/%2Fusr%2Fbin%2Fpython-nowhere/python/version"].reason == "/usr/bin/python-nowhere: no such interpreter"


def test_a_real_virtual_environment_tells_its_interpreter(tmp_path):
    python, folder = venv(tmp_path / "venv")
    found = facts(folder, python=python)
    assert (found["python/executable"], found["python/version"]) == (python, sys.version.split()[0])
    assert found["python/base"] == os.path.realpath(sys.executable)


def test_the_list_is_read_without_running_a_pth_line(tmp_path):
    python, folder = venv(tmp_path / "venv")
    (folder / "evil.pth").write_text(f"import os; os.mkdir({str(tmp_path / 'ran')!r})\n")
    facts(folder, python=python)
    assert not (tmp_path / "ran").exists()


def test_a_recorded_host_has_no_install_time_and_the_version_of_its_pyvenv(tmp_path):
    info = f"{SITE}/torch-2.9.1.dist-info"
    files = {f"{info}/METADATA": "Name: torch\nVersion: 2.9.1\n", f"{info}/RECORD": "", "/opt/venv/pyvenv.cfg": "version = 3.12.3\n"}
    found, status, _ = recorded_facts(tmp_path, files)
    assert (status, found["python/version"], found["packages/torch/version"]) == ("ok", "3.12.3", "2.9.1")
    assert "packages/torch/installed_at" not in found


def test_a_folder_that_may_not_be_listed_leaves_every_package_unknown(tmp_path):
    found, status, _ = recorded_facts(tmp_path, {f"{SITE}/a-1.dist-info/METADATA": ""}, denied=[SITE])
    assert (status, found["packages"].status) == ("ok", "denied")


def test_a_metadata_file_that_hung_leaves_its_version_unknown_and_no_other(tmp_path):
    files = {f"{SITE}/{name}-1.dist-info/METADATA": f"Name: {name}\nVersion: 1\n" for name in ("a", "b")}
    found, _, _ = recorded_facts(tmp_path, files, hangs=[f"{SITE}/a-1.dist-info"])
    assert (found["packages/a/version"].status, found["packages/a/record"].status, found["packages/b/version"]) == ("timeout", "timeout", "1")


def test_without_an_interpreter_nothing_is_absent(tmp_path):
    host = recorded(tmp_path, {})
    assert told(packages.collect, host)[1] == "not_recorded"


def test_every_path_is_one_that_the_probe_says_it_tells(site):
    install(site, "torch", "2.9.1", direct_url='{"url": "file:///x"}').rename(site / "~orch-2.9.1.dist-info")
    install(site, "torch", "2.9.1")
    host = Host(host_for(site).root, Settings())
    host.targets = (Target(sys.executable, (str(site),), None, ""), Target("/x/python", (str(site),), None, ""))
    assert all(matches(path, packages.PROBES[0].tells) for path in facts_of(packages.collect, host))
