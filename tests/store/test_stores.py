"""What holds of every store alike: a folder, S3, fsspec's memory. What was put is found and given back byte for byte, whoever else writes."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from driftwatch.store import document
from driftwatch.store.chain import keep_linked, previous_of
from driftwatch.store.collecting import remove, sort_out
from driftwatch.store.errors import StoreError
from driftwatch.store.labels import drop_label, label_history, label_names, set_label
from driftwatch.store.opening import open_store
from driftwatch.store.references import resolve
from driftwatch.store.retention import parse_rules
from driftwatch.store.verifying import Demand, verify_host

WRITERS = 4
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


def day(number, hour=3):
    return f"2026-03-{number:02}T{hour:02}:12:00Z"


def verdicts(store, host="gpu-a"):
    return [(one.ref.partition("@")[2], one.word) for one in verify_host(store, host, Demand())]


def test_a_large_snapshot_comes_back_byte_for_byte(any_store, large):
    one = large(**{"env/X": "a\x1b\udcffü", "system/load": 0.25, "n": None, "one": 1, "float": 1.0, "true": True})
    entry = any_store.put(one)
    assert any_store.read(entry) == document.to_bytes(one)
    assert any_store.load(entry).id == one.id
    assert [found.name for found in any_store.entries("gpu-a")] == [entry.name]


def test_values_that_only_differ_in_their_type_are_not_taken_for_each_other(any_store, large):
    any_store.put(large(a=1, b=[1, True], c=0.0))
    other = large(taken_at=day(5), a=True, b=[1.0, True], c=False)
    assert any_store.read(any_store.put(other)) == document.to_bytes(other)


def test_last_labels_dates_and_digits_find_one_snapshot(any_store, large):
    entries = [any_store.put(large(taken_at=day(number), **{"system/uptime_s": number})) for number in (2, 3, 4)]
    partial = replace(large(taken_at=day(5)), extra={"partial": True})
    any_store.put(partial)
    set_label(any_store, entries[1], "good", set_at="2026-03-06T00:00:00Z")
    whiches = ("last", "last~2", "good", "2026-03-03", "2026-03-04T03:11Z", entries[2].name.short_id[:8])
    assert [resolve(f"gpu-a@{which}", any_store).entry.name for which in whiches] == [entries[place].name for place in (2, 0, 1, 1, 1, 2)]


@pytest.mark.parametrize("host", ["../../x", "a b", "", "x" * 300, "caf\udce9"])
def test_a_strange_host_name_is_listed_by_its_own_name(any_store, snapshot, host):
    any_store.put(snapshot(host=host))
    assert any_store.hosts() == (host or "unnamed",)


def test_a_host_that_is_not_there_is_told_as_such(any_store):
    with pytest.raises(StoreError, match="no snapshot of gpu-a is stored"):
        resolve("gpu-a@last", any_store)


def test_each_snapshot_names_the_one_before_it(any_store, large):
    kept = [keep_linked(any_store, large(taken_at=day(number))) for number in (2, 3, 4)]
    assert [previous_of(any_store.load(entry)) for entry, _ in kept] == ["", kept[0][1].id, kept[1][1].id]
    assert [word for _, word in verdicts(any_store)] == ["ok"] * 3


def test_keeping_the_same_again_stores_nothing(any_store, large):
    first, _ = keep_linked(any_store, large())
    assert keep_linked(any_store, large())[0].name == first.name
    assert len(any_store.entries("gpu-a")) == 1


def test_a_missing_snapshot_is_told_as_a_missing_link(any_store, large):
    entries = [keep_linked(any_store, large(taken_at=day(number)))[0] for number in (2, 3, 4)]
    take_away(any_store, entries[1])
    assert verdicts(any_store) == [(entries[0].name.short_id, "ok"), (entries[2].name.short_id, "missing link")]


def take_away(store, entry):
    """Remove a snapshot behind the store's back."""
    if hasattr(store, "bucket"):
        store.bucket.remove([entry.path.as_posix()])
    else:
        entry.path.unlink()


