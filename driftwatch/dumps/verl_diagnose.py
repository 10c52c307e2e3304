"""verl's ``scripts/diagnose.py`` and the scripts that it comes from (MXNet's, DGL's): ``Key : value`` rows below titles between dashes.

One key says another thing in each part: ``Version`` is Python's, pip's or the project's, ``version`` is the kernel's build.

| path | what |
|---|---|
| python/version, packages/NAME/version | of the project by the title of its part; absent where the list of packages says "not found." |
| packages/NAME/commit | of the project |
| kernel/release, torch/cuda, cuda/nvcc | "CUDA Runtime" is what torch was built with |
| gpus/count, gpus/index-N/name | the tool counts cards from 1, N from 0 |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.platforms import kernel_of
from driftwatch.dumps.rows import NAME, command_of, is_version, package, version_path
from driftwatch.model import Unknown

_TITLE = re.compile(r"\s{0,4}-{5,40}(?P<title>[A-Za-z][\w ]{1,40}?)-{5,40}\s*\Z")
_ROW = re.compile(r"\s{0,4}(?P<key>[A-Za-z][\w .-]{0,60}?)\s{0,20}:\s+(?P<value>\S.{0,300}?)\s*\Z")
_COMPILER = re.compile(r"V(?P<version>\d+\.\d+[\w.]*)\Z")
_CARD = re.compile(r"GPU (?P<number>[1-9]\d{0,2})\s+Type\Z")
_COMMIT = re.compile(r"[0-9a-f]{7,40}\Z")
_NAME = re.compile(rf"{NAME}\Z")
_FIRST_TITLE = "Python Info"


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each report, from the part on Python to its last row; where a second begins, that is another report."""
    firsts = [at for at, line in enumerate(lines) if _title(line) == _FIRST_TITLE]
    for first, limit in pairwise([*firsts, len(lines)]):
        after = next((at for at in range(first + 1, limit) if lines[at] == FENCE or command_of(lines[at])), limit)
        known = [at for at in range(first, after) if _title(lines[at]) or _ROW.match(lines[at][:400])]
        yield Stretch(first, known[-1] + 1, 0.9)


def _title(line: str) -> str:
    found = _TITLE.match(line) if "-----" in line[:80] else None
    return found["title"].strip() if found else ""


def parse(text: str) -> Parsed:
    """Return what the rows tell, each by the part that it stands in."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    title = ""
    for at, line in enumerate(lines):
        title = _title(line) or title
        row = _ROW.match(line[:400]) if not _title(line) else None
        if row:
            told = dict(_row(title, row["key"], row["value"]))
            is_cut = at == len(lines) - 1
            facts.update({path: Unknown("error", f"the text ends in its row, at {row['value'][-40:]!r}") for path in told} if is_cut else told)
    return Parsed(facts)


def _row(title: str, key: str, value: str) -> Iterator[tuple[str, Any]]:
    """Yield what a row of a part tells."""
    if title == "Python Info" and key == "Version":
        yield "python/version", value
    elif title == "Pip Info":
        yield from _distribution("pip" if key == "Version" else key, value)
    elif title in ("Platform Info", "Environment", "System Info"):
        yield from _host(key, value)
    elif title.endswith(" Info") and key == "Version":
        yield from _distribution(title.removesuffix(" Info"), value)
    elif title.endswith(" Info") and key == "Commit Hash" and _COMMIT.match(value):
        yield package(title.removesuffix(" Info"), "commit"), value


def _distribution(name: str, value: str) -> Iterator[tuple[str, Any]]:
    if is_version(value) and _NAME.match(name):
        yield version_path(name), value
    elif value == "not found." and _NAME.match(name):
        yield version_path(name), None


def _host(key: str, value: str) -> Iterator[tuple[str, Any]]:
    """Yield what the parts on the platform, the toolkit and the machine tell."""
    card, compiler = _CARD.match(key), _COMPILER.search(value)
    if key == "Platform":
        yield from kernel_of(value).items()
    elif key == "CUDA Runtime" and is_version(value):
        yield "torch/cuda", value
    elif key == "CUDA Compiler" and compiler:
        yield "cuda/nvcc", compiler["version"]
    elif key == "GPU Count" and value.isdigit():
        yield "gpus/count", int(value[:6])
    elif card:
        yield f"gpus/index-{int(card['number']) - 1}/name", value


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="verl's diagnose.py", marks=("Python Info",), knows_cuts=True,
    never_prints=("driver/*", "env/*", "servers/*", "os/*", "packages/*/record", "nccl/*"),
)
