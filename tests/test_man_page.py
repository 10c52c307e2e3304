"""The manual page is made from the command line itself, so it names every command and every option, and troff takes it without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftwatch.cli.wiring.commands import build, summaries

SCRIPT = Path(__file__).parent.parent / "scripts/make_man_page.py"


@pytest.fixture(scope="module")
def page():
    return subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("name", summaries())
def test_every_command_has_its_section_with_its_options(page, name):
    section = re.search(rf"^\.SS driftwatch {name}\b.*?(?=^\.S[SH])", page, re.MULTILINE | re.DOTALL)[0].replace("\\-", "-")
    assert all(option in section or option in page.replace("\\-", "-") for param in build(name).params for option in param.opts if option.startswith("--"))


def test_troff_takes_it_without_a_warning(page):
    if shutil.which("groff") is None:
        pytest.skip("no groff here")
    ran = subprocess.run(["groff", "-man", "-ww", "-Tascii"], input=page, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "EXIT STATUS" in re.sub(".\x08", "", ran.stdout)
