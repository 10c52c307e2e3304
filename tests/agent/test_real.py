"""The real root: every way in which a real file or command can fail to answer is named, and none of them holds us up."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time

import pytest

from driftwatch.agent import bounded, processes
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Absent, Denied, TimedOut, Unreadable
from driftwatch.agent.real import RealRoot, refuse
from driftwatch.agent.spawned import spawn

EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture
def host():
    return Host(RealRoot(), Settings())


def test_a_fifo_is_no_regular_file_and_is_never_waited_for(host, tmp_path):
    os.mkfifo(tmp_path / "METADATA")
    for ask in (host.read, host.sha256):
        with pytest.raises(Unreadable, match="not a regular file"):
            ask(str(tmp_path / "METADATA"))


def test_a_link_is_read_but_never_hashed(host, tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert host.read(str(tmp_path / "b")) == "x"
    with pytest.raises(Unreadable, match="not a regular file"):
        host.sha256(str(tmp_path / "b"))


def test_a_sparse_file_over_the_limit_is_told_with_its_size_and_not_hashed(host, tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(4 << 30)
    with pytest.raises(Unreadable, match="too large, not hashed: 4294967296 bytes"):
        host.sha256(str(tmp_path / "sparse"), 1 << 30)


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (3 << 20) + 7])
def test_the_digest_is_that_of_the_bytes_whatever_their_count(host, tmp_path, size):
    (tmp_path / "f").write_bytes(os.urandom(size))
    expected = subprocess.run(["sha256sum", tmp_path / "f"], capture_output=True, check=True).stdout.split()[0].decode()
    found = host.sha256(str(tmp_path / "f"))
    assert (found.sha256, found.size) == (expected, size)


def test_a_file_that_changes_while_it_is_hashed_is_told_as_changing(host, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"x")
    os.truncate(path, 64 << 20)  # sparse; hashing it takes many ticks of the clock that file times are taken from
    is_over = threading.Event()

    def write():
        while not is_over.is_set():
            with path.open("r+b") as file:
                file.write(b"y")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(Unreadable, match="changing while it is read"):
            host.sha256(str(path))
    finally:
        is_over.set()
        writer.join()


def test_a_symlink_loop_and_a_missing_file_are_two_things(host, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(Unreadable):
        host.real(str(tmp_path / "loop"))
    with pytest.raises(Absent):
        host.read(str(tmp_path / "nope"))


@pytest.mark.parametrize("question", ["read", "head", "sha256", "stat", "list", "entries", "exists", "link", "real"])
def test_a_folder_above_that_is_a_link_to_itself_is_an_error_and_never_absence(host, tmp_path, question):
    (tmp_path / "loop").symlink_to("loop")
    arguments = (64,) if question == "head" else ()
    with pytest.raises(Unreadable, match="ELOOP Too many levels of symbolic links"):
        getattr(host, question)(str(tmp_path / "loop/below"), *arguments)


def test_a_tree_of_1500_folders_is_walked_without_recursion_and_the_limit_is_told(host, tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        found = list(host.walk(str(tmp_path)))
        assert len(found) == 1
        assert "deeper than 64 folders" in found[0][1].reason
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)


def test_names_that_are_no_text_survive_the_walk(host, tmp_path):
    for name in (b"caf\xe9.py", b"new\nline", b"-rf", b"\x1b[2J"):
        (tmp_path / os.fsdecode(name)).touch()
    assert {os.fsencode(path) for path, _ in host.walk(str(tmp_path))} == {b"caf\xe9.py", b"new\nline", b"-rf", b"\x1b[2J"}


def test_a_proc_file_that_says_it_is_empty_is_read_to_its_end(host):
    assert "MemTotal" in host.read("/proc/meminfo")


def test_a_target_read_apart_gives_its_bytes_or_its_refusal(host):
    assert host.read_apart("/proc/self/environ")
    with pytest.raises(Absent):
        host.read_apart("/proc/self/nope")


def test_a_question_asked_apart_that_never_answers_costs_its_own_deadline():
    begun = time.monotonic()
    with pytest.raises(TimedOut, match=r"/proc/1/maps: no answer in 0\.3 s"):
        bounded.apart(lambda: bytes(time.sleep(100) or 0), 0.3, "/proc/1/maps")
    assert time.monotonic() - begun < 2


def test_an_answer_asked_apart_that_is_too_long_is_no_timeout():
    with pytest.raises(Unreadable, match="/x: the answer is cut: more than 8388608 bytes"):
        bounded.apart(lambda: b"x" * (9 << 20), 10, "/x")


def test_a_command_keeps_its_number_until_what_it_left_in_its_group_is_ended():
    child = spawn(["sh", "-c", "sleep 300 >&2 & echo $!"], dict(os.environ))
    try:
        while not child.has_ended():
            time.sleep(0.01)
        assert (child.rc, processes.state(child.pid)) == (0, "Z")
        left = int(os.read(child.pipes[0], 99))
        assert processes.is_alive(left)
    finally:
        assert processes.end_tree(child.pid, 1.0) == []
        child.close()
    assert processes.state(child.pid) == ""
    while processes.is_alive(left):  # a KILL takes a moment
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "kind", "word"), [
    (errno.ENOENT, Absent, "No such file"), (errno.EACCES, Denied, "Permission denied"), (errno.EIO, Unreadable, "EIO"), (errno.ESTALE, Unreadable, "remount"),
    (errno.ENOTCONN, Unreadable, "remount"),
])
def test_each_errno_is_the_refusal_it_stands_for(number, kind, word):
    with pytest.raises(kind, match=word):
        refuse("/x", OSError(number, os.strerror(number)))


def test_a_command_gives_its_exit_code_and_both_outputs(host):
    assert host.run(["sh", "-c", "echo a; echo b >&2; exit 3"]) == (3, "a\n", "b\n")


def test_a_command_that_is_not_there_is_absent(host):
    assert host.try_run(["driftwatch-no-such-command"]) is None


@pytest.mark.parametrize("script", [
    "sleep 100", "trap '' TERM; while :; do sleep 1; done", "sleep 100; exit 0", "for i in 1 2 3 4 5; do sleep 100 & done; wait",
])
def test_a_command_that_does_not_end_is_ended_with_all_below_it(host, script, tmp_path):
    begun = time.monotonic()
    with pytest.raises(TimedOut, match=r"did not end in 0\.3 s"):
        host.run(["sh", "-c", script], 0.3)
    assert time.monotonic() - begun < 3
    assert subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "sleep 100"], check=False).returncode == 1


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_flood_is_cut_and_said(host, stream):
    with pytest.raises(Unreadable, match="output limit"):
        host.run(["sh", "-c", f"exec yes >&{stream}"], 10)


def test_a_grandchild_that_holds_the_pipe_costs_a_note_not_the_answer(host):
    assert host.run(["sh", "-c", "echo told; (trap '' HUP; exec setsid sleep 3) & exit 0"]).stdout == "told\n"
    assert "pipe held" in host.notes[0]


def test_what_may_not_be_read_is_denied_and_says_for_whom(tmp_path):
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    tmp_path.chmod(0o755)
    if os.geteuid() != 0:
        found = Host(RealRoot(), Settings()).attempt(RealRoot().read, str(tmp_path / "secret"), 10)
        assert found.status == "denied"
        return
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir("/")
        os.setuid(65534)
        found = Host(RealRoot(), Settings()).attempt(RealRoot().read, "/proc/1/environ", 10)
        os.write(writer, f"{found.status} {found.reason}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as told:
        assert told.read() == "denied /proc/1/environ: Permission denied (uid 65534)"
