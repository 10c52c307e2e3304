"""Whole snapshots of this machine while files of its source tree or of its package folder never answer, answer wrongly, or lie too deep."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest

from tests.agent.installs import install, venv
from tests.lab import faultfs, mirrorfs
from tests.whole.faults import others, take

needs_fuse = pytest.mark.skipif(bool(faultfs.why_not()), reason=f"no FUSE here: {faultfs.why_not()}")
DEADLINE_S = 12.0
SITE_PROBES = ("packages", "versions", "record", "ownership", "objects", "native", "targets")
CUT = dict.fromkeys(("sources", "git", *SITE_PROBES), 1.5)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A virtual environment, the packages that are to lie in it, and a source tree, the last two behind what is mounted."""
    top = tmp_path_factory.mktemp("faults")
    python, site = venv(top / "venv")
    packages, tree = top / "packages", top / "real"
    for folder in (packages, tree / "sub"):
        folder.mkdir(parents=True)
    for name in ("aaa", "torch", "zzz"):
        install(packages, name, "1.0", {f"{name}/{one}.py": f"__version__ = '1.0'  # {one}\n" for one in ("__init__", "version", "a", "b")})
    for path in ("a.py", "b.py", "c.py", "d.py", "e.py", "sub/f.py", "sub/g.py"):
        (tree / path).write_text(f"# {path}\n")
    return python, site, packages, tree


@pytest.fixture(scope="module")
def healthy(folders):
    """What this machine answers while nothing misbehaves."""
    python, site, packages, tree = folders
    with mirrorfs.mounted(packages, site, {}):
        taken = take(pythons=(python,), source=str(tree), deadline_s=DEADLINE_S)
    assert not set(taken.statuses.values()) & {"timeout", "error", "died", "lost"}
    assert taken.left == ()
    return taken


def take_with_tree(folders, tree, **more):
    return take(pythons=(folders[0],), source=str(tree), deadline_s=DEADLINE_S, deadlines=CUT, **more)


def take_with_site(folders, faults):
    python, site, packages, tree = folders
    with mirrorfs.mounted(packages, site, faults):
        return take(pythons=(python,), source=str(tree), deadline_s=DEADLINE_S, deadlines=CUT)


@needs_fuse
def test_files_that_answer_wrongly_are_each_unknown_by_name_and_the_others_told(folders, healthy, tmp_path):
    faults = {"a.py": "stale", "b.py": "half", "c.py": "changing", "d.py": "endless", "sub/f.py": "short"}
    with mirrorfs.mounted(folders[3], tmp_path / "real", faults):
        taken = take_with_tree(folders, tmp_path / "real")
    words = {"a.py": "remount it", "b.py": "EIO", "c.py": "changing while it is read", "d.py": "size changed", "sub%2Ff.py": "size changed"}
    assert taken.statuses == {**healthy.statuses, "sources": "ok"}
    assert {path: word for path, word in words.items() if word in taken.reason_of(f"sources/real/files/{path}")} == words
    for path in ("e.py", "sub%2Fg.py"):
        assert taken.snapshot.get(f"sources/real/files/{path}") == healthy.snapshot.get(f"sources/real/files/{path}")
    assert "5 of 7 files could not be read" in taken.reason_of("sources/real/tree")
    assert taken.left == ()


@needs_fuse
@pytest.mark.parametrize("faults", [{"c.py": "hangread"}, {"sub/f.py": "hangstat"}, {"sub": "hanglist"}], ids=lambda one: next(iter(one.values())))
def test_a_source_tree_that_never_answers_costs_its_own_probe_and_no_more(folders, healthy, tmp_path, faults):
    with mirrorfs.mounted(folders[3], tmp_path / "real", faults):
        taken = take_with_tree(folders, tmp_path / "real")
        assert taken.statuses["sources"] == "timeout"
        assert f"it was waiting for: {'hash' if 'c.py' in faults else 'list'} {tmp_path}" in taken.probes["sources"].reason
        assert others(taken, "sources") == others(healthy, "sources")
        assert taken.wall_s < DEADLINE_S + 2.0
        assert taken.killable == []
        assert [one["pid"] for one in taken.left] == [one["pid"] for one in taken.probes["sources"].left_behind]
        assert taken.status_of("sources/real/files/e.py") in {"timeout", "known"}
        assert taken.status_of("sources/real/files/b.py") == ("known" if "c.py" in faults else taken.status_of("sources/real/files/b.py"))


