"""RECORD against the disk: what was edited after the install is found, what was only touched is not, and what could not be looked at is unknown."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

import pytest

from driftwatch.agent.collectors import record
from driftwatch.agent.dist_metadata import joined, parse_record
from driftwatch.agent.host import Target
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.model import matches
from tests.agent.installs import edit, facts_of, host_for, install, record_line, venv, wheel
from tests.agent.recording import recorded, told

SITE = "/opt/venv/lib/python3.12/site-packages"
FILES = {"idna/__init__.py": "a = 1\n", "idna/core.py": "b = 2\n", "idna/package_data.py": "c = 3\n", "idna/intranges.py": "d = 4\n", "idna/py.typed": "x"}
EDITED = "sha256:" + hashlib.sha256(b"b = 3\n").hexdigest()


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "lib" / "python3" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def facts(site, **settings):
    return facts_of(record.collect, host_for(site, **settings))


def differing(found):
    return {path: value for path, value in found.items() if not path.endswith("/verified")}


def recorded_facts(folder, files, **described):
    host = recorded(folder, files, **described)
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    return told(record.collect, host)


def recorded_install(name, files, *, left_out=()):
    """Return the files of a recorded install, and of those left out only the lines in RECORD."""
    lines = [record_line(path, text.encode()) for path, text in files.items()]
    info = f"{name}-1.dist-info"
    lines += [record_line(f"{info}/METADATA", b"longer than the head that was recorded"), f"{info}/WHEEL,sha256=x,9", f"{info}/RECORD,,"]
    kept = {f"{SITE}/{path}": text for path, text in files.items() if path not in left_out}
    return {**kept, f"{SITE}/{info}/METADATA": f"Name: {name}\nVersion: 1\n", f"{SITE}/{info}/RECORD": "\n".join(lines) + "\n"}


def test_a_fresh_install_differs_in_nothing(site):
    install(site, "idna", "3.6", FILES)
    assert facts(site) == {"packages/idna/verified": {"files": 9, "altered": 0, "missing": 0, "unhashed": 0}}


def test_what_is_as_old_as_its_record_is_not_hashed(site):
    install(site, "idna", "3.6", FILES)
    assert facts(site, byte_budget=0)["packages/idna/verified"]["unhashed"] == 0


def test_a_file_edited_to_the_same_size_is_altered(site):
    install(site, "idna", "3.6", FILES)
    edit(site / "idna/core.py", "b = 3\n")
    assert differing(facts(site)) == {"packages/idna/altered/idna%2Fcore.py": {"size": 6, "recorded_size": 6, "sha256": EDITED[len("sha256:"):]}}


def test_a_file_edited_with_its_mtime_put_back_is_altered(site):
    install(site, "idna", "3.6", FILES)
    before = (site / "idna/core.py").stat()
    edit(site / "idna/core.py", "b = 3\n")
    os.utime(str(site / "idna/core.py"), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list(differing(facts(site))) == ["packages/idna/altered/idna%2Fcore.py"]


def test_a_file_that_was_only_touched_is_not_altered(site):
    install(site, "idna", "3.6", FILES)
    time.sleep(0.02)
    (site / "idna/core.py").touch()
    assert differing(facts(site)) == {}


def test_another_size_counts_for_every_kind_of_file(site):
    install(site, "idna", "3.6", FILES)
    edit(site / "idna/py.typed", "xy")
    assert facts(site)["packages/idna/altered/idna%2Fpy.typed"]["recorded_size"] == 1


def test_a_file_that_is_gone_is_missing(site):
    install(site, "idna", "3.6", FILES)
    (site / "idna/core.py").unlink()
    found = facts(site)
    assert differing(found) == {"packages/idna/missing/idna%2Fcore.py": True}
    assert found["packages/idna/verified"]["missing"] == 1


def test_a_whole_folder_that_is_gone_is_missing_and_beyond_a_hundred_files_the_rest_is_unknown(site):
    install(site, "big", "1", {f"big/m{number}.py": "" for number in range(130)})
    for path in (site / "big").iterdir():
        path.unlink()
    (site / "big").rmdir()
    found = facts(site)
    assert found["packages/big/verified"]["missing"] == 130
    assert len([path for path in found if "/missing/" in path]) == 100
    assert found["packages/big/missing"].reason == "130 files are missing, 100 of them are named"


def test_a_pyc_never_counts(site):
    install(site, "numpy", "2.0", {"numpy/__init__.py": "", "numpy/__pycache__/conv.cpython-311.pyc": "as built"})
    edit(site / "numpy/__pycache__/conv.cpython-311.pyc", "as compiled here")
    assert differing(facts(site)) == {}


def test_entries_outside_the_package_folder_are_found(site):
    info = install(site, "tool", "1", {"tool.py": ""})
    script = site.parent.parent.parent / "bin" / "tool"
    script.parent.mkdir()
    script.write_text("#!/x\n")
    with (info / "RECORD").open("a") as file:
        file.write(record_line("../../../bin/tool", b"#!/x\n") + "\n" + record_line("../../../bin/gone", b"") + "\n")
    assert differing(facts(site)) == {"packages/tool/missing/..%2F..%2F..%2Fbin%2Fgone": True}


def test_a_kernel_library_is_hashed_and_another_package_s_is_not(site):
    install(site, "sgl-kernel", "0.3.21", {"sgl_kernel/ops.abi3.so": "good"})
    install(site, "other", "1", {"other/ops.so": "good"})
    edit(site / "sgl_kernel/ops.abi3.so", "evil")
    edit(site / "other/ops.so", "evil")
    assert list(differing(facts(site))) == ["packages/sgl-kernel/altered/sgl_kernel%2Fops.abi3.so"]


def test_two_large_files_are_hashed_on_two_threads_to_the_same_digests(site):
    install(site, "sgl-kernel", "1", {"sgl_kernel/a.so": "a" * (2 << 20), "sgl_kernel/b.so": "b" * (3 << 20), "sgl_kernel/c.so": "c" * (2 << 20)})
    for name in "abc":
        edit(site / f"sgl_kernel/{name}.so", name.upper() * (site / f"sgl_kernel/{name}.so").stat().st_size)
    found = facts(site)
    sha256 = {path[-4]: value["sha256"] for path, value in differing(found).items()}
    assert sha256 == {name: hashlib.sha256((site / f"sgl_kernel/{name}.so").read_bytes()).hexdigest() for name in "abc"}


def test_what_is_larger_than_the_byte_budget_is_not_hashed_and_that_is_said(site):
    install(site, "sgl-kernel", "1", {"sgl_kernel/a.so": "a"})
    os.truncate(str(site / "sgl_kernel/a.so"), 4 << 30)
    begun = time.monotonic()
    found = facts(site, byte_budget=1 << 30)
    assert time.monotonic() - begun < 1
    assert found["packages/sgl-kernel/altered/sgl_kernel%2Fa.so"] == {"size": 4 << 30, "recorded_size": 1, "sha256": None}
    assert found["packages/sgl-kernel/verified"]["unhashed"] == 1


def test_a_touched_file_that_was_not_hashed_is_unknown_and_never_taken_as_unaltered(site):
    install(site, "idna", "3.6", FILES)
    edit(site / "idna/core.py", "b = 3\n")
    found = facts(site, byte_budget=0)
    assert found["packages/idna/altered/idna%2Fcore.py"] == Unknown("not_recorded", "not hashed: the byte budget is used up")
    assert found["packages/idna/verified"]["altered"] == 0


def test_files_that_are_links_are_judged_by_what_they_lead_to(site, tmp_path):
    install(site, "six", "1.16.0", {"six.py": "a = 1\n"})
    (tmp_path / "cache.py").write_text("a = 1\n")
    (site / "six.py").unlink()
    (site / "six.py").symlink_to(tmp_path / "cache.py")
    assert differing(facts(site)) == {}


def test_a_fifo_in_place_of_a_listed_file_is_altered_and_holds_nobody(site):
    install(site, "six", "1.16.0", {"six.py": "a = 1\n"})
    (site / "six.py").unlink()
    os.mkfifo(str(site / "six.py"))
    assert list(differing(facts(site))) == ["packages/six/altered/six.py"]


def test_without_a_record_nothing_is_said_to_be_unaltered(site):
    (install(site, "six", "1.16.0") / "RECORD").unlink()
    assert facts(site)["packages/six/altered"].status == "not_recorded"


def test_a_record_that_is_no_file_leaves_its_package_unknown_and_no_other(site):
    info = install(site, "six", "1.16.0")
    install(site, "idna", "3.6", FILES)
    (info / "RECORD").unlink()
    os.mkfifo(str(info / "RECORD"))
    found = facts(site)
    assert found["packages/six/altered"].status == "error"
    assert found["packages/idna/verified"]["altered"] == 0


def test_of_two_dist_infos_the_latest_one_is_compared(site):
    old = install(site, "sgl-kernel", "0.3.20", {"sgl_kernel/__init__.py": "old\n"})
    os.utime(str(old / "RECORD"), (1, 1))
    install(site, "sgl-kernel", "0.3.21", {"sgl_kernel/__init__.py": "new one\n"})
    assert differing(facts(site)) == {}


def test_what_pip_itself_installs_differs_in_nothing(tmp_path):
    made = wheel(tmp_path / "wheels", "tool", "1.0", {**FILES, "tool-1.0.dist-info/entry_points.txt": "[console_scripts]\nidna-tool = idna:a\n"})
    python, folder = venv(tmp_path / "venv")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", str(made)]
    ran = subprocess.run(pip, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"this Python has no pip that can install into another environment: {ran.stderr.strip()[-100:]}")
    found = facts(folder)
    assert differing(found) == {}
    assert found["packages/tool/verified"]["files"] > len(FILES) + 4


def test_a_recording_of_some_files_is_compared_where_it_has_them_and_else_unchecked(tmp_path):
    files = {"torch/version.py": "a\n", **{f"torch/m{number}.py": "x" for number in range(9)}}
    found, status, _ = recorded_facts(tmp_path, recorded_install("torch", files, left_out=set(files) - {"torch/version.py"}))
    assert status == "ok"
    assert not any("/missing/" in path for path in found)
    assert found["packages/torch/missing"].reason == "9 of 10 files are not in the recording"
    assert found["packages/torch/verified"] == {"files": 10, "altered": 0, "missing": 0, "unhashed": 0, "unchecked": 9}


def test_a_recording_of_most_files_tells_what_is_missing_and_what_was_edited(tmp_path):
    files = recorded_install("idna", FILES, left_out={"idna/intranges.py"})
    files[f"{SITE}/idna/core.py"] = "b = 3\n"
    found, _, _ = recorded_facts(tmp_path, files)
    assert differing(found) == {"packages/idna/altered/idna%2Fcore.py": {"size": 6, "recorded_size": 6, "sha256": EDITED[len("sha256:"):]},
                                "packages/idna/missing/idna%2Fintranges.py": True}


def test_a_folder_that_hung_leaves_its_package_unknown_and_the_others_told(tmp_path):
    files = {**recorded_install("sgl_kernel", {f"sgl_kernel/m{number}.py": "" for number in range(5)}), **recorded_install("zlib_ng", {"zlib_ng.py": ""})}
    found, status, _ = recorded_facts(tmp_path, files, hangs=[f"{SITE}/sgl_kernel"])
    assert (status, found["packages/sgl-kernel/altered"].status, found["packages/sgl-kernel/missing"].status) == ("ok", "timeout", "timeout")
    assert found["packages/zlib-ng/verified"]["altered"] == 0


def test_a_package_folder_that_may_not_be_listed_leaves_the_probe_denied(tmp_path):
    _, status, _ = recorded_facts(tmp_path, {f"{SITE}/six.py": ""}, denied=[SITE])
    assert status == "denied"


def test_a_record_with_quoted_names_and_odd_lines_is_understood():
    entries = list(parse_record('"a,b.py",sha256=x,3\r\nc.py,,\n\nd.py\ne.py,sha256=y,many\n'))
    assert [tuple(one) for one in entries] == [("a,b.py", "sha256=x", 3), ("c.py", "", None), ("d.py", "", None), ("e.py", "sha256=y", None)]


def test_a_record_with_a_field_beyond_all_bounds_is_unreadable():
    with pytest.raises(Unreadable, match="RECORD"):
        list(parse_record("a" * 200_000 + ",,\n"))


@pytest.mark.parametrize(("path", "where"), [
    ("../../bin/x", "/opt/bin/x"), ("./a//b.py", "/opt/lib/site/a/b.py"), ("/etc/x", "/etc/x"), ("../" * 9 + "x", "/x"),
])
def test_paths_of_a_record_are_worked_out_by_name(path, where):
    assert joined("/opt/lib/site", path) == where


def test_every_path_is_one_that_the_probe_says_it_tells(site):
    install(site, "idna", "3.6", FILES)
    edit(site / "idna/core.py", "b = 3\n")
    (site / "idna/intranges.py").unlink()
    (install(site, "six", "1.16.0") / "RECORD").unlink()
    assert all(matches(path, record.PROBES[0].tells) for path in facts(site))
