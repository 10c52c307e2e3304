"""What the README shows is what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_diff_is_printed_exactly_as_it_stands_there():
    shown = re.search(r"\$ driftwatch (diff \S+ \S+)\n(.*?)```", README, re.DOTALL)
    environ = {**{key: value for key, value in os.environ.items() if not key.startswith(("COLUMNS", "DRIFTWATCH_"))}, "PYTHONUTF8": "1"}
    printed = subprocess.run([sys.executable, "-m", "driftwatch", *shown[1].split()], cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert printed.returncode == 1
    assert printed.stdout == shown[2]


def test_every_command_it_names_is_one():
    commands = {path.stem for path in (ROOT / "driftwatch/cli").glob("*.py")} - {"__init__", "main"}
    shown = re.search(r"```sh\n(.*?)```", README, re.DOTALL)[1]
    assert set(re.findall(r"driftwatch ([a-z]+)", shown)) <= commands


def test_the_two_commands_stand_there_and_are_scripts():
    for name in ("start", "test"):
        assert f"bash scripts/{name}.sh" in README
        assert (ROOT / f"scripts/{name}.sh").is_file()