@needs_fuse
def test_a_file_among_many_that_never_answers_is_named_whoever_of_two_readers_meets_it(folders, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(150):
        (tree / f"{number:03d}.py").write_text(f"# {number}\n")
    with mirrorfs.mounted(tree, tmp_path / "real", {"100.py": "hangread"}):
        taken = take(pythons=(folders[0],), source=str(tmp_path / "real"), only=("sources",), deadlines={"sources": 6.0})
        assert taken.probes["sources"].reason.endswith(f"it was waiting for: hash {tmp_path}/real/100.py")
        assert taken.killable == []
    assert len(taken.snapshot.below("sources/real/files")) >= 100 - 2 * 8
    assert taken.status_of("sources/real/files/100.py") == "timeout"


@needs_fuse
def test_a_git_checkout_that_never_answers_costs_git_and_sources_and_nothing_is_absent(folders, healthy, tmp_path):
    with mirrorfs.mounted(folders[3], tmp_path / "real", {".git": "hangstat"}):
        taken = take_with_tree(folders, tmp_path / "real")
        assert taken.statuses["git"] == "timeout"
        assert others(taken, "git", "sources") == others(healthy, "git", "sources")
        assert taken.wall_s < DEADLINE_S + 2.0
        assert taken.killable == []


@needs_fuse
def test_a_server_that_was_stopped_leaves_nothing_behind_and_one_that_is_gone_is_named(folders, healthy, tmp_path):
    with mirrorfs.mounted(folders[3], tmp_path / "real", {}) as server:
        server.send_signal(signal.SIGSTOP)
        stopped = take_with_tree(folders, tmp_path / "real")
        server.kill()
        server.wait(10)
        gone = take_with_tree(folders, tmp_path / "real", only=("sources", "git"))
    assert stopped.statuses["sources"] == "timeout"
    assert others(stopped, "sources", "git") == others(healthy, "sources", "git")
    assert (stopped.left, gone.left) == ((), ())
    assert "ENOTCONN" in gone.reason_of("sources/real/root")
    assert "remount it" in gone.reason_of("sources/real/files/a.py")
    assert gone.statuses["git"] != "absent"


@needs_fuse
@pytest.mark.parametrize(("silent", "concerned", "known"), [
    (("hangread", "torch-1.0.dist-info/METADATA"), ("packages",), "packages/aaa/version"),
    (("hangstat", "zzz"), SITE_PROBES, "python/executable"),
    (("hanglist", ""), (*SITE_PROBES, "git", "sources"), "kernel/release"),
], ids=["read", "stat", "listing"])
def test_a_package_folder_that_never_answers_leaves_packages_unknown_and_never_absent(folders, healthy, silent, concerned, known):
    python, site, packages, tree = folders
    fault, place = silent
    with mirrorfs.mounted(packages, site, {place: fault}):
        taken = take(pythons=(python,), source=str(tree) if place else None, deadline_s=DEADLINE_S, deadlines=CUT)
        assert taken.statuses["packages"] == "timeout"
        assert str(site) in taken.probes["packages"].reason
        assert others(taken, *concerned) == others(healthy, *concerned)
        assert {taken.statuses[name] for name in concerned} <= {"ok", "timeout"}
        assert (taken.status_of("packages/torch/version"), taken.status_of(known)) == ("timeout", "known")
        assert taken.wall_s < DEADLINE_S + 2.0
        assert taken.killable == []


@needs_fuse
def test_a_package_folder_that_answers_wrongly_costs_the_facts_of_those_packages(folders, healthy):
    taken = take_with_site(folders, {"torch-1.0.dist-info": "stale", "torch-1.0.dist-info/METADATA": "stale", "torch-1.0.dist-info/RECORD": "stale",
                                     "zzz-1.0.dist-info/METADATA": "half", "aaa/a.py": "half", "aaa/b.py": "stale"})
    assert taken.statuses == healthy.statuses
    assert taken.snapshot.get("packages/aaa/version") == healthy.snapshot.get("packages/aaa/version")
    assert [taken.status_of(f"packages/{name}/version") for name in ("torch", "zzz")] == ["error", "error"]
    assert "remount it" in taken.reason_of("packages/torch/altered")
    assert taken.snapshot.facts["packages/aaa/altered/aaa%2Fa.py"]["sha256"] is None
    assert "remount it" in taken.reason_of("packages/aaa/missing")
    assert taken.left == ()


@pytest.fixture
def cut_disk(tmp_path):
    """A mounted disk whose image was cut under it: some files read, others give the kernel's own I/O errors."""
    image, where = tmp_path / "image", tmp_path / "disk"
    where.mkdir()
    subprocess.run(["truncate", "-s", "32M", image], check=True)
    if shutil.which("mkfs.ext4") is None or subprocess.run(["mkfs.ext4", "-q", image], capture_output=True, check=False).returncode:
        pytest.skip("mkfs.ext4 does not run here: no disk can be made")
    ways = (["mount", "-o", "loop", image, where], ["umount", where])
    mounted = subprocess.run(ways[0], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no loop device can be mounted here: {mounted.stderr.strip()}")
    try:
        (where / "big.py").write_bytes(os.urandom(12 << 20))
        subprocess.run(ways[1], check=True)
        subprocess.run(ways[0], check=True)
        subprocess.run(["truncate", "-s", "4M", image], check=True)
        yield where
    finally:
        subprocess.run(["umount", "-l", where], check=False)


def test_a_disk_that_gives_io_errors_is_named_and_no_part_of_a_file_is_told(folders, cut_disk):
    taken = take_with_tree(folders, cut_disk, only=("sources", "git", "packages"))
    assert "EIO" in taken.reason_of("sources/disk/files/big.py")
    assert taken.status_of("sources/disk/tree") == "error"
    assert taken.status_of("packages/pip/version") != "error"
    assert taken.left == ()


def test_fifos_sparse_files_links_and_1500_folders_are_named_within_the_bound(folders, healthy, tmp_path):
    tree = tmp_path / "real"
    shutil.copytree(folders[3], tree)
    os.mkfifo(tree / "fifo.py")
    os.truncate(tree / "a.py", 4 << 30)
    (tree / "self.py").symlink_to("self.py")
    (tree / "here").symlink_to(".")
    bottom = os.open(tree, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=bottom)
        below = os.open("d", os.O_RDONLY, dir_fd=bottom)
        os.close(bottom)
        bottom = below
    os.close(bottom)
    try:
        taken = take(pythons=(folders[0],), source=str(tree), deadline_s=DEADLINE_S)
    finally:
        subprocess.run(["rm", "-rf", tree / "d"], check=True)
    told = taken.snapshot.below("sources/real/files")
    assert taken.statuses == healthy.statuses
    assert (told["here"], told["self.py"]) == ("link:.", "link:self.py")
    assert [word for name, word in (("fifo.py", "not a regular file"), ("a.py", "4294967296 bytes")) if word not in told[name]["reason"]] == []
    assert [one["reason"] for one in told.values() if isinstance(one, dict) and "deeper than 64 folders" in one["reason"]] != []
    assert taken.left == ()
