"""What an object store does beside keeping: equal hosts share their lists, nothing is written over, gc takes only lists that nobody needs, damage is named."""

from __future__ import annotations

import secrets
import threading
from datetime import datetime, timezone

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from driftwatch.model import to_document
from driftwatch.store import object_names, pieces
from driftwatch.store.bases import Ages
from driftwatch.store.bucket import Bucket
from driftwatch.store.chain import keep_linked
from driftwatch.store.collecting import remove, sort_out
from driftwatch.store.errors import StoreError
from driftwatch.store.objects import ObjectStore
from driftwatch.store.opening import open_store
from driftwatch.store.references import find
from driftwatch.store.retention import parse_rules
from driftwatch.store.verifying import Demand, verify_host

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


def lists(store):
    return {one.key: one.size_bytes for one in store.bucket.below(object_names.LISTS)}


def test_equal_hosts_cost_one_list(object_store, large):
    object_store.put(large("gpu-000"))
    once = lists(object_store)
    for number in range(1, 8):
        object_store.put(large(f"gpu-{number:03}", **{"system/uptime_s": number}))
    added = {key: size for key, size in lists(object_store).items() if key not in once}
    assert sum(once.values()) > 8000
    assert sum(added.values()) < 7 * 600  # of each the base, which names the same lists, and the piece with its own uptime


def test_a_changed_file_alters_few_pieces(large):
    before, after = (pieces.flatten({**document, "id": "x"}) for document in documents(large))
    one, other = set(pieces.cut(before)), set(pieces.cut(after))
    assert len(one) > 4
    assert len(other - one) == 1


def documents(large):
    return to_document(large()), to_document(large(files={"srt%2Fmodule_300.py": "sha256:" + "0" * 64 + " 1"}))


def test_the_next_snapshot_of_a_host_is_one_small_object(object_store, large):
    keep_linked(object_store, large())
    before = {one.key: one.size_bytes for one in object_store.bucket.below("")}
    keep_linked(object_store, large(taken_at="2026-03-04T04:12:00Z", **{"system/uptime_s": 9}))
    added = {one.key: one.size_bytes for one in object_store.bucket.below("") if one.key not in before}
    assert len(added) == 1
    assert max(added.values()) < 1000


def test_a_change_that_stays_makes_a_new_base_so_that_not_every_snapshot_carries_it(object_store, large):
    first = object_store.put(large())
    moved = {f"srt%2Fmodule_{number}.py": f"sha256:{'1' * 64} {number}" for number in range(20)}
    assert object_store.put(large(taken_at="2026-03-04T04:12:00Z", files=moved)).stem != first.stem


def test_a_small_snapshot_has_no_lists(object_store, snapshot):
    assert object_store.put(snapshot()).stem == ""
    assert lists(object_store) == {}


def test_another_machine_without_what_this_one_remembers_builds_on_the_same_base(object_store, large, tmp_path):
    first, _ = keep_linked(object_store, large())
    other = open_store(object_store.bucket.url, tmp_path / "other")
    second, _ = keep_linked(other, large(taken_at="2026-03-04T04:12:00Z"))
    assert (second.stem, second.previous) == (first.stem, first.name.short_id)


