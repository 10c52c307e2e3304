"""Temporary files that a killed writer left are swept wherever the store writes, once they are old."""

from __future__ import annotations

import os

import pytest

from driftwatch.store import nights
from driftwatch.store.labels import set_label
from driftwatch.store.records import Removal
from driftwatch.store.spool import Spool, Wish

WHEN = "2026-03-04T03:12:00Z"
TWO_HOURS_S = 7200


def left_in(folder):
    """Return a temporary file that a writer of two hours ago left."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".tmp-1-deadbeef"
    path.touch()
    then = path.stat().st_mtime - TWO_HOURS_S
    os.utime(path, (then, then))
    return path


@pytest.mark.parametrize("folder", ["audits", "audits/told"])
def test_an_audit_sweeps_what_an_earlier_one_left(tmp_path, folder):
    left = left_in(tmp_path / folder)
    nights.save_run(tmp_path, WHEN, b"{}")
    assert not left.exists()


def test_a_tag_sweeps_what_an_earlier_one_left(store, snapshot):
    entry = store.save(snapshot())
    left = left_in(entry.path.parent / "labels")
    set_label(store, entry, "good", set_at=WHEN, note="", by="")
    assert not left.exists()


def test_asking_the_disk_sweeps_what_an_earlier_question_left(store, snapshot):
    store.save(snapshot())
    left = left_in(store.root)
    store.await_answer()
    assert not left.exists()


def test_gc_sweeps_what_an_earlier_one_left(store, snapshot):
    entry = store.save(snapshot())
    left = left_in(entry.path.parent / "removed")
    store.remove(entry.host, [entry], Removal({}, WHEN))
    assert not left.exists()


def test_the_spool_sweeps_what_an_earlier_writer_left(tmp_path, snapshot):
    spool = Spool(tmp_path)
    left = left_in(spool.add("s3://bucket", snapshot(), Wish()).parents[2])
    spool.add("s3://bucket", snapshot(driver="2"), Wish())
    assert not left.exists()
