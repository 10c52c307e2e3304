"""A stand-in for ``libnvidia-ml.so.1``, built from fake_nvml.c by the machine's own gcc and loaded by the real pynvml in a child process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
LIBRARY = "libnvidia-ml.so.1"
BOUND_S = 30.0


@dataclass(frozen=True)
class Told:
    """What a collector told: facts by path, its status and reason ("" if it never ended by itself), and the exit code of its process."""

    facts: dict[str, Any]
    status: str
    reason: str
    rc: int

    def below(self, top: str) -> dict[str, Any]:
        return {path[len(top) + 1:]: value for path, value in self.facts.items() if path.startswith(top + "/")}


def build(folder: Path) -> Path:
    """Return a folder with the compiled stand-in. Skips where there is no gcc."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc: the NVML stand-in cannot be compiled")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{LIBRARY}", "-o", str(folder / LIBRARY), str(HERE / "fake_nvml.c")], check=True, timeout=60)
    return folder


def start(collector: str, folder: Path, state: str = "", path: str = "", python: str = sys.executable) -> subprocess.Popen[str]:
    """Start a child that tells what a collector finds: the loader looks into ``folder`` first, programs are looked for in ``path`` first.

    ``state`` is what the stand-in reads. Another interpreter than ours gets pynvml alone, without the rest of our installation.
    """
    where = folder / "state.txt"
    where.write_text(state)
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "FAKE_NVML": str(where), "PATH": os.pathsep.join(filter(None, (path, os.environ["PATH"])))}
    if python != sys.executable:
        env["PYTHONPATH"] = str(pynvml_alone(folder))
    return subprocess.Popen([python, str(HERE / "tell.py"), str(REPOSITORY), collector], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)


def pynvml_alone(folder: Path) -> Path:
    """Return a folder that holds pynvml and nothing else, for an interpreter that has none."""
    import pynvml  # noqa: PLC0415  # only its file is wanted, and only here

    shutil.copy(pynvml.__file__, folder)
    return folder


def told(child: subprocess.Popen[str], term_after: str = "") -> Told:
    """Return what a child told once it has ended, by itself or, half a second after the fact ``term_after``, by a TERM such as the runner sends."""
    watch = threading.Timer(BOUND_S, child.kill)
    watch.start()
    lines: list[list[Any]] = []
    try:
        for line in child.stdout or ():
            lines.append(json.loads(line))
            if lines[-1][0] == term_after:
                _term_after(child, 0.5)
    finally:
        watch.cancel()
        child.kill()
        code = child.wait()
        if child.stdout:
            child.stdout.close()
    status, reason = next((value for path, value in lines if path == ""), ("", ""))
    return Told({path: value for path, value in lines if path}, status, reason, code)


def _term_after(child: subprocess.Popen[str], wait_s: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=wait_s)
    if child.returncode is None:
        child.send_signal(signal.SIGTERM)


def oldest_python() -> str:
    """Return an interpreter of 3.8, the oldest that the agent promises to run on. Skips where none runs."""
    found = [shutil.which("python3.8") or "", *map(str, sorted((Path.home() / ".pyenv" / "versions").glob("3.8*/bin/python")))]
    for one in filter(None, found):
        ran = subprocess.run([one, "-c", "import ctypes, sys; print(sys.version_info[:2] == (3, 8))"], capture_output=True, text=True, timeout=20, check=False)
        if ran.stdout.strip() == "True":
            return one
    pytest.skip("no Python 3.8 that runs (looked for python3.8 and in ~/.pyenv/versions)")
