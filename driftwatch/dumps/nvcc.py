"""``nvcc --version``: which toolkit is first on PATH; what torch loads may be another. One fact: cuda/nvcc."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.rows import told_at_end

_FIRST = re.compile(r"\s*nvcc: NVIDIA \(R\) Cuda compiler driver")
_RELEASE = re.compile(r"\s*Cuda compilation tools, release (?P<short>[\d.]{1,20}), V(?P<version>\d[\d.]{0,40})")
LINES = 6


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the few lines that nvcc prints."""
    for at, line in enumerate(lines):
        release = next((one for one in range(at, min(at + LINES, len(lines))) if _RELEASE.match(lines[one])), None)
        if _FIRST.match(line):
            yield Stretch(at, (release or at) + 1, 0.98)
        elif _RELEASE.match(line) and not any(_FIRST.match(one) for one in lines[max(0, at - LINES):at]):
            yield Stretch(at, at + 1, 0.98)


def parse(text: str) -> Parsed:
    """Return the toolkit's version."""
    for line in text.split("\n"):
        if found := _RELEASE.match(line):
            return Parsed({"cuda/nvcc": told_at_end(found["version"].rstrip("."), is_cut=text.endswith(found["version"]))})
    return Parsed({})


FORMAT = Format(name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="nvcc --version", marks=("Cuda compil",))
