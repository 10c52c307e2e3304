"""`diff`: both sides are read before either is refused, the exit code follows the word, and a symptom is taken from where the user says."""

from __future__ import annotations

import json
import os

import pytest


def test_equal_sides_end_with_0_where_all_answered(cli, recorded):
    cli.run("snapshot", "--recorded", recorded(), "--only", "driver", "-o", "x.json")
    ran = cli.run("diff", "./x.json", "./x.json")
    assert ran.stdout.split("\n")[3].split()[0] == {0: "SAME", 3: "UNKNOWN"}[ran.returncode]
    assert f"exit {ran.returncode}" in ran.stdout


def test_a_moved_driver_ends_with_1(cli, snapshot_file):
    ran = cli.run("diff", snapshot_file("good.json"), snapshot_file("bad.json", driver="580.105.08"), "--json")
    told = json.loads(ran.stdout)
    assert ran.returncode == {"UNKNOWN": 3, "SAME": 0}.get(told["verdict_word"], 1)
    assert [(one["good"], one["bad"]) for one in told["changes"] if one["path"] == "driver/version"] == [("580.95.05", "580.105.08")]


def test_a_host_alone_means_its_good_and_its_last_one(cli, recorded):
    cli.run("snapshot", "--recorded", recorded("good"), "--label", "good")
    cli.run("snapshot", "--recorded", recorded("bad", taken_at="2026-03-05T00:00:00Z", driver="580.105.08"))
    told = json.loads(cli.run("diff", "gpu-a", "--json").stdout)
    assert (told["good"]["ref"], told["bad"]["ref"]) == ("gpu-a@good", "gpu-a@last")
    assert told["good"]["taken_at"] < told["bad"]["taken_at"]


def test_recorded_hosts_are_compared_as_they_are(cli, recorded):
    told = json.loads(cli.run("diff", recorded("good"), recorded("bad", driver="580.105.08"), "--json").stdout)
    assert (told["good"]["source"], told["bad"]["source"]) == ("recorded-host", "recorded-host")


def test_both_unreadable_sides_are_named(cli):
    for name in ("good.json", "bad.json"):
        (cli.home / name).write_text("{")
    ran = cli.run("diff", "good.json", "bad.json")
    assert ran.returncode == 2
    assert ran.stderr.count("error: ") == 2
    assert "good.json is no snapshot" in ran.stderr
    assert "bad.json is no snapshot" in ran.stderr


def test_a_log_tells_the_symptom(cli, snapshot_file):
    log = cli.home / "server.log"
    log.write_text("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n")
    told = json.loads(cli.run("diff", snapshot_file("a.json"), snapshot_file("b.json", driver="1"), "--log", log, "--json").stdout)["symptom"]
    assert (told["class"], told["from"]) == ("oom", "log")


def test_a_pasted_error_and_a_named_class_tell_it_too(cli, snapshot_file):
    sides = (snapshot_file("a.json"), snapshot_file("b.json", driver="1"))
    told = json.loads(cli.run("diff", *sides, "--error", "ImportError: libcudart.so.12: cannot open shared object file", "--json").stdout)["symptom"]
    assert (told["class"], told["from"]) == ("import-error", "error")
    assert json.loads(cli.run("diff", *sides, "--symptom", "slow", "--json").stdout)["symptom"] == {"class": "slow", "signature": None, "from": "user"}


def test_an_unknown_class_is_refused_with_those_that_there_are(cli, snapshot_file):
    ran = cli.run("diff", snapshot_file("a.json"), snapshot_file("a.json"), "--symptom", "no-such-class")
    assert ran.returncode == 2
    assert "device-lost" in ran.stderr


def unusable_logs(home):
    os.mkfifo(home / "fifo.log")
    (home / "folder.log").mkdir()
    return ("fifo.log", "folder.log", "none.log", "/dev/zero")


def test_a_log_that_cannot_be_used_is_refused_by_name(cli, snapshot_file):
    path = snapshot_file("a.json")
    for name in unusable_logs(cli.home):
        ran = cli.run("diff", path, path, "--log", name)
        assert ran.returncode == 2
        assert name in ran.stderr


def test_a_log_with_a_long_hole_is_read_as_a_stream(cli, snapshot_file):
    log = cli.home / "huge.log"
    log.touch()
    os.truncate(log, 256 << 20)
    with log.open("a") as file:
        file.write("\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n")
    told = json.loads(cli.run("diff", snapshot_file("a.json"), snapshot_file("b.json", driver="1"), "--log", log, "--json").stdout)["symptom"]
    assert told["class"] == "oom"


