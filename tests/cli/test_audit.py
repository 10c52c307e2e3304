"""`audit`, `ack`, `hosts`, `schedule` as people run them: against real processes, on this machine, with a config file of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from driftwatch.capture.plan import offers
from driftwatch.fleet.schedule import CRON_MARK
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document

QUICK = ("--skip", ",".join(offer.probe.name for offer in offers() if offer.probe.name != "env"))  # what else is on this machine moves by itself
HERE = os.uname().nodename


@pytest.fixture
def good(cli):
    """Store a good snapshot of this machine."""
    assert cli.run("snapshot", "local", "--label", "good", *QUICK, SGLANG_A="1").returncode in (0, 3)
    (cli.home / "driftwatch.toml").write_text('[hosts]\nhere = ["local"]\n[audit]\nmetrics = "driftwatch.prom"\n', encoding="utf-8")
    return cli


def audit(cli, *words, **more):
    return cli.run("audit", *QUICK, *words, **more)


def test_a_clean_night_is_told_in_a_sentence_and_with_quiet_not_at_all(good):
    assert "SAME     the host is as its baseline." in audit(good, SGLANG_A="1").stdout
    told = audit(good, "-q", SGLANG_A="1")
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


def test_what_drifted_is_told_once_until_it_changes(good):
    first, second, third = (audit(good, "--only-new", SGLANG_A=value) for value in ("2", "2", "3"))
    assert [one.returncode for one in (first, second, third)] == [1, 0, 1]
    assert "SGLANG_A 1 → 2" in first.stdout
    assert "SGLANG_A" not in second.stdout
    assert "SGLANG_A 1 → 3" in third.stdout


def test_drift_that_is_acknowledged_is_left_out_until_it_changes(good):
    audit(good, SGLANG_A="2")
    assert good.run("ack", "A", "--note", "a test").stdout.split() == [HERE, "env/SGLANG_A"]
    quiet, loud = audit(good, SGLANG_A="2"), audit(good, SGLANG_A="3")
    assert (quiet.returncode, loud.returncode) == (0, 1)
    assert "1 acknowledged difference left out" in quiet.stdout


def test_ack_of_a_letter_that_the_last_audit_does_not_have_names_those_it_has(good):
    audit(good, SGLANG_A="2")
    told = good.run("ack", "Q")
    assert (told.returncode, "it has: A" in told.stderr) == (2, True)


def test_ack_of_what_no_audit_told_is_an_error(good):
    assert good.run("ack", HERE).returncode == 2


def test_a_host_without_a_baseline_is_told_with_the_command_that_makes_one(good):
    told = audit(good, "--against", "gold")
    assert told.returncode == 3
    assert f"driftwatch tag gold {HERE}@" in " ".join(told.stdout.split())


def test_one_snapshot_stands_for_all_hosts_where_it_is_named(good):
    assert json.loads(audit(good, "--against", f"{HERE}@good", "--json", SGLANG_A="2").stdout)["hosts"][0]["baseline"] == f"{HERE}@good"


def test_the_run_is_stored_and_the_metrics_are_written(good):
    audit(good, SGLANG_A="2")
    (stored,) = (good.store / "audits").glob("audit--*.json")
    assert json.loads(stored.read_bytes())["word"] == "DRIFT"
    assert f'driftwatch_host_differences{{host="{HERE}"}} 1' in (good.home / "driftwatch.prom").read_text(encoding="utf-8")


def test_a_second_audit_of_one_store_is_refused_while_the_first_lives_and_not_after_it_was_killed(good):
    lock = good.store / "audits" / "lock"
    lock.parent.mkdir(parents=True)
    program = f"import fcntl, time; held = open({str(lock)!r}, 'w'); fcntl.flock(held, 2); print(flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        refused = audit(good)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert (refused.returncode, "another audit of this store is running" in refused.stderr) == (4, True)
    assert audit(good, SGLANG_A="1").returncode == 0


@pytest.mark.parametrize(("words", "says"), [
    (("@hre",), "did you mean here?"), (("nosuch",), "is in no inventory"), (("x[",), "bracket"), (("--fail-on", "x"), "one of: never"),
    (("none-*",), "no configured host fits"),
])
def test_a_selection_that_means_nothing_is_wrong_use(good, words, says):
    told = audit(good, *words)
    assert (told.returncode, says in told.stderr) == (2, True)


def test_without_any_host_there_is_nothing_to_audit_and_that_is_no_success(cli):
    told = cli.run("audit")
    assert (told.returncode, "no host is selected" in told.stderr) == (2, True)


def test_a_broken_group_names_its_place(cli):
    (cli.home / "driftwatch.toml").write_text('[hosts]\nprod = ["gpu-a", "gpu[1-"]\n', encoding="utf-8")
    told = cli.run("hosts")
    assert (told.returncode, "the group prod of the config file, line 2" in told.stderr) == (2, True)


def test_hosts_shows_who_would_be_asked_and_how(cli):
    config = '[hosts.prod]\nmembers = ["root@gpu-[1-2]"]\njump = "bastion"\ndeadline = { host = 90 }\n'
    (cli.home / "driftwatch.toml").write_text(config, encoding="utf-8")
    assert cli.run("hosts", "--width", "100").stdout.splitlines() == [
        "gpu-1  root@gpu-1  prod  jump bastion, deadline host 90 s", "gpu-2  root@gpu-2  prod  jump bastion, deadline host 90 s",
    ]


def test_an_inventory_is_printed_as_lines_for_the_config_file_that_mean_the_same_hosts(cli):
    (cli.home / "hosts.ini").write_text("[gpu]\ngpu-[01:03] ansible_user=root\n", encoding="utf-8")
    lines = cli.run("hosts", "--from", "ansible:hosts.ini").stdout
    (cli.home / "driftwatch.toml").write_text(lines, encoding="utf-8")
    assert [one["dest"] for one in json.loads(cli.run("hosts", "@gpu", "--json").stdout)] == ["root@gpu-01", "root@gpu-02", "root@gpu-03"]


def test_the_scheduled_command_is_one_that_runs(good):
    line = good.run("schedule", "--cron", "--everything").stdout
    command = line.split(None, 5)[5].rsplit(CRON_MARK, 1)[0]
    ran = subprocess.run(["/bin/sh", "-c", command], env=good.environ(SGLANG_A="2"), cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, "SGLANG_A" in ran.stdout) == (1, True)


@pytest.mark.skipif(shutil.which("systemd-run") is None or not os.path.isdir("/run/systemd/system"), reason="no systemd runs here")  # noqa: PTH112  # one test
def test_systemd_runs_the_scheduled_command(good):
    service = good.run("schedule").stdout
    words = next(line for line in service.splitlines() if line.startswith("ExecStart=")).partition("=")[2].split()
    assert subprocess.run(["systemd-run", "--wait", "--collect", *words], timeout=120, check=False).returncode in (0, 1, 3)


def test_units_are_written_where_systemd_reads_them_and_only_when_asked(cli):
    if os.geteuid() == 0:
        pytest.skip("as root the units would be written for the whole machine")
    assert "systemctl --user" in cli.run("schedule", "--install").stdout
    assert (cli.home / ".config/systemd/user/driftwatch-audit.timer").exists()


def test_against_a_golden_host_only_what_the_role_shares_is_drift(good):
    probes = {"env": ProbeResult("ok", tells=("env/*",)), "system": ProbeResult("ok", tells=("system/*",))}
    golden = Snapshot("gold-1", "2026-03-04T03:12:00Z", probes=probes, facts={"env/SGLANG_A": "9", "env/HOSTNAME": "gold-1", "system/memory/total_kib": 1})
    (good.home / "gold.json").write_bytes(document.to_bytes(golden))
    told = json.loads(audit(good, "--against", "./gold.json", "--json", SGLANG_A="2", HOSTNAME="here").stdout)
    assert [one["path"] for one in told["ways"][0]["differences"] if "SGLANG" in one["path"] or "HOSTNAME" in one["path"]] == ["env/SGLANG_A"]


NONSENSE = """case "$*" in *evil*) ;; *) echo refused >&2; exit 255;; esac
nonce=$(printf %s "$*" | sed -n 's/.* \\([0-9a-f]\\{16\\}\\) DW1 .*/\\1/p')
for frame in '{"frame":"ready"}' '{"frame":"facts","facts":[["env/A","1"]]}' '{"frame":"facts"}'; do printf '\\036DW1 %s %s\\n' "$nonce" "$frame"; done
"""


def test_a_host_that_sends_nonsense_ends_no_night_and_keeps_what_it_told_before(cli, fake_ssh):
    (cli.home / "driftwatch.toml").write_text('[hosts]\nprod = ["evil", "gpu-a", "gpu-b"]\n', encoding="utf-8")
    told = cli.run("audit", *QUICK, "--json", **fake_ssh(NONSENSE))
    rows = {row["host"]: row["state"] for row in json.loads(told.stdout)["hosts"]}
    (stored,) = (cli.store / "hosts" / "evil").glob("*.json")
    taken = document.load(stored)
    assert (told.returncode, rows) == (3, {"evil": "no baseline", "gpu-a": "unreachable", "gpu-b": "unreachable"})
    assert (taken.facts, "makes no sense (KeyError: 'facts')" in taken.probes["env"].reason) == ({"env/A": "1"}, True)


def test_ctrl_c_keeps_what_is_there_and_says_who_was_not_asked(good, fake_ssh):
    good.run("tag", "good", f"{HERE}@last")
    (good.home / "driftwatch.toml").write_text('[hosts]\nprod = ["local", "gpu-a"]\n', encoding="utf-8")
    running = good.start("audit", *QUICK, "--json", **fake_ssh("touch STARTED; exec sleep 60"))
    started = good.home / "STARTED"
    stored = good.store / "hosts" / HERE
    end = time.monotonic() + 30
    while time.monotonic() < end and not (started.exists() and len(list(stored.glob("*.json"))) > 1):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=20)
    night = json.loads(out)
    assert (running.returncode, night["is_stopped"]) == (130, True)
    assert {row["host"]: row["state"] for row in night["hosts"]}["gpu-a"] in ("not asked", "unreachable")
    assert {row["host"]: row["state"] for row in night["hosts"]}[HERE] in ("same", "drift")
