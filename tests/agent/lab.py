"""Runs the real agent, shipped as a zip, with a collector of the test's own added to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from driftwatch.capture.bundle import bundle

START = "import sys; sys.path.insert(0, sys.argv[1]); from driftwatch.agent.main import main; main('n0', sys.argv[2].encode())"
HEAD = """
from __future__ import annotations
import os, signal, subprocess, sys, time
from ..probe import *
def probe(collect, **more):
    return Probe(**dict(dict(name=collect.__name__, collect=collect, deadline_s=1.0, tells=(collect.__name__ + "/*",), reads=""), **more))
"""


@dataclass
class Told:
    """All that a run of the agent told: frames, facts by path, outcomes by probe, and how it ended."""

    frames: list[dict[str, Any]] = field(default_factory=list)
    rc: int | None = None
    wall_s: float = 0.0
    noise: bytes = b""

    @property
    def facts(self) -> dict[str, Any]:
        return {path: value for frame in self.frames if frame["frame"] == "facts" for path, value in frame["facts"]}

    @property
    def outcomes(self) -> dict[str, dict[str, Any]]:
        return {frame["probe"]: frame for frame in self.frames if frame["frame"] == "probe"}

    @property
    def kinds(self) -> list[str]:
        return [frame["frame"] for frame in self.frames]


def ship(folder: Path, collector: str, *others: str) -> Path:
    """Return a zip of the agent with these collectors and one more, ``trial``."""
    path = folder / "agent.zip"
    with zipfile.ZipFile(BytesIO(bundle(others, is_replay=True))) as ours, zipfile.ZipFile(path, "w") as theirs:
        for name in ours.namelist():
            theirs.writestr(name, ours.read(name))
        theirs.writestr("driftwatch/agent/collectors/trial.py", HEAD + collector)
    return path


def planned(name: str, **more: Any) -> dict[str, Any]:
    """Return the plan entry of a probe of the trial collector."""
    return {"name": name, "module": "trial", "deadline_s": 1.0, "early_term_s": 0.0, "cap_bytes": 1 << 20, "needs_targets": False, **more}


def order(*plan: dict[str, Any], deadline_s: float = 20.0, recorded: str | None = None, **settings: Any) -> str:
    """Return the order for a plan."""
    return json.dumps({"plan": list(plan), "deadline_s": deadline_s, "recorded": recorded, "key": "6b6579", "settings": settings})


@contextlib.contextmanager
def agent(zipped: Path, text: str, python: str = sys.executable, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start the agent; at the end nothing of it is left that can be killed."""
    child = subprocess.Popen([python, "-I", "-S", "-c", START, str(zipped), text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True, env={**os.environ, **(env or {})})
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe:
                pipe.close()
        child.wait(5)


def parse(data: bytes) -> list[dict[str, Any]]:
    """Return the frames in what the agent wrote."""
    return [json.loads(line.split(b" ", 2)[2]) for line in data.split(b"\n") if line.startswith(b"\x1eDW1 n0 ")]


def run(folder: Path, collector: str, *plan: dict[str, Any], **more: Any) -> Told:
    """Run the agent to its end, with standard input held open, and return what it told."""
    python, env = more.pop("python", sys.executable), more.pop("env", None)
    begun = time.monotonic()
    others = sorted({one["module"] for one in plan} - {"trial"})
    with agent(ship(folder, collector, *others), order(*plan, **more), python, env) as child:
        assert child.stdout is not None
        data = child.stdout.read()
        rc = child.wait(10)
        errors = child.stderr.read() if child.stderr else b""
    return Told(parse(data), rc, time.monotonic() - begun, errors)
