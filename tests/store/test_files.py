"""The store keeps what it was given: whole, once, under a name that says what it is, whoever else writes and whatever kills the writer."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from driftwatch.store import document, durable, nights
from driftwatch.store.errors import StoreError
from driftwatch.store.files import FileStore
from driftwatch.store.known_digests import load_known
from driftwatch.store.labels import label_history, label_names, load_label
from driftwatch.store.names import parse_file_name, slug

WRITER = """
import sys
from driftwatch.model import Snapshot
from driftwatch.store.files import FileStore
store, start, count = FileStore(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for number in range(start, start + count):
    store.save(Snapshot("gpu-a", "2026-03-04T03:12:%02dZ" % (number % 60), facts={"n": number, "pad": "x" * 20000}))
    print(number, flush=True)
"""


def writer(root, start, count, **more):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(start), str(count)], stdout=subprocess.PIPE, text=True, **more)


def test_the_name_holds_host_time_and_twelve_digits_of_the_id(store, snapshot):
    one = snapshot()
    entry = store.save(one)
    assert entry.path.relative_to(store.root).as_posix() == f"hosts/gpu-a/gpu-a--20260304T031200Z--{one.id[7:19]}.json"
    assert entry.ref == f"gpu-a@{one.id[7:19]}"


def test_files_are_private_and_so_are_their_folders(store, snapshot):
    entry = store.save(snapshot())
    assert stat.S_IMODE(entry.path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(one.stat().st_mode) for one in (store.root, store.root / "hosts", entry.path.parent)} == {0o700}


def test_what_was_saved_is_loaded(store, snapshot):
    one = snapshot()
    assert store.load(store.save(one)).id == one.id


def test_saving_the_same_again_changes_nothing(store, snapshot):
    assert store.save(snapshot()) == store.save(snapshot())
    assert len(store.entries("gpu-a")) == 1


def test_a_stored_file_is_never_written_over(store, snapshot, tmp_path):
    entry = store.save(snapshot())
    entry.path.write_text("damaged")
    with pytest.raises(StoreError, match="a different file stands at its name") as refused:
        store.save(snapshot())
    assert entry.path.read_text() == "damaged"
    rescued = Path(refused.value.do.rpartition(" ")[2])
    assert document.load(rescued).id == snapshot().id
    rescued.unlink()


def test_a_file_under_another_ones_name_is_refused(store, snapshot):
    entry, other = store.save(snapshot()), store.save(snapshot(driver="1.2"))
    entry.path.write_bytes(other.path.read_bytes())
    with pytest.raises(StoreError, match="another snapshot than its name says"):
        store.load(entry)


def test_snapshots_of_one_second_stand_in_the_order_in_which_they_were_written(store, snapshot):
    written = [store.save(snapshot(driver=f"5.{number}")).name.short_id for number in range(8)]
    assert [entry.name.short_id for entry in store.entries("gpu-a")] == written


def test_a_partial_snapshot_says_so_in_its_name(store, snapshot):
    assert parse_file_name(store.save(snapshot(partial=True)).path.name).is_partial


@pytest.mark.parametrize("host", ["../../x", "a b", "gpu\x1b[2J\u202ea", "", ".hidden", "x" * 300, "-oProxyCommand=x", "caf\udce9"])
def test_a_strange_host_name_gets_a_safe_folder_and_is_listed_by_its_own_name(store, snapshot, host):
    entry = store.save(snapshot(host=host))
    assert entry.path.parent.parent == store.root / "hosts"
    assert entry.path.parent.name.isascii()
    assert store.hosts() == (host or "unnamed",)


def test_two_names_that_clean_up_alike_have_folders_of_their_own():
    assert len({slug(host) for host in ("gpu a", "gpu/a", "gpu-a", "gpu\na")}) == 4


def test_a_store_that_others_may_write_into_is_refused_and_the_snapshot_kept(store, snapshot):
    store.save(snapshot())
    (store.root / "hosts").chmod(0o777)
    with pytest.raises(StoreError, match="others than its owner may write") as refused:
        store.save(snapshot(driver="2"))
    assert refused.value.code == 4
    assert "chmod go-w" in refused.value.do
    Path(refused.value.do.rpartition(" ")[2]).unlink()


@pytest.fixture
def barred(store, snapshot):
    """Return a store with a snapshot, in folders that may not be looked into."""
    store.save(snapshot())
    mode, is_root = store.root.parent.stat().st_mode, os.geteuid() == 0
    store.root.parent.chmod(0o700 if is_root else 0)
    if is_root:
        os.seteuid(65534)
    yield store
    if is_root:
        os.seteuid(0)
    store.root.parent.chmod(mode)


@pytest.mark.parametrize("ask", [
    lambda store: store.hosts(), lambda store: store.entries("gpu-a"), lambda store: store.removals("gpu-a"), lambda store: store.admit(store.root),
    lambda store: label_names(store, "gpu-a"), lambda store: label_history(store, "gpu-a"), lambda store: load_label(store, "gpu-a", "good"),
    lambda store: nights.runs(store.root), lambda store: nights.load_told(store.root, "gpu-a"), lambda store: load_known(store, "gpu-a"),
])
def test_a_store_that_may_not_be_looked_into_is_told_whatever_is_asked_of_it(barred, ask):
    with pytest.raises(StoreError, match="cannot be read: permission denied"):
        ask(barred)


def test_eight_writers_at_once_lose_nothing(store):
    writers = [writer(store.root, start, 10) for start in range(0, 80, 10)]
    assert [one.wait(60) for one in writers] == [0] * 8
    for one in writers:
        one.stdout.close()
    assert sorted(store.load(entry).facts["n"] for entry in store.entries("gpu-a")) == list(range(80))


def test_old_temporary_files_are_swept_and_young_ones_left(store, snapshot):
    folder = store.save(snapshot()).path.parent
    for name, age_s in ((".tmp-1-old", 7200), (".tmp-2-young", 60)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age_s,) * 2)
    store.save(snapshot(driver="2"))
    assert [one.name for one in folder.glob(".tmp-*")] == [".tmp-2-young"]


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of a given size, and take it away again."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options):
        if os.geteuid() != 0:
            pytest.skip("mounting a small file system needs root")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False).returncode != 0:
            pytest.skip("no tmpfs can be mounted here")
        return place

    yield mount
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


def fails_to_save(place, snapshot):
    with pytest.raises(StoreError) as failed:
        FileStore(place / "store").save(snapshot)
    rescued = Path(failed.value.do.rpartition(" ")[2])
    assert document.load(rescued).id == snapshot.id
    rescued.unlink()
    assert failed.value.code == 4
    return failed.value


def test_a_full_disk_is_named_with_its_room_and_the_snapshot_is_written_elsewhere(small_disk, snapshot):
    place = small_disk("size=64k,mode=700")
    failed = fails_to_save(place, snapshot(driver="x" * 200_000))
    assert failed.what == "the snapshot was not stored: no space left on device"
    assert "B free" in failed.where
    assert not list(place.rglob("*.json"))


def test_a_disk_without_inodes_is_told_as_such(small_disk, snapshot):
    assert "(" in fails_to_save(small_disk("nr_inodes=4,mode=700"), snapshot()).where


def test_a_read_only_disk_is_told_as_such(small_disk, snapshot):
    place = small_disk("mode=700")
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    assert "read-only" in fails_to_save(place, snapshot()).what


def test_a_new_file_never_takes_the_place_of_another(tmp_path):
    durable.write_new(tmp_path, "a", b"1")
    with pytest.raises(FileExistsError):
        durable.write_new(tmp_path, "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_readers_see_the_old_file_or_the_new_one(tmp_path):
    durable.write_over(tmp_path, "a", b"0" * 5000)
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(lambda: [durable.write_over(tmp_path, "a", b"%d" % (n % 10) * 5000) for n in range(50)])
        seen = []
        while not writing.done():
            seen.append((tmp_path / "a").read_bytes())
    assert {len(set(one)) for one in seen} == {1}
