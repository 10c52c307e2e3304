"""What a user writes wrongly is refused with exit code 2 before any process starts: hosts, schemes, and the [ssh] table of the config file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftwatch.settings import SettingsError, load_settings

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path):
    """Return a function that runs driftwatch where ``ssh`` is a program that leaves a trace: exit code and complaints."""
    (tmp_path / "bin").mkdir()
    for name in ("ssh", "srun", "docker"):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/STARTED\n")
        (tmp_path / "bin" / name).chmod(0o755)

    def run(*words, config=""):
        (tmp_path / "driftwatch.toml").write_text(config)
        environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT),
                   "DRIFTWATCH_STORE": str(tmp_path / "store")}
        done = subprocess.run([sys.executable, "-m", "driftwatch", "snapshot", *words], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert not (tmp_path / "STARTED").exists()
        assert done.stdout == ""
        return done.returncode, done.stderr

    return run


def test_a_hostile_host_among_good_ones_starts_nothing(run):
    code, said = run("gpu-a", "gpu-b", "--", "-oProxyCommand=touch PWNED")
    assert code == 2
    assert "is no destination: a host has at most 253" in said


def test_an_unknown_scheme_lists_the_known_ones(run):
    code, said = run("telnet://gpu-a")
    assert code == 2
    assert 'no transport is called "telnet"\n    do: one of: ssh, ' in said


def test_an_ssh_option_of_the_file_that_is_none_starts_nothing(run):
    code, said = run("gpu-a", config='[ssh]\noptions = ["Port=22\\nProxyCommand=touch PWNED"]\n')
    assert code == 2
    assert r'"Port=22\nProxyCommand=touch PWNED" is no ssh option' + "\n    do: write Name=value on one line" in said


def _load(folder: Path, text: str):
    (folder / "driftwatch.toml").write_text(text)
    return load_settings({}, folder)


def test_the_ssh_table_says_how_hosts_are_reached(tmp_path):
    found = _load(tmp_path, 'ssh_options = ["Compression=yes"]\n[ssh]\noptions = ["KexAlgorithms=curve25519-sha256"]\njump_sessions = 3\nagent = true\n')
    assert found.ssh_options == ("KexAlgorithms=curve25519-sha256", "Compression=yes")
    assert (found.ssh.jump_sessions, found.ssh.is_agent_asked) == (3, True)
    usual = _load(tmp_path, "")
    assert (usual.ssh.jump_sessions, usual.ssh.is_agent_asked) == (8, False)


@pytest.mark.parametrize("line", [
    "jump_sessions = 0", "jump_sessions = true", 'jump_sessions = "8"', "jump_sessions = 1001", 'agent = "yes"', "options = [1]", "option = []",
])
def test_a_value_of_the_ssh_table_that_cannot_be_followed_is_refused(tmp_path, line):
    with pytest.raises(SettingsError, match="ssh"):
        _load(tmp_path, f"[ssh]\n{line}\n")
