"""The promises of a save, each under its real fault: what was told as stored is there whole, nothing half is, and an error comes in time with what to do."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time

import pytest

from driftwatch.model import Snapshot
from driftwatch.store.bucket import Bucket
from driftwatch.store.chain import keep_linked
from driftwatch.store.errors import StoreError
from driftwatch.store.files import FileStore
from driftwatch.store.opening import open_store
from driftwatch.store.verifying import Demand, verify_host
from tests.lab.s3_server import refusal, silent

KILLS = 200
POWER_CUTS = 30


def numbered(number, host="gpu-a"):
    return Snapshot(host, f"2026-03-04T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z", facts={"n": number, "pad": "x" * 20000})


def save_until_killed(root, start, reading, told):
    """Save in a forked child, tell each number once it is saved, and kill it in the middle of whatever it does."""
    child = os.fork()
    if child == 0:
        store = FileStore(root)
        for number in range(start, start + 400):
            keep_linked(store, numbered(number, f"gpu-{start % 16}"))
            os.write(told, b"%d\n" % number)
        os._exit(0)
    first = os.read(reading, 4096)
    time.sleep(0.001 * (start // 401 % 9))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return first


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking beside threads: the child only saves
def test_of_200_kills_in_the_middle_of_a_save_none_loses_or_tears_what_was_told_as_saved(tmp_path):
    ours, theirs = os.pipe()
    first = b"".join(save_until_killed(tmp_path / "store", number * 401, ours, theirs) for number in range(KILLS))
    os.close(theirs)
    with os.fdopen(ours, "rb") as told:
        saved = {int(line) for line in (first + told.read()).split()}
    store = FileStore(tmp_path / "store")
    assert len(saved) >= KILLS
    assert saved <= {store.load(entry).facts["n"] for host in store.hosts() for entry in store.entries(host)}
    assert {one.word for host in store.hosts() for one in verify_host(store, host, Demand())} == {"ok"}


def mount_ext4(folder, place, options):
    """Mount an ext4 on a sparse image in a folder; skip where that cannot be."""
    image = folder / "image"
    place.mkdir()
    image.touch()
    os.truncate(image, 24 << 20)
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("an ext4 on a loop device needs root and mkfs.ext4")
    subprocess.run(["mkfs.ext4", "-q", image], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", f"loop,{options}", image, place], capture_output=True, check=False).returncode != 0:
        pytest.skip("no loop device can be mounted here")
    place.chmod(0o700)
    return image, place


@pytest.fixture
def disk(tmp_path):
    """Return an ext4 that does without the kernel's help for careless writers: the image that it stands on, and where it is mounted."""
    yield mount_ext4(tmp_path, tmp_path / "disk", "noauto_da_alloc,commit=1")
    subprocess.run(["fsfreeze", "-u", tmp_path / "disk"], capture_output=True, check=False)
    subprocess.run(["umount", "-l", tmp_path / "disk"], capture_output=True, check=False)


@pytest.fixture
def small_platter(tmp_path):
    """Return a disk that says it has 24 MB where there is room for 6: writes go well, and syncing them fails."""
    platter = tmp_path / "platter"
    platter.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", platter], capture_output=True, check=False).returncode != 0:
        pytest.skip("a small platter needs root and tmpfs")
    yield mount_ext4(platter, tmp_path / "disk", "noauto_da_alloc")[1]
    for place in (tmp_path / "disk", platter):
        subprocess.run(["umount", "-l", place], capture_output=True, check=False)


def test_of_30_power_cuts_none_loses_what_was_told_as_saved(disk, tmp_path):
    image, place = disk
    store, after = FileStore(place / "store"), tmp_path / "after"
    after.mkdir()
    for number in range(POWER_CUTS):
        keep_linked(store, numbered(number))
        shutil.copy(image, tmp_path / "platter")  # what a power cut at this moment leaves
        subprocess.run(["mount", "-o", "loop", tmp_path / "platter", after], check=True, capture_output=True)
        try:
            left = FileStore(after / "store")
            found = {left.load(entry).facts["n"] for entry in left.entries("gpu-a")}
        finally:
            subprocess.run(["umount", after], check=True, capture_output=True)
        assert found == set(range(number + 1))


def test_a_frozen_disk_is_told_in_time_and_holds_nobody(disk):
    _, place = disk
    store = FileStore(place / "store")
    store.save(numbered(1))
    subprocess.run(["fsfreeze", "-f", place], check=True)
    began = time.monotonic()
    try:
        with pytest.raises(StoreError, match="did not answer in 1 s") as refused:
            store.await_answer(1.0)
    finally:
        subprocess.run(["fsfreeze", "-u", place], check=True)
    assert refused.value.code == 4
    assert time.monotonic() - began < 10


