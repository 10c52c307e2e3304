"""`snapshot`: one reference a line on standard output, the rest beside it; kept where the user wants it, whatever becomes of a host."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from driftwatch.agent.collectors.containers import FORMAT
from driftwatch.store import document
from driftwatch.store.files import FileStore

REFUSED = "echo 'ssh: connect to host x port 22: Connection refused' >&2; exit 255"


def test_this_machine_is_taken_and_stored_under_its_own_name(cli):
    ran = cli.run("snapshot", "--skip", "nvml")
    assert re.fullmatch(rf"{re.escape(os.uname().nodename)}@[0-9a-f]{{12}}\n", ran.stdout)
    assert ran.returncode in (0, 3)
    assert f"exit {ran.returncode}" in ran.stderr


def test_a_label_becomes_the_reference_and_the_note_stays_with_it(cli, recorded):
    ran = cli.run("snapshot", "--recorded", recorded(), "--label", "good", "--note", "after the upgrade", "-q")
    assert ran.stdout == "gpu-a@good\n"
    assert json.loads(cli.run("show", "gpu-a@good", "--json").stdout)["note"] == "after the upgrade"


def test_out_writes_there_and_stores_nothing(cli, recorded):
    ran = cli.run("snapshot", "--recorded", recorded(), "--out", "x.json")
    assert ran.stdout == "x.json\n"
    assert document.load(cli.home / "x.json").host == "gpu-a"
    assert FileStore(cli.store).hosts() == ()


def test_out_with_a_label_does_both(cli, recorded):
    assert cli.run("snapshot", "--recorded", recorded(), "-o", "x.json", "--label", "good", "-q").stdout == "gpu-a@good\n"
    assert (cli.home / "x.json").exists()


def test_out_dash_puts_the_snapshot_on_standard_output(cli, recorded):
    ran = cli.run("snapshot", "--recorded", recorded(), "-o", "-")
    assert document.parse(ran.stdout.encode(), "stdout").host == "gpu-a"


@pytest.mark.parametrize("place", ["none/x.json", "."])
def test_a_place_that_cannot_be_written_is_exit_4(cli, recorded, place):
    ran = cli.run("snapshot", "--recorded", recorded(), "-o", place)
    assert ran.returncode == 4
    assert "was not written" in ran.stderr


def test_a_look_at_one_probe_is_shown_and_not_stored_unless_that_is_asked(cli, recorded):
    host = recorded()
    shown = cli.run("snapshot", "--recorded", host, "--only", "driver")
    assert "driver/module/version  580.95.05\n" in shown.stdout
    assert FileStore(cli.store).entries("gpu-a") == ()
    cli.run("snapshot", "--recorded", host, "--only", "driver", "--save")
    assert [entry.name.is_partial for entry in FileStore(cli.store).entries("gpu-a")] == [True]


def test_a_look_at_one_probe_is_one_json_answer_too(cli, recorded):
    shown, = json.loads(cli.run("snapshot", "--recorded", recorded(), "--only", "driver", "--json").stdout)
    assert (shown["ref"], shown["facts"]["driver/module/version"]) == ("", "580.95.05")


def test_the_driver_is_given_its_own_deadline_and_the_host_another(cli, recorded):
    cli.run("snapshot", "--recorded", recorded(), "--deadline", "driver=3.5", "--deadline", "45", "-o", "x.json")
    taken = document.load(cli.home / "x.json")
    assert (taken.probes["driver"].deadline_s, taken.agent["deadline_s"]) == (3.5, 45)


def test_an_unreachable_host_is_a_snapshot_whose_probes_are_lost(cli, fake_ssh):
    ran = cli.run("snapshot", "gpu-a", "-o", "x.json", **fake_ssh(REFUSED))
    taken = document.load(cli.home / "x.json")
    assert ran.returncode == 3
    assert ran.stderr.startswith("x gpu-a ")
    assert {one.status for one in taken.probes.values() if not one.reason.startswith("not asked")} == {"lost"}


def test_many_hosts_give_a_reference_each_and_one_line_of_counts(cli, fake_ssh):
    ran = cli.run("snapshot", "gpu-a", "root@gpu-b", "gpu-c", "gpu-a", "--jobs", "2", **fake_ssh(REFUSED))
    assert sorted(line.partition("@")[0] for line in ran.stdout.splitlines()) == ["gpu-a", "gpu-b", "gpu-c"]
    assert re.search(r"^3 hosts · 0 whole · 3 unreachable · \d:\d\d · exit 3$", ran.stderr, re.MULTILINE)


def test_last_passes_over_a_host_that_was_not_reached_and_says_so(cli, recorded, fake_ssh):
    cli.run("snapshot", "--recorded", recorded(), "--label", "good")
    cli.run("snapshot", "gpu-a", **fake_ssh(REFUSED))
    shown = cli.run("show", "gpu-a@last", "driver/module/version")
    assert shown.stdout == "driver/module/version  580.95.05\n"
    assert shown.stderr == "note: gpu-a@last is of 2026-03-04T03:12:00Z; 1 newer snapshot of gpu-a is partial or told nothing: driftwatch list gpu-a\n"


def test_quiet_tells_only_of_what_did_not_answer(cli, fake_ssh):
    ran = cli.run("snapshot", "gpu-a", "-q", **fake_ssh(REFUSED))
    assert [line[:8] for line in ran.stderr.splitlines()] == ["x gpu-a "]


def test_json_tells_reference_and_unanswered_probes(cli, fake_ssh):
    told, = json.loads(cli.run("snapshot", "gpu-a", "--json", **fake_ssh(REFUSED)).stdout)
    assert told["ref"].startswith("gpu-a@")
    assert told["unanswered"]["driver"]["status"] == "lost"


def test_one_bad_destination_refuses_all_before_anything_is_started(cli, fake_ssh):
    ran = cli.run("snapshot", "gpu-a", "a b", **fake_ssh("touch STARTED; exit 255"))
    assert ran.returncode == 2
    assert not (cli.home / "STARTED").exists()


@pytest.mark.parametrize("hosts", [("gpu-a",), ("gpu-a", "gpu-b", "gpu-c")])
def test_ctrl_c_stops_asking_and_leaves_nothing_running(cli, fake_ssh, hosts):
    running = cli.start("snapshot", *hosts, **fake_ssh("echo $$ >> STARTED; exec sleep 60"))
    started = cli.home / "STARTED"
    end = time.monotonic() + 20
    while time.monotonic() < end and not (started.exists() and len(started.read_text().split()) == len(hosts)):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert out == ""
    assert err.rstrip().endswith("stopped")
    assert err.count("stopped by Ctrl-C") == len(hosts)
    end = time.monotonic() + 5  # who is killed may be a zombie until init collects it
    while time.monotonic() < end and any(Path(f"/proc/{pid}").exists() for pid in started.read_text().split()):
        time.sleep(0.05)
    assert not [pid for pid in started.read_text().split() if Path(f"/proc/{pid}").exists()]


def test_the_same_host_keeps_its_redaction_key_and_another_host_has_another(cli, recorded):
    for number, host in enumerate(("gpu-a", "gpu-a", "gpu-b")):
        cli.run("snapshot", "--recorded", recorded(f"r{number}", hostname=host), "-o", f"{number}.json")
    first, second, other = (document.load(cli.home / f"{number}.json").redaction["key_id"] for number in range(3))
    assert first == second != other


def test_a_full_store_is_exit_4_and_names_where_the_snapshot_went(cli, recorded):
    cli.store.mkdir(mode=0o777)
    cli.store.chmod(0o777)
    ran = cli.run("snapshot", "--recorded", recorded())
    assert ran.returncode == 4
    kept = ran.stderr.strip().rpartition(" ")[2]
    assert document.load(kept).host == "gpu-a"
    Path(kept).unlink()


@pytest.mark.parametrize("broken", ["no host.json", "a FIFO", "no object"])
def test_a_folder_that_is_no_recorded_host_is_exit_2(cli, broken):
    folder = cli.home / "a-folder"
    folder.mkdir()
    if broken == "a FIFO":
        os.mkfifo(folder / "host.json")
    elif broken == "no object":
        (folder / "host.json").write_text("[]")
    ran = cli.run("snapshot", "--recorded", folder, "-o", "x.json")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert "a-folder" in ran.stderr


def test_on_a_terminal_the_hosts_that_are_waited_for_are_shown(cli, fake_ssh):
    shown = cli.on_a_terminal("snapshot", "gpu-a", "gpu-b", COLUMNS="100", **fake_ssh("sleep 1; exit 255"))
    assert re.search(r"snapshot  0 of 2  \[>\s+\]  0:0\d\s+gpu-a  0/\d+\s+gpu-b  0/\d+", shown)
    assert "\x1b[?25h" in shown


def test_in_a_pipe_there_is_no_progress(cli, fake_ssh):
    ran = cli.run("snapshot", "gpu-a", "gpu-b", **fake_ssh(REFUSED))
    assert "0 of 2" not in ran.stderr
    assert "\x1b" not in ran.stderr + ran.stdout


def test_a_topic_that_answers_with_an_error_is_told_and_ends_with_3(cli, recorded):
    folder, argv = recorded(), ["docker", "ps", "-a", "--no-trunc", "--format", FORMAT]
    down = {"argv": argv, "rc": 1, "stdout": "", "stderr": "Cannot connect to the Docker daemon", "elapsed_s": 0.1}
    (folder / "commands.json").write_text(json.dumps([down]))
    ran = cli.run("snapshot", "--recorded", folder, "--only", "containers")
    assert (ran.returncode, "0/1  containers: error: " in ran.stderr, "Docker daemon" in ran.stderr) == (3, True, True)
