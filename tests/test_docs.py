"""Every example in the pages of docs/ is run, and prints what stands there; a line ``...`` stands for any lines.

After a change that is meant: DRIFTWATCH_REDRAW=1 writes what is printed into the blocks that hold no ``...``.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from driftwatch.agent.secret_names import SHOWN_NAMES, SHOWN_PREFIXES
from driftwatch.cli.wiring.commands import build, summaries
from driftwatch.cli.wiring.given import FORMATS

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```python\n# (\S+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```\w*\n(.*?)^```$|^    (\S[^\n]*\n)", re.MULTILINE | re.DOTALL)
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search((ROOT / f"docs/{page}.md").read_text(encoding="utf-8"))]
MUST_HAVE_EXAMPLES = {
    "start", "vanishing-baseline", "oom-after-upgrade", "slower-since-tuesday", "hangs-in-nccl", "audit", "write-a-rule", "exit-codes", "formats",
    "nothing-secret-leaves",
}
MARK = "\x1e"


def lines_of_code(text):
    """Return the lines of a page that stand in blocks, without its prose."""
    return "".join(fenced or indented for fenced, indented in FENCE.findall(text))


def commands(block):
    """Return the commands of a block, each with the lines that it should print."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def formats_of(name):
    """Return the formats that a command's --help offers."""
    return next(param.metavar for param in build(name).params if "--format" in param.opts).strip("[]").split("|")


def printed(block, home):
    """Run a block as a shell does, and return what each command prints."""
    script = "\n".join(f"printf '{MARK}'; {command}" for command, _ in commands(block))
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DRIFTWATCH_", "XDG_", "NO_COLOR"))}
    environ |= {"HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}", "COLUMNS": "80", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["bash", "-c", script], cwd=home, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return [part.splitlines() for part in ran.stdout.split(MARK)[1:]]


def fits(told, shown):
    """Tell whether printed lines are those that stand in the page."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in told)) is not None


@pytest.fixture
def home(tmp_path):
    """Return a home with the command, and with the folders that the pages name."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/driftwatch").write_text(f'#!/bin/sh\nexec {sys.executable} -m driftwatch "$@"\n')
    (tmp_path / "bin/driftwatch").chmod(0o755)
    for name in ("snapshots", "examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_the_pages_of_the_cases_have_examples_that_are_run():
    assert set(WITH_EXAMPLES) >= MUST_HAVE_EXAMPLES


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_every_example_of_a_page_prints_what_stands_there(page, home):
    path = ROOT / f"docs/{page}.md"
    text = path.read_text(encoding="utf-8")
    for name, source in FILE.findall(text):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(source)
    for block in BLOCK.findall(text):
        told = printed(block, home)
        if "DRIFTWATCH_REDRAW" in os.environ and "...\n" not in block:
            drawn = "".join(f"$ {command}\n" + "".join(line + "\n" for line in lines) for (command, _), lines in zip(commands(block), told, strict=True))
            path.write_text(path.read_text(encoding="utf-8").replace(block, drawn), encoding="utf-8")
            continue
        for (command, shown), lines in zip(commands(block), told, strict=True):
            assert fits(lines, shown), "\n".join([f"$ {command}", *lines])


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_is_one(page):
    known = {path.stem.rstrip("_") for path in (ROOT / "driftwatch/cli").glob("*.py")} - {"__init__", "main"}
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    named = re.findall(r"^(?:\$ )?driftwatch ([a-z]+)", lines_of_code(text), re.MULTILINE) + re.findall(r"`driftwatch ([a-z]+)", text)
    assert set(named) <= known


@pytest.mark.parametrize("page", [*(f"docs/{page}.md" for page in PAGES), "README.md"])
def test_every_command_line_of_a_page_is_understood(page):
    """Parse each as the command line does, without running it: its command, options and arguments are there."""
    for line in re.findall(r"^(?:\$ )?driftwatch (.*)$", lines_of_code((ROOT / page).read_text(encoding="utf-8")), re.MULTILINE):
        for part in re.split(r" && (?:driftwatch )?| \| |; ", re.sub(r" \d?>[^\s;]+|\s+# .*$", "", line)):
            name, *words = shlex.split(part)
            if name in summaries():
                build(name).make_context(name, words)


def test_the_allow_list_in_the_page_is_the_one_that_hosts_follow():
    shown = re.findall(r"^```text\n(.*?)^```$", (ROOT / "docs/nothing-secret-leaves.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert [set(block.split()) for block in shown] == [set(SHOWN_PREFIXES), SHOWN_NAMES]


def test_the_table_of_formats_names_the_commands_that_have_each():
    text = (ROOT / "docs/formats.md").read_text(encoding="utf-8").split("| format | of | for |")[1]
    rows = re.findall(r"^\| ([\w, -]+) \| (all commands|(?:[a-z]+(?:, )?)+) \|", text, re.MULTILINE)
    shown = {(one, command) for formats, commands in rows for one in formats.split(", ") for command in commands.split(", ")}
    has = {(one, name) for name in summaries() for one in formats_of(name)}
    assert shown == {(one, "all commands" if one in FORMATS else name) for one, name in has}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_and_file_that_a_page_names_is_there(page):
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    for name in re.findall(r"(?<![\w/])(?:docs|examples|snapshots|scripts|benchmarks|tests|driftwatch)/[\w./-]+\.(?:md|txt|json|py|toml|sh)\b", text):
        assert (ROOT / name).is_file() or "NAME" in name, name
