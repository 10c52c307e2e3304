"""Writes docs/faults.md from tests/fault_rows.toml: every fault that is promised to be lived with, how it is made real, and the tests that look."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "fault_rows.toml"
PAGE = ROOT / "docs" / "faults.md"
SHOWN = 4
HEAD = """\
# Faults that are lived with
Made by `scripts/make_faults_page.py` from `tests/fault_rows.toml`. Each fault is made real on the machine that runs the tests. Where its kernel or its rights
refuse a recipe, the test is skipped with that reason, and the test run prints every skip and its reason at its end. What hangs a line to a host has a
table of its own in docs/transports.md.

| # | fault | made real by | what must come of it | tests |
|---|---|---|---|---|
"""


def rows() -> list[dict[str, Any]]:
    """Return the rows of the table."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    found: list[dict[str, Any]] = toml.loads(TABLE.read_text(encoding="utf-8"))["row"]
    return found


def matching(pattern: str) -> list[str]:
    """Return the names of the tests that FILE::NAME means, where NAME may be a glob; nothing where there is none."""
    file, _, name = pattern.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return fnmatch.filter([node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")], name)


def page() -> str:
    """Return the whole page."""
    lines = []
    for row in rows():
        said = [f"{pattern.partition('::')[0].removeprefix('tests/')}: {name.removeprefix('test_').replace('_', ' ')}"
                for pattern in row["tests"] for name in matching(pattern)[:SHOWN]]
        lines.append(f"| {row['number']} | {row['fault']} | {row['made']} | {row['expected']} | {'<br>'.join(said)} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
