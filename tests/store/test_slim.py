"""Many snapshots read slim are the very snapshots that were stored: whatever came, went or changed between them, and whatever is damaged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwatch.model import ProbeResult, Snapshot, canonical, content_id, from_document, to_document
from driftwatch.store import document, pieces
from driftwatch.store.errors import StoreError
from driftwatch.store.rendering import Rendering
from driftwatch.store.slim import Slimmer

SWAPPED = {f"srt%2Fmodule_{number}.py": f"sha256:{number * 104729:064x} {number}" for number in range(700)}
CHANGES = (
    {}, {"system/uptime_s": 1}, {"system/uptime_s": 1.0}, {"system/uptime_s": True}, {'env/a\N{GREEK SMALL LETTER ALPHA}"b': "\N{SNOWMAN}\\\n"},
    {"servers/sglang/args/x": {"b": [1, 2.5], "a": None}}, {"gpus/GPU-1/name": {"unknown": "timeout", "reason": "no answer"}},
    {"files": SWAPPED}, {"files": SWAPPED, "system/uptime_s": 7}, {},
)


@pytest.fixture
def month(any_store, large):
    """Store a sequence in which facts come, go, change their type, and all of a tree changes; return the store and its entries."""
    for hour, facts in enumerate(CHANGES):
        any_store.put(large(taken_at=f"2026-03-04T{hour:02}:00:00Z", **facts))
    return any_store, any_store.entries("gpu-a")


def test_what_is_read_slim_is_what_was_stored(month):
    store, entries = month
    read = [slim.whole() for _, slim in store.load_each(entries)]
    assert [to_document(one) for one in read] == [to_document(store.load(entry)) for entry in entries]
    assert [one.id for one in read] == [content_id(to_document(one)) for one in read]
    assert [str(one.facts.get("system/uptime_s")) for one in read] == ["None", "1", "1.0", "True", "None", "None", "None", "None", "7", "None"]


def test_what_snapshots_have_in_common_is_held_once(month):
    store, entries = month
    slims = [slim for _, slim in store.load_each(entries)]
    assert len({id(slim.shared) for slim in slims}) <= 3
    assert max(len(slim.changed) for slim in slims) <= 2


def damage(store, entry, data):
    if entry.path.is_absolute():
        entry.path.write_bytes(data)
    else:
        store.bucket.write_over(entry.path.as_posix(), data)


def test_a_damaged_one_is_told_and_costs_the_others_nothing(month):
    store, entries = month
    data = entries[2].path.read_bytes() if entries[2].path.is_absolute() else store.bucket.read(entries[2].path.as_posix())
    damage(store, entries[3], data)  # a whole snapshot, but another one
    damage(store, entries[5], data[:-20])
    read = {entry.id or entry.ref: slim for entry, slim in store.load_each(entries)}
    refused = [name for name, slim in read.items() if isinstance(slim, StoreError)]
    assert refused == [entries[place].id or entries[place].ref for place in (3, 5)]


def test_a_value_changed_behind_the_id_is_refused(month):
    store, entries = month
    if entries[0].path.is_absolute():
        plain = entries[1].path.read_bytes()
        damage(store, entries[1], plain.replace(b'"system/uptime_s": 1', b'"system/uptime_s": 2'))
    else:
        plain = pieces.unpack(store.bucket.read(entries[1].path.as_posix()))
        damage(store, entries[1], pieces.pack(plain.replace(b'"facts/system/uptime_s":1', b'"facts/system/uptime_s":2')))
    found = dict(store.load_each(entries))[entries[1]]
    assert isinstance(found, StoreError)
    assert "it was changed after it was written" in found.what


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-3, 3).map(lambda one: round(one, 3)) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2), max_leaves=4,
)
FACTS = st.dictionaries(st.text('ab/"\\é\0', min_size=1, max_size=3), VALUES, max_size=5)


def told(facts, second):
    probes = {"system": ProbeResult("ok", second / 10, tells=("system/*",))}
    made = replace(Snapshot("gpu-a", f"2026-03-04T00:00:0{second}Z", agent={"version": "1"}, probes=probes, facts=facts))
    return from_document({**to_document(made), "id": made.id})


@given(st.lists(FACTS, min_size=1, max_size=4))
def test_any_facts_are_slim_and_whole_again(each):
    snapshots = [told(facts, second) for second, facts in enumerate(each)]
    slimmer = Slimmer()
    base = pieces.flatten({**to_document(snapshots[0]), "id": snapshots[0].id})
    rendering = Rendering(base)
    for snapshot in snapshots:
        patch = pieces.diff(base, pieces.flatten({**to_document(snapshot), "id": snapshot.id}))
        for slim in (slimmer.read(document.to_bytes(snapshot), "x"), rendering.slim(patch)):
            whole = slim.whole()
            assert canonical(to_document(whole)) == canonical(to_document(snapshot))
            assert whole.id == snapshot.id
