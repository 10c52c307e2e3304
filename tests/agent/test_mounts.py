"""The table of mounts: which matter, what lies on them, and that none of them is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftwatch.agent.collectors.mounts import PROBES, collect
from driftwatch.agent.mount_table import lies_on, parse_mountinfo
from driftwatch.agent.probe import Unreadable
from driftwatch.model import matches
from tests.agent.recording import recorded, told
from tests.agent.test_topology import SERVER

TEXTS = Path(__file__).parent / "texts" / "links"
TABLE = "/proc/self/mountinfo"
ROOT = "26 1 8:1 / / rw,relatime shared:5 - ext4 /dev/nvme0n1p2 rw\n"
NFS = "27 26 0:27 / /data rw,relatime shared:8 - nfs4 server1:/export/data rw,vers=4.2,hard\n"
SHM = "28 26 0:25 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=65536k\n"
PROC = "29 26 0:21 / /proc rw - proc proc rw\n30 26 0:99 / /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n31 26 8:1 /h /etc/hosts rw - ext4 /dev/nvme0n1p2 rw\n"
FUSE = "32 26 0:47 / /mnt/bucket rw - fuse.s3 bucket rw,user_id=0\n"


def test_a_mount_tells_its_type_its_source_and_both_kinds_of_options(tmp_path):
    facts, status, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + NFS + SHM + PROC}))
    assert status == "ok"
    assert [facts[f"mounts/%2Fdata/{name}"] for name in ("type", "source", "options")] == ["nfs4", "server1:/export/data", "rw,relatime,vers=4.2,hard"]


def test_a_mount_tells_how_much_is_read_ahead_where_it_has_a_setting_of_its_own(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + NFS, "/sys/class/bdi/0:27/read_ahead_kb": "15360\n"}))
    assert {path: value for path, value in facts.items() if path.endswith("read_ahead_kib")} == {"mounts/%2Fdata/read_ahead_kib": 15360}


def test_only_real_file_systems_are_told_and_what_matters(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {TABLE: ROOT + NFS + SHM + PROC}))
    assert {path.split("/")[1] for path in facts} == {"%2F", "%2Fdata", "%2Fdev%2Fshm"}


def test_what_lies_on_a_mount_is_found_through_links(tmp_path):
    files = {TABLE: ROOT + NFS + SHM, **SERVER, "/models": "->data/models", "/home/serve/x": "y"}
    facts, _, _ = told(collect, recorded(tmp_path, files))
    assert facts["mounts/%2Fdata/holds"] == ["model"]
    assert facts["mounts/%2F/holds"] == ["hf_cache", "home", "temporary"]
    assert matches("mounts/%2Fdata/holds", PROBES[0].volatile)


def test_nothing_is_asked_of_a_path_on_a_mount_that_may_hang(tmp_path):
    host = recorded(tmp_path, {TABLE: ROOT + NFS, **SERVER, "/models": "->/data/models"})
    asked: list[str] = []
    host.asking = asked.append
    told(collect, host)
    assert [one for one in asked if "/data" in one] == []
    assert "readlink /models" in asked


@pytest.mark.parametrize(("path", "mount"), [
    ("/data/a/b", "/data"), ("/database", "/"), ("/link/x", "/data"), ("/up/x", "/data"), ("/round", "/"), ("/data/in/x", "/data/in"),
])
def test_a_path_lies_on_the_innermost_mount_above_it(tmp_path, path, mount):
    files = {"/link": "->/data", "/d/up": "->../data/k", "/up": "->d/up", "/round": "->/round"}
    mounts = parse_mountinfo(ROOT + NFS + NFS.replace("/data rw", "/data/in rw"))
    assert lies_on(recorded(tmp_path, files), mounts, path) == mount


def test_the_upper_of_two_mounts_at_one_place_counts_and_names_may_hold_blanks():
    mounts = parse_mountinfo(SHM + SHM.replace("size=65536k", "size=1g") + ROOT.replace("/ / ", r"/ /mnt/my\040disk "))
    assert "size=1g" in mounts["/dev/shm"].options
    assert "/mnt/my disk" in mounts


def test_an_overlays_own_folders_are_left_out_since_each_container_has_others():
    line = "22 1 0:20 / / rw - overlay overlay rw,lowerdir=/var/lib/a:/var/lib/b,upperdir=/u,workdir=/w\n"
    assert parse_mountinfo(line)["/"].options == "rw"


@pytest.mark.parametrize("text", ["", "22 1 0:20 / /\n", "nonsense\n"])
def test_a_table_that_is_none_is_refused(text):
    with pytest.raises(Unreadable):
        parse_mountinfo(text)


def test_a_real_table_of_a_container_host_tells_its_volumes(tmp_path):
    facts, status, _ = told(collect, recorded(tmp_path, {TABLE: (TEXTS / "mountinfo__gpud.txt").read_text()}))
    assert status == "ok"
    assert "mounts/%2Fmnt%2Flocal-volume%2Fvol-0/type" in facts
    assert not [path for path in facts if "lxcfs" in str(facts[path]) or "kubelet%2Fpods" in path]


def test_requests_that_a_fuse_server_has_not_answered_are_counted(tmp_path):
    files = {TABLE: ROOT + FUSE, "/sys/fs/fuse/connections/47/waiting": "3\n"}
    assert told(collect, recorded(tmp_path, files))[0]["mounts/%2Fmnt%2Fbucket/fuse_waiting"] == 3


def test_counts_that_only_root_may_read_are_denied(tmp_path):
    host = recorded(tmp_path, {TABLE: ROOT + FUSE}, denied=["/sys/fs/fuse/connections/47"])
    assert told(collect, host)[0]["mounts/%2Fmnt%2Fbucket/fuse_waiting"].status == "denied"
