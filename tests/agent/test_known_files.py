"""What an earlier snapshot read is not read again, and only then: a file's size, times and inode must be those of a file that had been left alone."""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import contextmanager

import pytest

from driftwatch.agent.collectors import sources
from driftwatch.agent.known_files import key_of, units
from tests.agent.installs import facts_of, host_for
from tests.lab import faultfs

TREES = 9
SETTLED_S = 2.1
TEXTS = {"__init__.py": "", "engine.py": "a = 1\n", "layers/rope.py": "b = 2\n"}
INOTIFY_OPEN, INOTIFY_FOLDER, NON_BLOCKING = 0x20, 0x40000000, 0o4000


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """Return an iterator of trees that were all left alone for long enough."""
    tops = [tmp_path_factory.mktemp("tree") / "sglang" for _ in range(TREES)]
    for top in tops:
        for path, text in TEXTS.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text)
        (top / "big.bin").write_bytes(b"x" * (1 << 20) + b"y")
    time.sleep(SETTLED_S)
    return iter(tops)


@pytest.fixture
def tree(settled):
    return next(settled)


def facts(tree, known=None, **settings):
    return facts_of(sources.collect, host_for(source=str(tree), known=known or {}, **settings))


def known_of(found, root):
    """Return what the controller would send along after these facts."""
    files = {}
    for path, times in found.items():
        name = path.rpartition("/")[2]
        if "/times/" in path and len(times) == 3:
            files[name] = [int(found["sources/sglang/files/" + name].split()[1]), *times]
    return {str(root): {unit: key_of((name, files[name]) for name in names) for unit, names in units(files).items()}}


def same(found):
    """Return the units of which no more was told than that they are as before."""
    return {path.rpartition("/")[2] for path in found if "/same/" in path}


@contextmanager
def opened(*folders):
    """Yield the list that holds, at the end, the names of the files that anyone opened in these folders: the kernel tells it."""
    libc, names = ctypes.CDLL(None, use_errno=True), []
    watch = libc.inotify_init1(NON_BLOCKING)
    assert watch >= 0
    try:
        for folder in folders:
            assert libc.inotify_add_watch(watch, os.fsencode(str(folder)), INOTIFY_OPEN) >= 0
        yield names
        try:
            data = os.read(watch, 1 << 16)
        except BlockingIOError:
            data = b""
        while data:
            mask, length = int.from_bytes(data[4:8], "little"), int.from_bytes(data[12:16], "little")
            if not mask & INOTIFY_FOLDER:
                names.append(data[16:16 + length].rstrip(b"\0").decode())
            data = data[16 + length:]
    finally:
        os.close(watch)


def test_of_an_unchanged_tree_no_file_is_opened(tree):
    known = known_of(facts(tree), tree)
    with opened(tree, tree / "layers") as names:
        found = facts(tree, known)
    assert names == []
    assert same(found) == {"", "layers", "big.bin"}
    assert found["sources/sglang/count"] == len(TEXTS) + 1


def test_without_what_is_known_every_file_is_opened(tree):
    with opened(tree, tree / "layers") as names:
        assert same(facts(tree)) == set()
    assert set(names) == {"__init__.py", "engine.py", "rope.py", "big.bin"}


def test_other_bytes_of_the_same_size_are_read_though_the_mtime_was_put_back(tree):
    known, before = known_of(facts(tree), tree), (tree / "engine.py").stat()
    (tree / "engine.py").write_text("a = 3\n")
    os.utime(str(tree / "engine.py"), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (tree / "engine.py").stat().st_mtime_ns == before.st_mtime_ns
    with opened(tree, tree / "layers") as names:
        found = facts(tree, known)
    assert "engine.py" in names
    assert same(found) == {"layers", "big.bin"}
    assert found["sources/sglang/files/engine.py"] == facts(tree)["sources/sglang/files/engine.py"]


def test_a_file_put_in_the_place_of_another_is_read(tree):
    known, before = known_of(facts(tree), tree), (tree / "layers/rope.py").stat()
    (tree / "new").write_text("b = 4\n")
    os.utime(str(tree / "new"), ns=(before.st_atime_ns, before.st_mtime_ns))
    (tree / "new").rename(tree / "layers/rope.py")
    assert same(facts(tree, known)) == {"big.bin"} | ({""} if known_of(facts(tree), tree)[str(tree)][""] == known[str(tree)][""] else set())
    assert "sources/sglang/files/layers%2Frope.py" in facts(tree, known)


@pytest.mark.parametrize("change", ["a file more", "a file less", "a link more"])
def test_a_folder_with_other_names_in_it_is_read(tree, change):
    known = known_of(facts(tree), tree)
    if change == "a file more":
        (tree / "layers/more.py").write_text("")
    elif change == "a file less":
        (tree / "layers/rope.py").unlink()
    else:
        (tree / "layers/link.py").symlink_to("rope.py")
    found = facts(tree, known)
    assert "layers" not in same(found)
    assert {path: value for path, value in found.items() if "/files/layers" in path} == {
        path: value for path, value in facts(tree).items() if "/files/layers" in path}


def test_what_is_known_of_another_tree_is_not_used(tree):
    assert same(facts(tree, known_of(facts(tree), str(tree) + "-before"))) == set()


def test_a_larger_file_than_the_budget_is_told_alike_whether_it_is_known_or_not(tree):
    found = facts(tree, known_of(facts(tree), tree), byte_budget=1 << 20)
    assert "too large" in found["sources/sglang/files/big.bin"].reason


def test_a_file_that_was_just_written_is_not_one_to_be_trusted(tmp_path):
    top = tmp_path / "sglang"
    top.mkdir()
    (top / "__init__.py").write_text("x")
    assert len(facts(top)["sources/sglang/times/__init__.py"]) == 2


@pytest.mark.skipif(bool(faultfs.why_not()), reason="no FUSE here: " + faultfs.why_not())
def test_a_file_system_that_keeps_only_whole_seconds_is_not_trusted(tmp_path):
    with faultfs.mounted(tmp_path / "fuse", "ok.py") as where:
        assert len(facts(where)["sources/fuse/times/ok.py"]) == 2
