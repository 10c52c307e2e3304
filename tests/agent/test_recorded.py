"""A recorded host answers as the host did: absent, denied, unknown and hung are four different things."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile

import pytest

from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Absent, Denied, NotRecorded, TimedOut, Unknown, Unreadable
from driftwatch.agent.recorded import load

HOST = {"format": 1, "hostname": "gpu-a", "taken_at": "2026-03-02T10:00:00Z", "uid": 1000, "denied": ["/root/secret"], "not_recorded": ["/home", "/boot"],
        "hangs": ["/mnt/models", ["nvidia-smi"]]}
COMMANDS = [{"argv": ["uname", "-r"], "rc": 0, "stdout": "6.8.0\n", "stderr": ""}, {"argv": ["docker", "ps"], "rc": 127, "stdout": "", "stderr": ""}]
FILES = {"etc/os-release": b"ID=ubuntu\n", "usr/lib/libcuda.so.580.1": b"", "proc/4242/environ": b"A=1\0", "proc/4242/comm": b"python\n", "big": b"x" * 100}
LINKS = {"usr/lib/libcuda.so.1": "libcuda.so.580.1", "opt/abs": "/usr/lib", "loop": "loop", "etc/out": "/../../../etc/passwd"}


def write(folder):
    for name, data in FILES.items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, target in LINKS.items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    (folder / "host.json").write_text(json.dumps(HOST))
    (folder / "commands.json").write_text(json.dumps(COMMANDS))
    return folder


def as_folder(tmp_path):
    return write(tmp_path / "gpu-a")


def as_tar(tmp_path):
    with tarfile.open(tmp_path / "gpu-a.tar.xz", "w:xz") as archive:
        archive.add(as_folder(tmp_path), "gpu-a")
    return tmp_path / "gpu-a.tar.xz"


def as_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "gpu-a.zip", "w") as archive:
        for path in as_folder(tmp_path).rglob("*"):
            name = "gpu-a/" + path.relative_to(tmp_path / "gpu-a").as_posix()
            if path.is_symlink():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = 0o120777 << 16
                archive.writestr(entry, LINKS[name.partition("/files/")[2]])
            elif path.is_file():
                archive.write(path, name)
    return tmp_path / "gpu-a.zip"


@pytest.fixture(params=[as_folder, as_tar, as_zip])
def host(request, tmp_path):
    return Host(load(str(request.param(tmp_path))), Settings())


def test_files_folders_links_and_commands_answer(host):
    assert host.read("/etc/os-release") == "ID=ubuntu\n"
    assert host.list("/proc/4242") == ["comm", "environ"]
    assert host.pids() == [4242]
    assert host.link("/usr/lib/libcuda.so.1") == "libcuda.so.580.1"
    assert host.real("/opt/abs/libcuda.so.1") == "/usr/lib/libcuda.so.580.1"
    assert host.run(["uname", "-r"]).stdout == "6.8.0\n"
    assert host.stat("/big").size == 100
    assert host.head("/big", 3) == "xxx"


@pytest.mark.parametrize(("ask", "refusal"), [
    (lambda host: host.read("/etc/nope"), Absent), (lambda host: host.read("/home/x"), NotRecorded),
    (lambda host: host.read("/root/secret/key"), Denied),
    (lambda host: host.stat("/mnt/models/x"), TimedOut), (lambda host: host.run(["nvidia-smi", "-q"]), TimedOut),
    (lambda host: host.run(["nope"]), NotRecorded),
    (lambda host: host.run(["docker", "ps"]), Absent), (lambda host: host.read("/loop"), Unreadable), (lambda host: host.read("/etc"), Unreadable),
    (lambda host: host.environ(), NotRecorded), (lambda host: host.nvml(), Absent), (lambda host: host.read("/big", 50), Unreadable),
])
def test_each_way_of_not_answering_is_its_own(host, ask, refusal):
    with pytest.raises(refusal):
        ask(host)


def test_a_link_never_leads_out_of_the_recorded_root(host):
    with pytest.raises(Absent):
        host.read("/etc/out")


def test_a_missing_thing_is_none_and_an_unread_one_is_unknown(host):
    assert host.try_read("/etc/nope") is None
    assert host.try_read("/home/x") == Unknown("not_recorded", "/home/x: not recorded")


def test_hangs_match_by_component(tmp_path):
    folder = as_folder(tmp_path)
    (folder / "files/mnt/models-2").mkdir(parents=True)
    assert Host(load(str(folder)), Settings()).list("/mnt/models-2") == []


def test_one_host_of_an_archive_of_two_is_named_by_its_folder(tmp_path):
    folder = as_folder(tmp_path)
    with tarfile.open(tmp_path / "pair.tar", "w") as archive:
        archive.add(folder, "pair/good")
        archive.add(folder, "pair/bad")
    assert load(str(tmp_path / "pair.tar/pair/good")).described["hostname"] == "gpu-a"
    with pytest.raises(Unreadable, match="2 recorded hosts, pair/bad/, pair/good/"):
        load(str(tmp_path / "pair.tar"))


@pytest.mark.parametrize("name", ["empty-folder", "text", "missing"])
def test_what_is_no_recorded_host_is_refused_by_name(tmp_path, name):
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "text").write_text("hello")
    with pytest.raises(Unreadable, match=name):
        load(str(tmp_path / name))


@pytest.mark.parametrize("is_packed", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("described", ["{", "[" * 100_000, "[]", '{"format": 2}', '{"format": 1, "denied": "x"}', '{"format": 1, "hangs": 7}'])
def test_a_description_of_another_shape_is_refused(tmp_path, described, is_packed):
    folder = as_folder(tmp_path)
    (folder / "host.json").write_text(described)
    place = tmp_path / "host.tar" if is_packed else folder
    if is_packed:
        with tarfile.open(place, "w") as archive:
            archive.add(folder, "host")
    with pytest.raises(Unreadable):
        load(str(place))


def test_an_archive_that_says_it_is_larger_than_a_gibibyte_is_not_read(tmp_path):
    entry = tarfile.TarInfo("h/files/x")
    entry.size = 2 << 30
    (tmp_path / "bomb.tar").write_bytes(entry.tobuf() + io.BytesIO(b"x" * 1024).getvalue())
    with pytest.raises(Unreadable, match="bomb"):
        load(str(tmp_path / "bomb.tar"))
