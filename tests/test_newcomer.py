"""A newcomer: an empty virtual environment, driftwatch installed into it as the README says, and what the README and the first page show, typed there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import BLOCK, commands, fits

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/start.md")
INSTALL_S = 300


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    """Make an empty environment, install driftwatch from a copy of what is shipped, and return the home in which commands are typed."""
    home = tmp_path_factory.mktemp("newcomer")
    subprocess.run([sys.executable, "-m", "venv", str(home / "venv")], check=True)
    built = home / "dist"
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)], cwd=ROOT, check=True, capture_output=True)
    wheel = next(built.glob("*.whl"))
    pip = [str(home / "venv/bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)]
    installed = subprocess.run(pip, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if installed.returncode and re.search(r"Could not (?:find a version|fetch)|Temporary failure|No matching distribution", installed.stderr):
        pytest.skip("the packages that driftwatch needs cannot be had here")
    assert installed.returncode == 0, installed.stderr
    for name in ("snapshots", "examples"):
        (home / name).symlink_to(ROOT / name)
    return home


def typed(home, command):
    """Return the lines that a command prints on a terminal of 80 columns, as somebody who just installed it sees them."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DRIFTWATCH_", "XDG_", "NO_COLOR", "PYTHON", "VIRTUAL_ENV"))}
    environ |= {"HOME": str(home), "PATH": f"{home}/venv/bin:/usr/bin:/bin", "COLUMNS": "80", "PYTHONUTF8": "1"}
    ran = subprocess.run(["bash", "-c", command], cwd=home, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return ran.stdout.splitlines()


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_what_a_newcomer_sees(newcomer, page):
    for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for command, shown in commands(block):
            lines = typed(newcomer, command)
            assert fits(lines, shown), "\n".join([f"$ {command}", *lines])


def test_nothing_but_the_installed_package_is_used(newcomer):
    (where,) = typed(newcomer, "python -c 'import driftwatch; print(driftwatch.__file__)'")
    assert where.startswith(str(newcomer / "venv"))


def test_each_command_tells_what_it_is_for(newcomer):
    listed = typed(newcomer, "driftwatch --help")
    names = re.findall(r"driftwatch ([a-z]+)", re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1])
    assert names
    assert not [name for name in set(names) if not any(line.split()[:1] == [name] for line in listed)]
