"""A night over forty endpoints on one machine, some of them sick: the audit tells the truth about all of them, twice in a row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftwatch.capture.plan import offers
from tests.lab.fleet import ADDRESSES, DIES, FLOODS, NO_PYTHON, REFUSING, SILENT, TWIN, running_fleet

ROOT = Path(__file__).parents[2]
ASKED = ("env", "system", "limits")
DEADLINE_S, SICK_DEADLINE_S = 20, 8  # the sick ones use all of theirs
SICK = (SILENT, REFUSING, NO_PYTHON, DIES, FLOODS)
CONFIG = """\
store = "{home}/store"
ssh_options = ["IdentityFile={server.identity}", "UserKnownHostsFile={server.known_hosts}", "IdentitiesOnly=yes"]
[hosts.fleet]
from = "ansible:{home}/hosts.ini"
deadline = {{ host = {deadline_s} }}
[hosts.sick]
from = "ansible:{home}/sick.ini"
deadline = {{ host = {sick_deadline_s} }}
"""


def is_root_of_namespaces():
    asked = subprocess.run(["unshare", "--mount", "mount", "--bind", "/dev/null", "/proc/sys/kernel/random/boot_id"], capture_output=True, check=False)
    return asked.returncode == 0


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Take good snapshots of the fleet, let some fall sick and one drift, and audit it twice; return what the audits said, and how long they took."""
    if not is_root_of_namespaces():
        pytest.skip("an own boot id for each endpoint needs a mount namespace, which is refused here")
    home = tmp_path_factory.mktemp("fleet")
    skip = ",".join(offer.probe.name for offer in offers() if offer.probe.name not in ASKED)
    with running_fleet(home / "lab") as fleet:
        (home / "hosts.ini").write_text(fleet.inventory(*(one for one in ADDRESSES if one not in SICK)), encoding="utf-8")
        (home / "sick.ini").write_text(fleet.inventory(*SICK), encoding="utf-8")
        config = CONFIG.format(home=home, server=fleet.server, deadline_s=DEADLINE_S, sick_deadline_s=SICK_DEADLINE_S)
        (home / "driftwatch.toml").write_text(config, encoding="utf-8")

        def run(*words):
            began = time.monotonic()
            ran = subprocess.run(
                [sys.executable, "-m", "driftwatch", *words, "--skip", skip], cwd=home, capture_output=True, text=True, timeout=120, check=False,
                env={**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
            )
            return ran, time.monotonic() - began

        run("snapshot", "@fleet", "@sick", "--label", "good", "-q")
        fleet.fall_sick()
        fleet.set_variable("127.10.0.3", "NCCL_DEBUG", "TRACE")
        first = run("audit", "--json")
        fleet.set_variable("127.10.0.5", "NCCL_DEBUG", "INFO")
        second = run("audit", "--only-new", "--json")
        yield fleet, first, second


def rows(night):
    return {row["host"]: row for row in json.loads(night[0].stdout)["hosts"]}


def test_forty_endpoints_are_forty_rows(nights):
    _, first, _ = nights
    assert len(rows(first)) == 40


@pytest.mark.parametrize("address", [SILENT, REFUSING, NO_PYTHON])
def test_who_cannot_be_asked_is_told_to_be_out_of_reach_with_a_reason(nights, address):
    fleet, first, _ = nights
    row = rows(first)[fleet.name_of(address)]
    assert row["state"] == "unreachable"
    assert row["reason"]


@pytest.mark.parametrize("address", [DIES, FLOODS])
def test_who_dies_in_the_middle_or_floods_is_never_told_to_be_the_same(nights, address):
    fleet, first, _ = nights
    assert rows(first)[fleet.name_of(address)]["state"] in ("unseen", "unreachable")


def test_one_that_drifted_is_told_and_the_others_are_the_same(nights):
    _, first, _ = nights
    states = {name: row["state"] for name, row in rows(first).items()}
    assert [name for name, state in states.items() if state == "drift"] == ["gpu-03"], states
    assert sum(state == "same" for state in states.values()) == 34


def test_two_names_of_one_machine_are_told(nights):
    fleet, first, _ = nights
    assert json.loads(first[0].stdout)["twins"] == [["gpu-01", fleet.name_of(TWIN)]]


def test_the_second_night_tells_only_what_is_new(nights):
    _, _, second = nights
    told = json.loads(second[0].stdout)
    assert [way["hosts"] for way in told["ways"] if way["is_new"]] == [["gpu-05"]]
    assert second[0].returncode == 1


def test_each_night_ends_within_its_promise(nights):
    _, first, second = nights
    assert max(first[1], second[1]) <= (DEADLINE_S + 1) + 5


def test_no_session_is_left_on_any_host(nights):
    fleet, *_ = nights
    left = subprocess.run(["pgrep", "--full", f"{fleet.folder}/session"], capture_output=True, text=True, check=False).stdout.split()
    assert left == []
