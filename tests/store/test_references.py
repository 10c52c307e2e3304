"""A REF means one snapshot, or the error says what is missing, where it was looked for and what to do."""

from __future__ import annotations

import pytest

from driftwatch.store.errors import StoreError
from driftwatch.store.labels import drop_label, label_names, load_label, set_label
from driftwatch.store.names import check_label
from driftwatch.store.references import resolve


@pytest.fixture
def week(store, snapshot):
    """Return the entries of four snapshots of gpu-a; the newest is partial."""
    times = ("2026-03-02T10:00:00Z", "2026-03-04T03:12:30Z", "2026-03-04T23:59:59Z")
    entries = [store.save(snapshot(taken_at=one)) for one in times]
    return [*entries, store.save(snapshot(taken_at="2026-03-05T00:00:00Z", partial=True))]


@pytest.mark.parametrize(("which", "place"), [
    ("last", 2), ("last~0", 2), ("last~1", 1), ("last~2", 0), ("2026-03-03", 0), ("2026-03-04", 2), ("2026-03-04T03:12Z", 1), ("2026-03-04T03:11Z", 0),
    ("2026-03-04T03:12:30Z", 1), ("2027-01-01", 2),
])
def test_a_moment_means_the_newest_whole_snapshot_that_is_not_after_it(store, week, which, place):
    assert resolve(f"gpu-a@{which}", store).entry.name == week[place].name


def test_digits_of_the_id_mean_any_snapshot_also_a_partial_one(store, week):
    for entry in week:
        assert resolve(f"gpu-a@{entry.name.short_id[:9]}", store).entry.name == entry.name


def test_a_tag_means_the_snapshot_that_it_was_put_on_and_moves(store, week):
    set_label(store, week[0], "good", set_at="2026-03-06T00:00:00Z", note="before the upgrade")
    assert resolve("gpu-a@good", store).entry.name == week[0].name
    set_label(store, week[1], "good", set_at="2026-03-07T00:00:00Z")
    assert resolve("gpu-a@good", store).entry.name == week[1].name


def test_a_tag_keeps_when_and_why_and_can_be_removed(store, week):
    set_label(store, week[0], "good", set_at="2026-03-06T00:00:00Z", note="why")
    found = load_label(store, "gpu-a", "good")
    assert (found.id, found.set_at, found.note) == (week[0].name.short_id, "2026-03-06T00:00:00Z", "why")
    drop_label(store, "gpu-a", "good", set_at="2026-03-07T00:00:00Z")
    assert label_names(store, "gpu-a") == ()
    assert len(store.entries("gpu-a")) == 4


def told(text, store):
    with pytest.raises(StoreError) as refused:
        resolve(text, store)
    return refused.value


def test_a_missing_tag_is_told_with_the_tags_that_there_are(store, week):
    set_label(store, week[0], "before-upgrade", set_at="2026-03-06T00:00:00Z")
    failed = told("gpu-a@good", store)
    assert failed.what == 'no snapshot of gpu-a is tagged "good"'
    assert failed.where == f"{store.root}/hosts/gpu-a (4 snapshots, tags: before-upgrade)"
    assert failed.do == "driftwatch tag good gpu-a@2026-03-05   or   driftwatch list gpu-a"


@pytest.mark.parametrize(("text", "what"), [
    ("root@192.0.2.17", "root@192.0.2.17 is an SSH login; did you mean 192.0.2.17@last?"),
    ("root@gpu-a", "root@gpu-a is an SSH login; did you mean gpu-a@last?"),
    ("gpu-b@last", "no snapshot of gpu-b is stored"),
    ("gpu-a", "gpu-a is a host: say which of its snapshots"),
    ("gpu-a@last~3", "gpu-a has 3 whole snapshots, so there is no last~3"),
    ("gpu-a@2020-01-01", "no snapshot of gpu-a is as old as 2020-01-01; the oldest is of 2026-03-02T10:00:00Z"),
    ("gpu-a@fffffff", "no snapshot of gpu-a begins with fffffff"),
    ("gpu-a@2026-13-01", "gpu-a@2026-13-01 names no day or time that there is"),
    ("gpu-a@2026-03-04T25:00Z", "gpu-a@2026-03-04T25:00Z names no day or time that there is"),
    ("gpu-a@2026-3-4", "gpu-a@2026-3-4 names nothing"),
    ("gpu-a@last~x", "gpu-a@last~x names nothing"),
    ("nothing", "'nothing' is no reference"),
    ("@last", "'@last' is no reference"),
    ("gpu-a@", "'gpu-a@' is no reference"),
])
def test_what_names_nothing_is_told_in_one_sentence(store, week, text, what):
    failed = told(text, store)
    assert failed.what == what
    assert failed.code == 2
    assert failed.do


def test_a_tag_whose_snapshot_is_gone_says_so(store, week):
    set_label(store, week[0], "good", set_at="2026-03-06T00:00:00Z")
    week[0].path.unlink()
    assert "is gone" in told("gpu-a@good", store).what


def test_a_damaged_tag_is_told_and_not_guessed(store, week):
    set_label(store, week[0], "good", set_at="2026-03-06T00:00:00Z")
    (store.folder("gpu-a") / "labels" / "good").write_text("{")
    assert "is damaged" in told("gpu-a@good", store).what


@pytest.mark.parametrize("name", ["last", "9d41c07", "deadbeef", "Good", "", "a_b", "2026-03-04", "x" * 32, "-x", "a/b", "good\n"])
def test_what_could_be_taken_for_something_else_is_no_tag(name):
    with pytest.raises(StoreError, match="cannot be a tag"):
        check_label(name)


@pytest.mark.parametrize("name", ["good", "g", "before-upgrade", "fade", "x" * 31, "deadbeef-2"])
def test_plain_names_are_tags(name):
    assert check_label(name) == name


def test_paths_files_recorded_hosts_and_standard_input_are_told_apart(store, tmp_path):
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    (recorded / "host.json").write_text("{}")
    (tmp_path / "pair.tar.xz").touch()
    texts = ("-", "./x", "x.json", "issue.txt", recorded, tmp_path, tmp_path / "pair.tar.xz" / "pair" / "good")
    kinds = {text: resolve(str(text), store).kind for text in texts}
    assert list(kinds.values()) == ["stdin", "file", "file", "file", "recorded", "file", "recorded"]
