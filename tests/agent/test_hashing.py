"""Digests of many real files, by us and by a child beside us: the same as by one, and none is lost with the child."""

import hashlib
import os
import signal
import time
from pathlib import Path

import pytest

from driftwatch.agent import processes
from driftwatch.agent.hashing import Hashing, sha256_each
from driftwatch.agent.host import Digest, Host, Settings
from driftwatch.agent.probe import Unknown
from driftwatch.agent.real import RealRoot

LARGE = (1 << 20) + 17


@pytest.fixture
def host():
    return Host(RealRoot(), Settings())


@pytest.fixture
def files(tmp_path):
    """300 small files and three large ones, as (path, size)."""
    sizes = {**{f"{number:03d}.py": number for number in range(300)}, **{f"{number}.so": LARGE + number for number in range(3)}}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(name[:1].encode() * size)
    return [(str(tmp_path / name), size) for name, size in sizes.items()]


@pytest.fixture
def hashing(host, files):
    """A hashing that has a mate at work, and the answers that it gave so far."""
    begun = Hashing(host)
    answers = [one for path, size in files for one in begun.give(path, size, size)]
    assert begun.mate is not None
    yield begun, answers
    processes.end_tree(begun.mate.pid, 5.0)


def digest_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_two_give_the_digests_that_one_gives(host, files):
    found = sha256_each(host, files)
    assert {path: answer.sha256 for path, answer in found.items()} == {path: digest_of(path) for path, _ in files}
    assert found[files[7][0]][:4] == host.sha256(files[7][0])[:4]


def test_what_cannot_be_read_is_told_of_each_file_by_itself(host, files, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    odd = {"gone": 5, "fifo": 0, "000.py": 0, "299.py": 10}
    found = sha256_each(host, [*files[:290], *((str(tmp_path / name), limit) for name, limit in odd.items())])
    assert found[str(tmp_path / "gone")] is None
    assert found[str(tmp_path / "fifo")] == Unknown("error", f"{tmp_path}/fifo: not a regular file")
    assert "too large" in found[str(tmp_path / "299.py")].reason
    assert isinstance(found[str(tmp_path / "000.py")], Digest)


def test_a_few_files_are_read_without_a_child(host, files):
    alone = Hashing(host)
    assert len([*(one for path, size in files[:40] for one in alone.give(path, size, size)), *alone.rest()]) == 40
    assert alone.mate is None


def test_no_answer_is_lost_with_a_child_that_was_killed(hashing, files):
    begun, answers = hashing
    os.kill(begun.mate.pid, signal.SIGKILL)
    answers += begun.rest()
    assert sorted(path for path, _ in answers) == sorted(path for path, _ in files)
    assert all(isinstance(answer, Digest) for _, answer in answers)


def test_all_that_was_read_is_told_while_the_child_stands_still(hashing, files):
    begun, answers = hashing
    os.kill(begun.mate.pid, signal.SIGSTOP)
    rest = begun.rest()
    answers += rest
    assert sorted(path for path, _ in answers) == sorted(path for path, _ in files)
    assert all(isinstance(answer, Digest) for _, answer in answers)


def test_the_file_at_which_the_child_stands_still_is_read_last(hashing, files):
    begun, _ = hashing
    os.kill(begun.mate.pid, signal.SIGSTOP)
    for _ in (*begun._from_mate(0.1), *(one for path, size in files[:32] for one in begun.give(path, size, size))):
        pass
    handed = [path for path, _ in begun.handed]
    begun.mate._note("hash " + handed[3])
    read = [path for path, _ in begun.rest() if path in handed]
    assert read[-len(handed):] == [*handed[:3], *handed[4:], handed[3]]


def test_nothing_is_left_behind(hashing, files):
    begun, answers = hashing
    assert len([*answers, *begun.rest()]) == len(files)
    assert not processes.is_alive(begun.mate.pid)


def test_the_child_ends_when_its_questions_do(hashing):
    begun, _ = hashing
    os.close(begun.mate.questions)
    stop = time.monotonic() + 10
    while processes.is_alive(begun.mate.pid) and time.monotonic() < stop:
        time.sleep(0.01)
    assert not processes.is_alive(begun.mate.pid)
    begun.mate.questions = os.open(os.devnull, os.O_RDONLY)


def test_a_path_of_any_bytes_is_read_by_the_child_too(host, files, tmp_path):
    name = os.fsdecode(b'\xff\n"\\ \x01.py')
    (tmp_path / name).write_bytes(b"odd")
    found = sha256_each(host, [*files[:100], *[(str(tmp_path / name), 3)] * 16, *files[100:200]])
    assert found[str(tmp_path / name)].sha256 == hashlib.sha256(b"odd").hexdigest()
