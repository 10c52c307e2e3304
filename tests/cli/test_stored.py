"""`list`, `show`, `tag`, `untag`, `probes`: what is stored is found, and what is unknown is never shown as nothing."""

from __future__ import annotations

import json

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label


@pytest.fixture
def stored(cli):
    """Store three snapshots of gpu-a, the first tagged good."""
    store = FileStore(cli.store)
    probes = {"driver": ProbeResult("ok", 0.1, tells=("driver/*",))}
    entries = [
        store.save(Snapshot("gpu-a", f"2026-03-0{day}T03:12:00Z", probes=probes, facts={"driver/module/version": f"580.1.{day}"})) for day in (2, 3, 4)
    ]
    set_label(store, entries[0], "good", set_at="2026-03-05T00:00:00Z")
    return cli


def test_list_shows_hosts_with_counts_newest_and_tags(stored):
    assert stored.run("list").stdout == "gpu-a  3  2026-03-04T03:12:00Z  good\n"


def test_list_of_a_host_shows_its_snapshots_newest_first(stored):
    rows = json.loads(stored.run("list", "gpu-a", "--json").stdout)
    assert [(row["taken_at"][8:10], row["tags"]) for row in rows] == [("04", []), ("03", []), ("02", ["good"])]


def test_list_since_leaves_out_what_is_older(stored):
    assert stored.run("list", "gpu-a", "--since", "1h").stdout == ""


def test_show_prints_path_and_value_of_what_fits(stored):
    assert stored.run("show", "gpu-a@good", "driver/module/*").stdout.splitlines()[-1] == "driver/module/version  580.1.2"


def test_every_reference_that_list_prints_is_understood_by_show(stored):
    for row in json.loads(stored.run("list", "gpu-a", "--json").stdout):
        assert stored.run("show", row["ref"], "driver/module/version").returncode == 0


def test_tag_moves_and_untag_takes_away(stored):
    assert stored.run("tag", "good", "gpu-a@last", "--note", "why").stdout == "gpu-a@good\n"
    assert "580.1.4" in stored.run("show", "gpu-a@good", "driver/module/version").stdout
    assert stored.run("untag", "gpu-a@good").returncode == 0
    assert stored.run("show", "gpu-a@good").returncode == 2


def test_only_what_is_stored_can_be_tagged(cli, snapshot_file):
    ran = cli.run("tag", "good", snapshot_file("x.json"))
    assert ran.returncode == 2
    assert "only stored snapshots can be tagged" in ran.stderr


def test_a_snapshot_is_read_from_standard_input(cli, snapshot_file):
    assert cli.run("show", "-", "driver/version", typed=snapshot_file("x.json").read_text()).stdout == "driver/version  580.95.05\n"


def test_what_was_not_answered_is_told_beside_the_answer_and_is_exit_3(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "gpus/count")
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "? gpus/count  timeout: nvml: no answer in 20 s\n")


def test_what_is_known_to_be_absent_is_shown_as_absent(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "driver/flavour")
    assert (ran.returncode, ran.stdout) == (0, "driver/flavour  absent\n")


def test_show_names_the_probes_that_could_have_told_more(cli, snapshot_file):
    assert "? nvml  timeout: no answer in 20 s\n" in cli.run("show", snapshot_file("x.json"), "--all").stdout
    assert "? probe nvml  timeout: no answer in 20 s\n" in cli.run("show", snapshot_file("x.json"), "gpus/*").stderr


def test_show_as_json_is_the_whole_snapshot(cli, snapshot_file):
    path = snapshot_file("x.json")
    assert json.loads(cli.run("show", path, "--json").stdout) == json.loads(path.read_text())


def test_show_takes_a_recorded_host(cli, recorded):
    assert "driver/module/version  580.95.05" in cli.run("show", recorded(), "--all").stdout


def test_an_answer_goes_to_the_file_of_out(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "driver/version", "-o", "facts.txt")
    assert (ran.stdout, (cli.home / "facts.txt").read_text()) == ("", "driver/version  580.95.05\n")


def test_probes_lists_every_probe_with_what_it_reads(cli):
    rows = {row["probe"]: row for row in json.loads(cli.run("probes", "--json").stdout)}
    assert {"system", "driver", "nvml"} <= set(rows)
    assert all(row["reads"] and row["deadline_s"] > 0 and row["tells"] for row in rows.values())
    assert "nvml" in cli.run("probes").stdout


def test_where_the_output_is_no_utf_8_everything_is_ascii(cli, snapshot_file):
    path = snapshot_file("x.json", **{"x/y": "caf\xe9 → \u202e"})
    ran = cli.run("show", path, "x/*", PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ran.stdout.isascii()
    assert ran.returncode == 0


def test_what_changes_the_store_answers_in_json_too(stored):
    tagged = json.loads(stored.run("tag", "fine", "gpu-a@good", "--json").stdout)
    removed = json.loads(stored.run("untag", "gpu-a@fine", "--json").stdout)
    (stored.home / "list.txt").write_text("torch==2.9.1\n")
    imported = json.loads(stored.run("import", "list.txt", "--host", "gpu-b", "--json").stdout)
    planned = json.loads(stored.run("schedule", "gpu-a", "--cron", "--json").stdout)
    assert (tagged["ref"], removed, imported["ref"][:6], imported["facts"] > 0) == ("gpu-a@fine", {"removed": "gpu-a@fine"}, "gpu-b@", True)
    assert [(one["path"], " audit " in one["text"]) for one in planned["pieces"]] == [(None, True)]


@pytest.mark.parametrize(("words", "what"), [
    (("import", "list.txt", "--host", "bad host"), "'bad host' cannot be the name of a host"), (("schedule", "--cron"), "no host is selected"),
    (("list", "gpu-c"), "no snapshot of gpu-c is stored"),
])
def test_what_could_only_fail_later_is_refused_at_once(stored, words, what):
    (stored.home / "list.txt").write_text("torch==2.9.1\n")
    (stored.store / "hosts" / "gpu-c").mkdir()
    ran = stored.run(*words)
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, f"error: {what}")
    assert "did you mean gpu-c" not in ran.stderr
