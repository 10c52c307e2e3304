"""The digests kept beside a host's snapshots: only of files that may be trusted, never another host's, and thrown away at will."""

from __future__ import annotations

import gzip
import json

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store.errors import StoreError
from driftwatch.store.files import FileStore
from driftwatch.store.known_digests import FILE, FOLDER, load_known, save_known

A, B = "a" * 64, "b" * 64


def snapshot(files, status="ok", root="/opt/sglang", host="gpu-a"):
    facts = {"sources/sglang/root": root}
    for name, (digest, *times) in files.items():
        facts[f"sources/sglang/files/{name}"] = f"sha256:{digest} 7"
        facts[f"sources/sglang/times/{name}"] = times
    return Snapshot(host, "2026-03-04T03:12:00Z", probes={"sources": ProbeResult(status, tells=("sources/*",))}, facts=facts)


@pytest.fixture
def store(tmp_path):
    return FileStore(tmp_path / "store")


@pytest.fixture
def place(store):
    return store.folder("gpu-a") / FOLDER / FILE


def test_a_file_is_kept_with_what_must_be_the_same(store, place):
    save_known(store, snapshot({"srt%2Fa.py": (A, 1, 2, 3)}))
    assert load_known(store, "gpu-a") == {"/opt/sglang": {"srt%2Fa.py": [7, 1, 2, 3, A]}}
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_file_whose_times_may_not_be_trusted_is_not_kept(store):
    save_known(store, snapshot({"a.py": (A, 1, 2, 3), "b.py": (B, 1, 2)}))
    assert set(load_known(store, "gpu-a")["/opt/sglang"]) == {"a.py"}


def test_nothing_is_written_where_nothing_changed(store, place):
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    written = place.stat().st_ino
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    assert place.stat().st_ino == written


def test_a_probe_that_did_not_end_adds_to_what_is_known_and_one_that_did_replaces_it(store):
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    save_known(store, snapshot({"b.py": (B, 1, 2, 4)}, status="timeout"))
    assert set(load_known(store, "gpu-a")["/opt/sglang"]) == {"a.py", "b.py"}
    save_known(store, snapshot({"b.py": (B, 1, 2, 4)}))
    assert set(load_known(store, "gpu-a")["/opt/sglang"]) == {"b.py"}


def test_the_four_trees_that_were_looked_at_last_are_kept(store):
    for number in (1, 2, 3, 4, 1, 5):
        save_known(store, snapshot({"a.py": (A, 1, number, 3)}, root=f"/t{number}"))
    assert list(load_known(store, "gpu-a")) == ["/t3", "/t4", "/t1", "/t5"]


def test_a_snapshot_without_sources_leaves_what_is_known(store):
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    save_known(store, Snapshot("gpu-a", "2026-03-05T03:12:00Z"))
    assert load_known(store, "gpu-a")


def damaged(whole):
    told = json.loads(gzip.decompress(whole))
    return {
        "cut": whole[:-9], "empty": b"", "no gzip": b"{}", "more behind it": whole + b"x", "a list": gzip.compress(b"[]"),
        "another format": gzip.compress(json.dumps({**told, "format": 2}).encode()),
        "another host's": gzip.compress(json.dumps({**told, "host": "gpu-b"}).encode()),
        "an entry cut": gzip.compress(json.dumps({**told, "trees": {"/t": {"a.py": [1, 2]}}}).encode()),
        "no trees": gzip.compress(json.dumps({**told, "trees": []}).encode()),
    }


@pytest.mark.parametrize("how", ["cut", "empty", "no gzip", "more behind it", "a list", "another format", "another host's", "an entry cut", "no trees"])
def test_a_damaged_file_is_refused_as_a_whole_and_written_anew(store, place, how):
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    place.write_bytes(damaged(place.read_bytes())[how])
    with pytest.raises(StoreError, match="damaged"):
        load_known(store, "gpu-a")
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    assert load_known(store, "gpu-a")


def test_a_folder_that_others_may_write_to_is_refused(store, place):
    save_known(store, snapshot({"a.py": (A, 1, 2, 3)}))
    place.parent.chmod(0o777)
    with pytest.raises(StoreError, match="others than its owner"):
        load_known(store, "gpu-a")
