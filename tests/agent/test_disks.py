"""Room on file systems, each asked in a child of its own: one that never answers costs its own answer and no more."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from driftwatch.agent.collectors import disks
from driftwatch.agent.collectors.disks import collect
from driftwatch.agent.host import Host, Settings, Space
from driftwatch.agent.probe import Absent, Unknown
from driftwatch.agent.real import RealRoot
from tests.agent.recording import recorded, told
from tests.agent.test_mounts import NFS, ROOT, SHM, TABLE
from tests.lab import faultfs

needs_fuse = pytest.mark.skipif(bool(faultfs.why_not()), reason=f"no FUSE here: {faultfs.why_not()}")
DF = "df -B1 --output=source,fstype,size,used,avail,itotal,iavail,target"
LISTED = (
    "Filesystem Type 1B-blocks Used Avail Inodes IFree Mounted on\n/dev/nvme0n1p2 ext4 900 200 700 60 50 /\n"
    "server1:/export/data nfs4 800 100 700 9 8 /data\n"
)
OF_SHM = "Filesystem 1B-blocks Used Available Use% Mounted on\nshm 67108864 0 67108864 0% /dev/shm\n"


def real() -> Host:
    return Host(RealRoot(), Settings())


def part(path: object) -> str:
    return str(path).replace("/", "%2F")


def test_a_recorded_df_tells_the_room_of_each_mount(tmp_path):
    facts, status, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + NFS}, {DF: LISTED, "df -B1 /dev/shm": OF_SHM}))
    assert (status, facts["mounts/%2Fdata/answers"], facts["disks/%2Fdata/size_bytes"], facts["disks/%2Fdata/inodes_free"]) == ("ok", True, 800, 8)


def test_the_size_of_shared_memory_is_told_and_inodes_that_df_did_not_print_are_unknown(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + SHM}, {DF: LISTED, "df -B1 /dev/shm": OF_SHM}))
    assert facts["shm/size_bytes"] == 64 << 20
    assert facts["disks/%2Fdev%2Fshm/inodes"].status == "not_recorded"


@pytest.mark.parametrize(("described", "status"), [({"hangs": ["/data"]}, "timeout"), ({"denied": ["/data"]}, "denied"), ({}, "not_recorded")])
def test_a_mount_without_an_answer_is_unknown_and_the_others_are_told(tmp_path, described, status):
    only_root = LISTED.rsplit("server1", 1)[0]
    facts, ended, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + NFS}, {DF: only_root, "df -B1 /dev/shm": OF_SHM}, **described))
    assert ended == "ok"
    assert (facts["mounts/%2Fdata/answers"].status, facts["disks/%2Fdata"].status) == (status, status)
    assert facts["disks/%2F/free_bytes"] == 700


def test_asking_never_mounts_what_would_be_mounted_by_being_asked(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + NFS.replace("nfs4", "autofs"), "/tmp": "->data/tmp"}, {DF: LISTED}))
    assert not [path for path in facts if "data" in path]


def test_this_machines_own_disk_answers():
    facts, status, _ = told(collect, real())
    assert status == "ok"
    assert facts["mounts/%2F/answers"] is True
    assert 0 < facts["disks/%2F/used_bytes"] <= facts["disks/%2F/size_bytes"]


def test_what_is_not_there_is_absent(tmp_path):
    with pytest.raises(Absent):
        real().statvfs_apart(str(tmp_path / "none"))


@needs_fuse
def test_room_on_a_fuse_mount_is_what_its_server_says(tmp_path):
    with faultfs.mounted(tmp_path / "m", "ok.py") as mount:
        assert real().statvfs_apart(str(mount)) == Space(4096000, 600 * 4096, 300 * 4096, 50, 20)


@needs_fuse
def test_a_mount_that_never_answers_is_a_timeout_with_state_and_wait_channel_and_the_disk_is_told(tmp_path):
    with faultfs.mounted(tmp_path / "m", "hangstatfs") as mount:
        begun = time.monotonic()
        facts, status, _ = told(collect, real())
        took = time.monotonic() - begun
    answer = facts[f"mounts/{part(mount)}/answers"]
    assert isinstance(answer, Unknown)
    assert (status, answer.status) == ("ok", "timeout")
    assert "state" in answer.reason
    assert "wchan" in answer.reason
    assert facts["mounts/%2F/answers"] is True
    assert took < disks.PROBES[0].deadline_s


@needs_fuse
def test_after_three_without_an_answer_no_more_is_asked(tmp_path):
    with ExitStack() as stack:
        mounts = [stack.enter_context(faultfs.mounted(tmp_path / name, "hangstatfs")) for name in "abcd"]
        begun = time.monotonic()
        facts, _, _ = told(collect, real())
        took = time.monotonic() - begun
    reasons = [facts[f"mounts/{part(mount)}/answers"].reason for mount in mounts]
    assert sum("not asked" in one for one in reasons) == 1
    assert took < disks.PROBES[0].deadline_s