def test_only_shows_what_fits_of_an_explanation_of_everything(cli, snapshot_file):
    sides = (snapshot_file("a.json", **{"x/1": 1}), snapshot_file("b.json", driver="1", **{"x/1": 2}))
    whole, part, none = (cli.run("diff", *sides, "--json", *only) for only in ((), ("--only", "driver/*"), ("--only", "cpu/*")))
    told, shown = json.loads(whole.stdout), json.loads(part.stdout)
    assert {one["path"] for one in shown["changes"]} == {"driver/version"}
    assert shown["suspects"] == [one for one in told["suspects"] if one["subject"]["kind"] == "driver"] != []
    assert (shown["verdict"], part.returncode) == (told["verdict"], whole.returncode)
    assert json.loads(none.stdout)["changes"] == []
    assert none.stderr == "note: --only cpu/*: nothing that differs fits; the verdict is of all that differs\n"


RULE = """
from driftwatch.explain.explanation import Subject, Term
from driftwatch.explain.rule import Evidence, Rule, Wording

def weigh(case):
    yield Evidence(Subject("driver", "our driver"), (Term("our own rule says so", 4.0, ("driver/version",)),), Wording("driver", "version", "~", "a", "b"))

RULES = (Rule("site: driver", ("driver/version",), weigh, ("driver",)),)
"""


@pytest.fixture
def site_rules(cli):
    folder = cli.home / "site-rules"
    folder.mkdir()
    (folder / "driver.py").write_text(RULE)
    return folder


def test_a_rule_file_that_ends_the_program_is_an_error_that_names_it(cli, snapshot_file, site_rules):
    (site_rules / "driver.py").write_text("raise SystemExit\n")
    ran = cli.run("diff", snapshot_file("a.json"), snapshot_file("b.json"), "--rules", site_rules)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "error: driver.py cannot be loaded: SystemExit" in ran.stderr


def test_a_sites_own_rules_are_asked(cli, snapshot_file, site_rules):
    sides = (snapshot_file("a.json"), snapshot_file("b.json", driver="1"))
    assert "our own rule says so" in cli.run("diff", *sides, "--rules", site_rules).stdout
    (cli.home / "driftwatch.toml").write_text('[rules]\npaths = ["site-rules"]\n')
    assert "our own rule says so" in cli.run("diff", *sides).stdout


def test_a_rule_that_cannot_be_loaded_is_refused_by_name(cli, snapshot_file, site_rules):
    (site_rules / "broken.py").write_text("1 / 0\n")
    ran = cli.run("diff", snapshot_file("a.json"), snapshot_file("a.json"), "--rules", site_rules)
    assert ran.returncode == 2
    assert "broken.py cannot be loaded: ZeroDivisionError" in ran.stderr


def test_standard_input_stands_for_one_side_only(cli, snapshot_file):
    path = snapshot_file("a.json")
    assert cli.run("diff", path, "-", typed=path.read_text()).returncode in (0, 3)
    assert "one snapshot only" in cli.run("diff", "-", "-", typed=path.read_text()).stderr


def test_the_same_sides_give_the_same_bytes(cli, snapshot_file):
    sides = (snapshot_file("a.json"), snapshot_file("b.json", driver="1"))
    assert len({cli.run("diff", *sides).stdout for _ in range(2)}) == 1


def test_now_takes_the_broken_side_of_this_machine(cli):
    host = os.uname().nodename
    cli.run("snapshot", "--label", "good", "-q", "--skip", "nvml")
    told = json.loads(cli.run("diff", f"{host}@good", "--now", "--json").stdout)
    assert told["bad"]["ref"].startswith(f"{host}@")
    assert told["good"]["taken_at"] <= told["bad"]["taken_at"]


def test_what_a_log_without_a_known_failure_remarks_leads_to_what_moved(cli):
    for name, threads, more in (("good", 8, ""), ("bad", 16, "NCCL_P2P_LEVEL=LOC\n")):
        listed = "$ pip list\nPackage Version\n------- -------\ntorch   2.6.0\n"
        (cli.home / f"{name}.txt").write_text(f"$ env\nOMP_NUM_THREADS={threads}\nPATH=/usr/bin\n{more}{listed}")
    (cli.home / "log.txt").write_text("n:1:1 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n")
    done = cli.run("diff", "good.txt", "bad.txt", "--log", "log.txt", "--format", "json")
    assert json.loads(done.stdout)["suspects"][0]["subject"]["name"] == "NCCL_P2P_LEVEL"
    assert "note: log.txt shows no failure that is known; what it tells fits slow, which --symptom replaces" in done.stderr