def test_a_disk_whose_sync_fails_is_told_and_nothing_half_is_there(small_platter):
    store = FileStore(small_platter / "store")
    store.put(numbered(1))
    with pytest.raises(StoreError, match=r"no space left|input/output error") as refused:
        store.put(Snapshot("gpu-b", "2026-03-04T00:00:00Z", facts={f"pad/{n}": os.urandom(30000).hex() for n in range(150)}))
    assert refused.value.code == 4
    assert store.entries("gpu-b") == ()


def expect_refusal(store, one, *words):
    began = time.monotonic()
    with pytest.raises(StoreError) as refused:
        store.put(one)
    assert refused.value.code == 4
    assert all(word in f"{refused.value.what} {refused.value.do}" for word in words)
    assert time.monotonic() - began < 40
    return refused.value


@pytest.mark.parametrize("failure", [(500, "InternalError"), (503, "SlowDown")])
def test_a_store_that_fails_is_told_in_time_and_nothing_half_is_there(faulty, s3_url, large, tmp_path, failure):
    faulty.fault = lambda number, method, path: refusal(*failure) if method == "PUT" else None
    store = open_store(s3_url, tmp_path / "cache")
    expect_refusal(store, large(), "took nothing", "repeat it")
    faulty.fault = lambda *_: None
    assert open_store(s3_url, tmp_path / "cache").entries("gpu-a") == ()


def test_a_store_that_fails_now_and_then_still_takes_all(faulty, s3_url, large, tmp_path):
    faulty.fault = lambda number, method, path: refusal(503, "SlowDown") if number % 4 == 2 else None
    store = open_store(s3_url, tmp_path / "cache")
    one, _ = keep_linked(store, large())
    assert store.load(one).id == one.id


def test_a_silent_store_is_given_up_by_our_own_bound(faulty, s3_url, large, tmp_path):
    faulty.fault = silent(30)
    store = open_store(s3_url, tmp_path / "cache")
    store.bucket.call_s = 1.5
    began = time.monotonic()
    with pytest.raises(StoreError, match="no answer in"):
        store.put(large())
    assert time.monotonic() - began < 10


def test_a_store_that_failed_is_not_waited_for_again_by_each_of_a_thousand(faulty, s3_url, large, tmp_path):
    faulty.fault = silent(30)
    store = open_store(s3_url, tmp_path / "cache")
    store.bucket.call_s = 1.0
    began = time.monotonic()
    for number in range(1000):
        with pytest.raises(StoreError):
            store.newest_first(f"gpu-{number}").__next__()
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("cut", [1, 7])
def test_credentials_that_expire_in_the_middle_leave_nothing_half_there(faulty, s3_url, large, tmp_path, cut):
    store = open_store(s3_url, tmp_path / "cache")
    faulty.fault = lambda number, method, path: refusal(400, "ExpiredToken") if number > cut else None
    with pytest.raises(StoreError, match="refuses us") as refused:
        keep_linked(store, large())
    assert "renew the credentials" in refused.value.do
    faulty.fault = lambda *_: None
    after = open_store(s3_url, tmp_path / "cache")
    assert after.entries("gpu-a") == ()
    entry, _ = keep_linked(after, large())
    assert after.load(entry).id == entry.id


@pytest.mark.parametrize("cut", [2, 9])
def test_a_writer_that_ends_at_any_request_leaves_nothing_half_there(faulty, s3_url, large, tmp_path, cut):
    """Every request after some is lost, as where the writer is killed there."""
    store = open_store(s3_url, tmp_path / "cache")
    store.bucket.call_s = 1.0
    faulty.fault = lambda number, method, path: silent(5)(number, method, path) if number > cut else None
    with contextlib.suppress(StoreError):
        keep_linked(store, large())
    faulty.fault = lambda *_: None
    after = open_store(s3_url, tmp_path / "cache")
    assert {one.word for one in verify_host(after, "gpu-a", Demand())} <= {"ok"}
    assert after.load(keep_linked(after, large())[0]).host == "gpu-a"


def test_a_bucket_that_is_not_there_is_told_as_such(s3_url, large, tmp_path):
    expect_refusal(open_store("s3://not-there/x", tmp_path / "cache"), large(), "its bucket is not there", "make the bucket")


def test_a_missing_library_is_named_with_how_to_get_it(tmp_path):
    with pytest.raises(StoreError, match="needs a library that is not installed") as refused:
        Bucket("gcs://x").names("")
    assert "pip install" in refused.value.do