def test_what_exists_is_not_written_over_and_of_many_writers_one_wins(object_store):
    wrote = []
    threads = [threading.Thread(target=lambda n=number: wrote.append(object_store.bucket.write_new("x", b"%d" % n))) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(wrote) == [False] * 5 + [True] or object_store.bucket.scheme == "memory"
    assert not object_store.bucket.write_new("x", b"another")
    assert object_store.bucket.read("x") != b"another"


def test_last_is_found_without_listing_the_host(s3_url, faulty, large, tmp_path):
    store = open_store(s3_url, tmp_path / "cache")
    for number in range(2, 8):
        store.put(large(taken_at=f"2026-03-{number:02}T03:12:00Z"))
    faulty.requests.clear()
    assert find(store, "gpu-a", "last").name.compact == "20260307T031200Z"
    asked = [path for _, path in faulty.requests]
    assert len(asked) == 2
    assert [path for path in asked if "2026-03-07" in path]
    assert not [path for path in asked if "delimiter" not in path.lower()]


@pytest.mark.parametrize("victim", ["snapshot", "stem", "piece"])
def test_any_one_bit_that_changes_is_found(memory_store, large, victim, tmp_path):
    entry = memory_store.put(large())
    stem, = [key for key in lists(memory_store) if object_names.digest_of(key).startswith(entry.stem)]
    key = {"snapshot": entry.path.as_posix(), "stem": stem, "piece": next(one for one in lists(memory_store) if one != stem)}[victim]
    whole = memory_store.bucket.read(key)
    for place in range(10, len(whole), max(1, len(whole) // 6)):  # the first ten bytes of gzip are a head that no content depends on
        memory_store.bucket.write_over(key, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        verdict, = verify_host(open_store(memory_store.bucket.url, tmp_path / "fresh"), "gpu-a", Demand())
        assert verdict.word == "changed"
    memory_store.bucket.write_over(key, whole)


@pytest.mark.parametrize("how", ["missing", "another"])
def test_a_list_that_is_missing_or_another_one_is_named(object_store, large, how, tmp_path):
    object_store.put(large())
    first, second, *_ = lists(object_store)
    if how == "missing":
        object_store.bucket.remove([first])
    else:
        object_store.bucket.write_over(first, object_store.bucket.read(second))
    verdict, = verify_host(open_store(object_store.bucket.url, tmp_path / "fresh"), "gpu-a", Demand())
    assert (verdict.word, verdict.why.split()[0]) == ("changed", "list")
    assert object_names.digest_of(first)[:12] in verdict.why


def test_a_snapshot_under_another_ones_key_is_changed(object_store, large):
    one, other = object_store.put(large("gpu-a")), object_store.put(large("gpu-b"))
    object_store.bucket.write_over(one.path.as_posix(), object_store.bucket.read(other.path.as_posix()))
    verdict, = verify_host(object_store, "gpu-a", Demand())
    assert "another snapshot than its name says" in verdict.why


def test_gc_takes_the_lists_that_nobody_needs_and_spares_young_ones(object_store, large):
    keep_linked(object_store, large(files={f"srt%2Fmodule_{n}.py": f"sha256:{'2' * 64} {n}" for n in range(300)}))
    keep_linked(object_store, large(taken_at="2026-03-05T03:12:00Z"))
    remove(object_store, sort_out(object_store, "gpu-a", parse_rules("last=1"), NOW), NOW, by="me", rules="last=1")
    assert object_store.sweep(["gpu-a"], (), is_real=True).count == 0
    later = ObjectStore(object_store.bucket.url, object_store.local, Ages(taken_s=-5.0))
    assert later.sweep(["gpu-a"], (), is_real=True).count >= 2
    assert [one.word for one in verify_host(object_store, "gpu-a", Demand())] == ["ok"]


def test_a_list_that_is_found_old_is_written_again_so_that_gc_lets_it_be(object_store, large):
    object_store.put(large("gpu-a"))
    before = {one.key: one.written_s for one in object_store.bucket.below(object_names.LISTS)}
    ObjectStore(object_store.bucket.url, object_store.local, Ages(refreshed_s=-5.0)).put(large("gpu-b"))
    after = {one.key: one.written_s for one in object_store.bucket.below(object_names.LISTS)}
    assert [key for key in before if after[key] < before[key]] == []
    assert [key for key in before if after[key] > before[key] or object_store.bucket.scheme == "s3"]


def test_where_a_put_is_not_whole_or_nothing_an_object_gets_its_name_when_it_is_whole(tmp_path):
    bucket = Bucket(f"file://{tmp_path}/far")  # fsspec's own way to files stands in for sftp and the like
    assert [bucket.write_new("a/b", b"1"), bucket.write_new("a/b", b"2")] == [True, False]
    bucket.write_over("a/b", b"3")
    assert (bucket.read("a/b"), bucket.names("a"), bucket.read("none")) == (b"3", ["b"], None)


def test_a_url_is_shown_without_its_credentials():
    assert Bucket("sftp://me:secret@host/x").place == "sftp://host/x"


@pytest.mark.parametrize(("url", "said"), [("nothing://x", "is no store"), ("s4://x", "is no store")])
def test_a_url_that_nobody_carries_is_told_as_such(url, said, tmp_path):
    with pytest.raises(StoreError, match=said):
        open_store(url, tmp_path).hosts()


class Limited(MemoryFileSystem):
    """One of fsspec's file systems, with less: it cannot write only what is not there, nor tell of single objects, and refuses both as fsspec's others do."""

    def pipe_file(self, path, value, mode="overwrite", **_):
        if mode == "create":
            raise NotImplementedError("no exclusive writes")
        super().pipe_file(path, value)

    def info(self, path, **_):
        raise NotImplementedError(f"nothing can be told of {path}")


@pytest.fixture
def limited():
    """Return a bucket on that file system."""
    bucket = Bucket("gs://limited")
    bucket.__dict__["_opened"] = (Limited(), f"/{secrets.token_hex(6)}")
    return bucket


def test_where_a_store_cannot_write_only_what_is_new_it_is_looked_first(limited):
    assert [limited.write_new("a/b", b"1"), limited.read("a/b")] == [True, b"1"]


def test_what_a_store_cannot_do_is_told_as_such_and_is_no_fault_of_ours(limited):
    with pytest.raises(StoreError, match="the store cannot be read"):
        limited.written_s("a/b")
