"""Every installed file against RECORD, whatever its times say, and one digest for each package's folder."""

from __future__ import annotations

import hashlib
import os

import pytest

from driftwatch.agent.collectors import digests, record
from driftwatch.agent.host import Target
from driftwatch.model import matches
from tests.agent.installs import edit, facts_of, host_for, install, record_line
from tests.agent.recording import recorded, told

SITE = "/opt/venv/lib/python3.12/site-packages"
FILES = {"idna/__init__.py": "a = 1\n", "idna/core.py": "b = 2\n", "idna/data.json": "{}", "idna/fast.so": "code", "idna/py.typed": "x"}


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "lib" / "python3" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def facts(site, **settings):
    return facts_of(digests.collect, host_for(site, **settings))


def rewrite_with_its_times_kept(path, text):
    before = path.stat()
    path.write_text(text)
    os.utime(str(path), ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_fresh_install_is_as_recorded(site):
    install(site, "idna", "3.6", FILES)
    found = facts(site)
    assert found["packages/idna/digests"] == {"files": 8, "altered": 0, "missing": 0, "unread": 0}
    assert not any("/rewritten" in path for path in found)
    assert found["site_packages/idna/count"] == 5


@pytest.mark.parametrize("name", ["core.py", "data.json", "fast.so"])
def test_a_file_of_any_kind_that_was_rewritten_to_the_same_size_is_told(site, name):
    info = install(site, "idna", "3.6", FILES)
    text = "x" * (site / "idna" / name).stat().st_size
    rewrite_with_its_times_kept(site / "idna" / name, text)
    os.utime(str(info / "RECORD"), (2e9, 2e9))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    assert facts(site)[f"packages/idna/rewritten/idna%2F{name}"] == {"size": len(text), "recorded_size": len(text), "sha256": sha256}


def test_what_times_hide_from_record_does_not_hide_here(site):
    info = install(site, "idna", "3.6", FILES)
    rewrite_with_its_times_kept(site / "idna/core.py", "b = 3\n")
    os.utime(str(info / "RECORD"), (4e9, 4e9))
    assert not any("/altered/" in path for path in facts_of(record.collect, host_for(site)))
    assert "packages/idna/rewritten/idna%2Fcore.py" in facts(site)


def test_a_pyc_never_counts(site):
    install(site, "idna", "3.6", {**FILES, "idna/__pycache__/core.cpython-311.pyc": "as built"})
    before = facts(site)
    edit(site / "idna/__pycache__/core.cpython-311.pyc", "as compiled here")
    assert facts(site) == before


def test_the_tree_of_a_package_moves_with_a_file_that_no_record_names(site):
    install(site, "idna", "3.6", FILES)
    before = facts(site)
    (site / "idna/sitecustomize.py").write_text("")
    after = facts(site)
    assert {path for path in after if after[path] != before[path]} == {"site_packages/idna/tree", "site_packages/idna/count"}


def test_a_link_counts_with_its_text_in_the_tree_and_with_what_it_leads_to_for_the_record(site, tmp_path):
    install(site, "six", "1.16.0", {"six.py": "a = 1\n"})
    (tmp_path / "cache.py").write_text("a = 1\n")
    (site / "six.py").unlink()
    before = facts(site)
    (site / "six.py").symlink_to(tmp_path / "cache.py")
    found = facts(site)
    assert (before["packages/six/digests"]["missing"], found["packages/six/digests"]["missing"], found["packages/six/digests"]["altered"]) == (1, 0, 0)
    assert found["site_packages/six.py/count"] == 1


def test_two_large_files_come_to_the_same_digests_as_one_thread_gives(site):
    install(site, "sgl-kernel", "1", {"sgl_kernel/a.so": "a" * (2 << 20), "sgl_kernel/b.so": "b" * (3 << 20), "sgl_kernel/c.so": "c" * (2 << 20)})
    rewrite_with_its_times_kept(site / "sgl_kernel/b.so", "B" * (3 << 20))
    found = facts(site)
    assert [path for path in found if "/rewritten" in path] == ["packages/sgl-kernel/rewritten/sgl_kernel%2Fb.so"]


def test_beyond_the_byte_budget_nothing_is_said_to_be_unchanged(site):
    install(site, "idna", "3.6", FILES)
    install(site, "sgl-kernel", "1", {"sgl_kernel/a.so": "a" * 100_000})
    found = facts(site, byte_budget=50_000)
    assert found["packages/idna/digests"]["unread"] == 0
    assert (found["packages/sgl-kernel/digests"]["unread"], found["packages/sgl-kernel/rewritten"].status) == (1, "not_recorded")
    assert found["site_packages/sgl_kernel/tree"].status == "not_recorded"


def test_a_fifo_in_place_of_a_file_holds_nobody_and_leaves_its_package_open(site):
    install(site, "six", "1.16.0", {"six.py": "a = 1\n"})
    (site / "six.py").unlink()
    os.mkfifo(str(site / "six.py"))
    found = facts(site)
    assert (found["packages/six/rewritten"].status, found["packages/six/digests"]["unread"]) == ("error", 1)


def test_without_a_record_it_is_unknown_and_the_tree_is_told(site):
    (install(site, "six", "1.16.0", {"six.py": ""}) / "RECORD").unlink()
    found = facts(site)
    assert found["packages/six/rewritten"].status == "not_recorded"
    assert found["site_packages/six.py/tree"].startswith("sha256:")


def test_more_than_a_hundred_rewritten_files_leave_the_rest_unknown(site):
    install(site, "big", "1", {f"big/m{number}.py": "a" for number in range(130)})
    for path in (site / "big").iterdir():
        path.write_text("b")
    found = facts(site)
    assert found["packages/big/digests"]["altered"] == 130
    assert found["packages/big/rewritten"].reason == "130 files are altered, 100 of them are named"


def test_a_recording_of_some_files_is_read_where_it_has_them(tmp_path):
    lines = [record_line(f"torch/m{number}.py", b"x") for number in range(5)]
    files = {f"{SITE}/torch/m0.py": "y", f"{SITE}/torch-1.dist-info/METADATA": "Name: torch\n", f"{SITE}/torch-1.dist-info/RECORD": "\n".join(lines)}
    host = recorded(tmp_path, files)
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found, status, _ = told(digests.collect, host)
    assert (status, found["packages/torch/digests"]) == ("ok", {"files": 5, "altered": 1, "missing": 0, "unread": 4})
    assert found["packages/torch/rewritten"].status == "not_recorded"


def test_a_folder_that_hung_leaves_its_package_and_its_tree_unknown(tmp_path):
    lines = [record_line(f"sgl_kernel/m{number}.py", b"x") for number in range(5)]
    host = recorded(tmp_path, {f"{SITE}/sgl_kernel-1.dist-info/RECORD": "\n".join(lines), f"{SITE}/sgl_kernel/m0.py": "x"}, hangs=[f"{SITE}/sgl_kernel"])
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    found, status, _ = told(digests.collect, host)
    assert (status, found["packages/sgl-kernel/rewritten"].status, found["site_packages/sgl_kernel"].status) == ("ok", "timeout", "timeout")


def test_every_path_is_one_that_the_probe_says_it_tells_and_record_does_not(site):
    install(site, "idna", "3.6", FILES)
    edit(site / "idna/core.py", "b = 3\n")
    found = facts(site)
    assert all(matches(path, digests.PROBES[0].tells) for path in found)
    assert not any(matches(path, record.PROBES[0].tells) for path in found)
