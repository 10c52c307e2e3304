"""What the tests of the command line share: the real command as a process, an own home and store, a small recorded host, stand-ins for ssh."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document

TOOL = [sys.executable, "-m", "driftwatch"]
ROOT = Path(__file__).parents[2]


@dataclass
class Cli:
    """The command in a home of its own."""

    home: Path

    @property
    def store(self):
        return self.home / "store"

    def environ(self, **more):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DRIFTWATCH_", "XDG_", "NO_COLOR", "COLUMNS"))}
        return {**kept, "HOME": str(self.home), "DRIFTWATCH_STORE": str(self.store), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **more}

    def run(self, *words, typed=None, **more):
        """Return the ended process; ``more`` are variables."""
        return subprocess.run(
            [*TOOL, *map(str, words)],
            env=self.environ(**more), cwd=self.home, input=typed, capture_output=True, text=True, timeout=60, check=False,
        )

    def on_a_terminal(self, *words, **more):
        """Return what a command prints where both its outputs are a terminal."""
        ours, theirs = pty.openpty()
        running = subprocess.Popen([*TOOL, *map(str, words)], env=self.environ(**{"TERM": "xterm", **more}), cwd=self.home, stdout=theirs, stderr=theirs)
        os.close(theirs)
        told = b""
        with contextlib.suppress(OSError):  # a terminal whose other end is closed gives EIO
            while piece := os.read(ours, 65536):
                told += piece
        os.close(ours)
        running.wait(30)
        return told.decode()

    def start(self, *words, **more):
        return subprocess.Popen([*TOOL, *map(str, words)], env=self.environ(**more), cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def cli(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return Cli(home)


@pytest.fixture
def snapshot_file(cli):
    """Return a maker of snapshot files."""

    def make(name, driver="580.95.05", **more):
        probes = {"driver": ProbeResult("ok", 0.1, tells=("driver/*",)), "nvml": ProbeResult("timeout", 20.0, 20.0, "no answer in 20 s", tells=("gpus/*",))}
        one = Snapshot("gpu-a", "2026-03-04T03:12:00Z", probes=probes, facts={"driver/version": driver, **more})
        path = cli.home / name
        path.write_bytes(document.to_bytes(one))
        return path

    return make


@pytest.fixture
def recorded(cli):
    """Return a maker of small recorded hosts."""

    def make(name="recorded", hostname="gpu-a", taken_at="2026-03-04T03:12:00Z", driver="580.95.05"):
        folder = cli.home / name
        told = folder / "files/proc/driver/nvidia/version"
        told.parent.mkdir(parents=True)
        told.write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Jan  6 20:47:25 UTC 2026\n")
        described = {"format": 1, "hostname": hostname, "taken_at": taken_at, "uid": 0, "denied": [], "not_recorded": [], "hangs": []}
        (folder / "host.json").write_text(json.dumps(described))
        (folder / "commands.json").write_text("[]")
        return folder

    return make


@pytest.fixture
def fake_ssh(cli):
    """Return a maker of a program called ssh that does what a script says; the variables that put it first on PATH are returned."""

    def make(script):
        folder = cli.home / "bin"
        folder.mkdir()
        (folder / "ssh").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "ssh").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    return make
