"""The source tree's digests: edited is told apart from touched, and what cannot be read is unknown, never left out."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time

import pytest

from driftwatch.agent.collectors import sources
from driftwatch.agent.host import Target
from driftwatch.model import matches
from tests.agent.installs import edit, facts_of, host_for
from tests.agent.recording import recorded, told

FILES = {"__init__.py": "", "version.py": '__version__ = "0.5.9"\n', "srt/engine.py": "a = 1\n", "srt/configs/a.json": "{}"}
WRITER = "import sys\nwith open(sys.argv[1], 'r+b') as file:\n    while True:\n        file.seek(0)\n        file.write(b'x')\n        file.flush()\n"


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "python" / "sglang"
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def facts(folder, **settings):
    host = host_for(**settings)
    host.settings = host.settings._replace(source=str(folder))
    return facts_of(sources.collect, host)


def value(text):
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()} {len(text.encode())}"


def test_every_file_has_its_digest_and_size(tree):
    found = facts(tree)
    digests = {path.rpartition("/")[2]: found[path] for path in found if "/files/" in path}
    assert digests == {path.replace("/", "%2F"): value(text) for path, text in FILES.items()}
    assert (found["sources/sglang/root"], found["sources/sglang/count"]) == (str(tree), len(FILES))


def test_touched_moves_the_times_alone_and_edited_the_digest_too(tree):
    before = facts(tree)
    time.sleep(0.02)
    (tree / "version.py").touch()
    touched = facts(tree)
    edit(tree / "srt/engine.py", "a = 2\n")
    edited = facts(tree)
    assert {path for path in before if before[path] != touched[path]} == {"sources/sglang/times/version.py"}
    assert {path for path in touched if touched[path] != edited[path]} == {
        "sources/sglang/times/srt%2Fengine.py", "sources/sglang/files/srt%2Fengine.py", "sources/sglang/tree"}


def test_what_python_or_git_leave_in_a_tree_does_not_count(tree):
    before = facts(tree)
    for path in ("__pycache__/a.cpython-311.pyc", "srt/__pycache__/b.py", "srt/c.pyc", ".git/HEAD", "srt/.git"):
        (tree / path).parent.mkdir(exist_ok=True)
        (tree / path).write_text("x")
    assert facts(tree) == before


def test_of_a_checkout_the_package_is_told(tree, tmp_path):
    (tmp_path / "README.md").write_text("x")
    assert facts(tmp_path) == facts(tree)


def test_the_folder_above_the_package_stands_for_it(tree):
    assert facts(tree.parent) == facts(tree)


def test_any_other_folder_is_told_whole_under_its_own_name(tmp_path):
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve/serve.py").write_text("PORT = 30000\n")
    assert facts(tmp_path / "serve")["sources/serve/files/serve.py"] == value("PORT = 30000\n")


def test_a_fifo_is_said_and_holds_nobody(tree):
    os.mkfifo(str(tree / "srt/model.py"))
    begun = time.monotonic()
    found = facts(tree)
    assert time.monotonic() - begun < 1
    assert found["sources/sglang/files/srt%2Fmodel.py"] == ("error", f"{tree}/srt/model.py: not a regular file")
    assert found["sources/sglang/tree"].reason == "1 of 5 files could not be read, first srt/model.py"


def test_a_link_is_told_by_its_text_and_not_followed(tree):
    (tree / "self").symlink_to(tree)
    (tree / "gone.py").symlink_to("nowhere/x.py")
    found = facts(tree)
    assert (found["sources/sglang/files/self"], found["sources/sglang/files/gone.py"]) == (f"link:{tree}", "link:nowhere/x.py")
    assert found["sources/sglang/count"] == len(FILES) + 2


def test_a_file_beyond_the_byte_budget_is_too_large_within_a_second(tree):
    (tree / "weights.bin").touch()
    os.truncate(str(tree / "weights.bin"), 4 << 30)
    begun = time.monotonic()
    found = facts(tree, byte_budget=1 << 30)
    assert time.monotonic() - begun < 1
    assert found["sources/sglang/files/weights.bin"].reason == f"{tree}/weights.bin: too large, not hashed: {4 << 30} bytes"
    assert found["sources/sglang/files/version.py"] == value(FILES["version.py"])


def test_the_budget_is_one_for_all_files(tree):
    for name in "abc":
        (tree / f"{name}.bin").write_bytes(b"x" * (2 << 20))
    found = facts(tree, byte_budget=5 << 20)
    assert [isinstance(found[f"sources/sglang/files/{name}.bin"], str) for name in "abc"] == [True, True, False]


def test_large_files_have_their_true_digests_too(tree):
    texts = {name: name * (1 << 21) for name in ("a.so", "b.so", "c.so")}
    for name, text in texts.items():
        (tree / name).write_text(text)
    found = facts(tree)
    assert {name: found[f"sources/sglang/files/{name}"] for name in texts} == {name: value(text) for name, text in texts.items()}


def test_a_file_that_changes_all_the_time_is_said_to(tree):
    (tree / "log.bin").touch()
    os.truncate(str(tree / "log.bin"), 64 << 20)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tree / "log.bin")])
    try:
        time.sleep(0.3)
        found = facts(tree)
    finally:
        writer.kill()
        writer.wait(5)
    assert "changing while it is read" in found["sources/sglang/files/log.bin"].reason


def test_a_tree_1500_folders_deep_ends_and_says_where_it_stopped(tree):
    where = os.open(str(tree), os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=where)
        inner = os.open("d", os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = inner
    os.close(where)
    found = facts(tree)
    assert any("deeper than 64 folders" in one.reason for path, one in found.items() if path.startswith("sources/sglang/files/d%2Fd"))
    subprocess.run(["rm", "-rf", str(tree / "d")], check=True)


@pytest.mark.parametrize("name", [b"caf\xe9.py", b"new\nline.py", b"\x1b[31m.py", "\u202etxt.py".encode(), b"-rf", b"100%.py"])
def test_a_strange_name_comes_back_byte_for_byte(tree, name):
    (tree / os.fsdecode(name)).write_text("x")
    paths = json.loads(json.dumps(list(facts(tree))))
    told_names = [path[len("sources/sglang/files/"):].replace("%2F", "/").replace("%25", "%") for path in paths if "/files/" in path]
    assert name in map(os.fsencode, told_names)


def test_without_source_the_tree_of_the_serving_interpreter_is_told(tree):
    host = host_for(source=str(tree))
    host.targets += (Target("/other/python", (), str(tree), ""),)
    found = facts_of(sources.collect, host)
    assert found["sources/sglang/count"] == len(FILES)
    assert not any(path.startswith("sources/") and not path.startswith("sources/sglang/") for path in found)


def test_a_second_tree_of_the_same_name_stands_under_its_path(tree, tmp_path):
    (tmp_path / "b/sglang").mkdir(parents=True)
    (tmp_path / "b/sglang/__init__.py").write_text("x")
    host = host_for(source=str(tree))
    host.targets += (Target("/other/python", (), str(tmp_path / "b/sglang"), ""),)
    key = f"{tmp_path}/b/sglang".replace("/", "%2F")
    assert facts_of(sources.collect, host)[f"sources/{key}/files/__init__.py"] == value("x")


def test_a_given_folder_that_is_not_there_is_unknown_and_not_absent(tmp_path):
    assert facts(tmp_path / "nowhere") == {"sources/nowhere": ("error", f"{tmp_path}/nowhere: no such folder")}


def test_a_host_without_sglang_has_no_tree(tmp_path):
    assert told(sources.collect, host_for(tmp_path))[1:] == (
        "absent", "no SGLang source tree: none was given with --source and no interpreter has the package")


def test_without_an_interpreter_nothing_is_absent(tmp_path):
    assert told(sources.collect, recorded(tmp_path, {}))[1] == "not_recorded"


def test_a_part_that_was_denied_or_hung_is_unknown_and_the_rest_told(tmp_path):
    top = "/opt/sglang/python/sglang"
    host = recorded(tmp_path, {f"{top}/{path}": text for path, text in FILES.items()}, denied=[f"{top}/srt"])
    host.targets = (Target("/usr/bin/python3", (), top, ""),)
    found = facts_of(sources.collect, host)
    assert found["sources/sglang/files/srt"].status == "denied"
    assert found["sources/sglang/files/version.py"] == value(FILES["version.py"])
    assert "sources/sglang/times/version.py" not in found


def test_every_path_is_one_that_the_probe_says_it_tells(tree):
    assert all(matches(path, sources.PROBES[0].tells) for path in facts(tree))
    assert matches("sources/sglang/times/version.py", sources.PROBES[0].volatile)
