"""The main job over SSH: the command as a user types it, a real sshd, a snapshot that is stored, and one clear sentence where it cannot be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftwatch.store.document import load
from tests.lab import sshd

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sshd.running_sshd(tmp_path_factory.mktemp("sshd") / "host") as running:
        yield running


@pytest.fixture
def ask(server, tmp_path):
    """Return a function that runs driftwatch against the server: exit code, output, errors."""
    options = [f"UserKnownHostsFile={server.known_hosts}", f"IdentityFile={server.identity}", "IdentitiesOnly=yes"]

    def run(*words, ssh_options=options, **variables):
        (tmp_path / "driftwatch.toml").write_text(f"ssh_options = {json.dumps(ssh_options)}\n")
        environ = {**os.environ, "HOME": str(tmp_path), "DRIFTWATCH_STORE": str(tmp_path / "store"), "PYTHONPATH": str(ROOT), **variables}
        return subprocess.run([sys.executable, "-m", "driftwatch", *words], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=90, check=False)

    return run


def destination(server):
    return f"ssh://{server.user}@127.0.0.1:{server.port}"


def stored(tmp_path):
    return [load(path) for path in sorted((tmp_path / "store").rglob("*.json")) if "127.0.0.1" in path.name]


def test_a_host_is_read_labelled_and_found_again(ask, server, tmp_path):
    taken = ask("snapshot", destination(server), "--label", "good")
    assert taken.stdout.strip() == "127.0.0.1@good", taken.stderr
    (made,) = stored(tmp_path)
    assert made.probes["system"].status == "ok"
    assert made.facts["kernel/release"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    again = ask("snapshot", destination(server))
    assert again.returncode in {0, 3}
    explained = ask("diff", "127.0.0.1", "--format", "json")
    assert explained.returncode in {0, 1, 3}, explained.stderr
    assert json.loads(explained.stdout)["good"]["id"] == made.id


def test_the_host_sees_nothing_written_by_us(ask, server, tmp_path):
    before = {path: path.lstat().st_mtime_ns for path in server.home.rglob("*")}
    ask("snapshot", destination(server), "--out", str(tmp_path / "x.json"))
    assert {path: path.lstat().st_mtime_ns for path in server.home.rglob("*")} == before


@pytest.mark.parametrize(("options", "sentence"), [
    (["UserKnownHostsFile=/dev/null", "GlobalKnownHostsFile=/dev/null"], "is not known"),
    (["IdentityFile=/dev/null", "IdentitiesOnly=yes"], "refused"),
])
def test_a_host_that_does_not_let_us_in_is_one_sentence_exit_3_and_all_probes_lost(ask, server, tmp_path, options, sentence):
    known = [f"UserKnownHostsFile={server.known_hosts}"]
    refused = ask("snapshot", destination(server), "--out", str(tmp_path / "lost.json"), ssh_options=[*options, *known])
    assert refused.returncode == 3
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
    made = load(tmp_path / "lost.json")
    asked = {name: result for name, result in made.probes.items() if result.status != "not_recorded"}
    assert {result.status for result in asked.values()} == {"lost"}
    assert made.facts == {}


def test_a_closed_port_is_named(ask, server, tmp_path):
    refused = ask("snapshot", f"ssh://{server.user}@127.0.0.1:{sshd.free_port()}", "--out", str(tmp_path / "lost.json"))
    assert refused.returncode == 3
    assert "refused" in refused.stderr


def test_a_deadline_that_is_too_short_still_ends_in_time(ask, server, tmp_path):
    begun = time.monotonic()
    ask("snapshot", destination(server), "--deadline", "4", "--out", str(tmp_path / "x.json"))
    assert time.monotonic() - begun < 4 + 2 + 3