def test_two_writers_at_once_make_a_fork_that_is_told_and_no_finding(any_store, large):
    _, linked = keep_linked(any_store, large(taken_at=day(2)))
    for number in (3, 4):
        any_store.put(replace(large(taken_at=day(number)), extra={"previous": linked.id}))
    assert [(one.word, one.fork) for one in verify_host(any_store, "gpu-a", Demand())] == [("ok", 0), ("ok", 2), ("ok", 2)]


def test_what_gc_removed_is_no_missing_link_but_what_it_followed_is(any_store, large):
    entries = [keep_linked(any_store, large(taken_at=day(number)))[0] for number in range(2, 8)]
    remove(any_store, sort_out(any_store, "gpu-a", parse_rules("last=2"), NOW), NOW, by="me", rules="last=2")
    assert [entry.name for entry in any_store.entries("gpu-a")] == [entry.name for entry in entries[4:]]
    assert [word for _, word in verdicts(any_store)] == ["ok", "ok"]
    gone, = any_store.removals("gpu-a")
    assert gone.removed == {entry.name.short_id: before for entry, before in zip(entries[:4], ["", *(one.name.short_id for one in entries)], strict=False)}


def test_gc_keeps_what_a_label_names_and_what_is_younger_than_a_day(any_store, large):
    entries = [keep_linked(any_store, large(taken_at=day(number)))[0] for number in range(2, 8)]
    set_label(any_store, entries[0], "good", set_at="2026-03-06T00:00:00Z")
    soon = datetime(2026, 3, 7, 2, tzinfo=timezone.utc)
    found = sort_out(any_store, "gpu-a", parse_rules("last=1"), soon)
    assert [entry.name for entry in found.removed] == [entry.name for entry in entries[1:4]]


def test_a_label_whose_snapshot_was_taken_away_is_a_missing_link(any_store, large):
    entries = [keep_linked(any_store, large(taken_at=day(number)))[0] for number in (2, 3)]
    set_label(any_store, entries[1], "good", set_at="2026-03-06T00:00:00Z")
    take_away(any_store, entries[1])
    assert verdicts(any_store)[-1] == ("good", "missing link")


def test_a_label_that_moves_keeps_where_it_stood_when_and_by_whom(any_store, snapshot):
    entries = [any_store.put(snapshot(taken_at=day(number))) for number in (2, 3)]
    for entry, at, who in ((entries[0], 6, "ann@ctl-1"), (entries[1], 7, "bob@ctl-2")):
        set_label(any_store, entry, "good", set_at=f"2026-03-0{at}T00:00:00Z", by=who)
    drop_label(any_store, "gpu-a", "good", set_at="2026-03-08T00:00:00Z", by="ann@ctl-1")
    assert [(one.id, one.by) for one in label_history(any_store, "gpu-a")] == [
        (entries[0].name.short_id, "ann@ctl-1"), (entries[1].name.short_id, "bob@ctl-2"), ("", "ann@ctl-1"),
    ]
    assert label_names(any_store, "gpu-a") == ()


def test_writers_at_once_lose_nothing(any_store, large, tmp_path):
    place = any_store.place
    failures = []

    def write(start):
        try:
            own = open_store(place, tmp_path / f"cache-{start}")
            for number in range(2):
                keep_linked(own, large(taken_at=day(number + 1, start), n=start * 10 + number))
        except Exception as failed:  # noqa: BLE001  # told below
            failures.append(failed)

    threads = [threading.Thread(target=write, args=(start,)) for start in range(WRITERS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    assert sorted(any_store.load(entry).facts["n"] for entry in any_store.entries("gpu-a")) == sorted(10 * a + b for a in range(WRITERS) for b in range(2))
    assert {word for _, word in verdicts(any_store)} == {"ok"}


def test_the_store_key_is_the_same_for_all_who_make_it_at_once(any_store, tmp_path):
    stores = [open_store(any_store.place, tmp_path / f"cache-{number}") for number in range(2)]
    assert len({one.store_key() for one in stores}) == 1
