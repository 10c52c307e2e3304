"""Snapshots read as lines say the same as snapshots read whole, and are refused for the same reasons."""

from __future__ import annotations

import json

import pytest

from driftwatch.compare.peers_lines import parts_of, text_of, value_of
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.store.fact_lines import LineReader, lines_of

FACTS = {
    "a/plain": "text", "a/number": 1.5, "a/none": None, "a/nested": {"z": [1, {"y": "ü"}], "a": "x, y: z"}, "a/list": [], "ü/with%2Fslash": True,
    'a/quote": inside': "here", "a/back\\slash": "\x1b[31m", "a/line\nbreak": "1\n2", "a": {"unknown": "denied", "reason": "not for us"},
}
SNAPSHOT = Snapshot("gpu-a", "2026-03-04T03:00:00Z", probes={"a": ProbeResult("ok", tells=("a/*",))}, facts=FACTS, extra={"zeta": {"facts": {}}, "beta": 1})


def told(lines):
    return {text_of(parts_of(line)[0]): value_of(line) for line in lines}


def test_lines_say_what_the_whole_file_says():
    read = LineReader().read(document.to_bytes(SNAPSHOT), "x.json")
    assert (told(read.lines), read.id, read.snapshot.host, read.snapshot.probes) == (FACTS, SNAPSHOT.id, "gpu-a", SNAPSHOT.probes)


def test_our_own_layout_is_read_as_lines_and_any_other_the_long_way():
    reader, data = LineReader(), document.to_bytes(SNAPSHOT)
    other = json.dumps(json.loads(data), indent=2).encode()
    assert reader._parsed(document.to_bytes(Snapshot("b", None, facts={"a/b": 1}))) is not None
    assert reader._parsed(other) is None
    assert told(reader.read(other, "x.json").lines) == FACTS


def test_lines_that_are_remembered_change_nothing():
    reader, data = LineReader(), document.to_bytes(SNAPSHOT)
    reader.keep(reader.read(data, "x.json").lines)
    assert told(reader.read(data, "x.json").lines) == told(reader.again(data, "x.json")) == FACTS


@pytest.mark.parametrize("wrong", [
    lambda data: data.replace(b'"text"', b'"test"'), lambda data: data.replace(b"gpu-a", b"gpu-b"), lambda data: data[:-40], lambda data: b"{}",
    lambda data: data.replace(b'"a/number": 1.5', b'"a/number": 1.5,\n "a/number": 1.5'), lambda data: data.replace(b"1.5", b"NaN"), lambda data: b"",
])
def test_a_damaged_file_is_refused_by_name(wrong):
    with pytest.raises(StoreError, match=r"x\.json is no snapshot"):
        LineReader().read(wrong(document.to_bytes(SNAPSHOT)), "x.json")


def test_a_snapshot_without_facts_has_no_lines():
    assert lines_of(Snapshot("a", None)).lines == LineReader().read(document.to_bytes(Snapshot("a", None)), "x").lines == ()
