"""What compiles kernels while a server starts: compiler, CUDA toolkit, build tools, and the C library whose headers they read. Blamed by an error of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.mentions import quotes_either
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import moved


class _Tool(NamedTuple):
    """A part of the toolchain: how it is called, the words of its errors, the command that tells its version."""

    name: str
    facts: tuple[str, ...]
    text: re.Pattern[str]
    look: str


_TOOLS = (
    _Tool("glibc", ("libc/version",), re.compile(r"\bGLIBC_[\d.]+|/usr/include/\S*bits/|mathcalls|\blib[cm]\.so\.6"), "ldd --version | head -1"),
    _Tool(
        "gcc", ("toolchain/gcc", "programs/gcc/path", "programs/cc/path", "programs/g++/path"),
        re.compile(r"\b(?:gcc|cc1|cc1plus|g\+\+|c\+\+)(?![\w.])|C(?:\+\+)? compiler|GNU version|\bGLIBCXX_|\bhost compiler"), "gcc --version | head -1",
    ),
    _Tool("clang", ("toolchain/clang", "programs/clang/path"), re.compile(r"\bclang\b"), "clang --version | head -1"),
    _Tool("cmake", ("toolchain/cmake", "programs/cmake/path"), re.compile(r"\bcmake\b", re.IGNORECASE), "cmake --version | head -1"),
    _Tool("ninja", ("programs/ninja/path",), re.compile(r"\b[Nn]inja\b"), "ninja --version"),
    _Tool(
        "nvcc", ("cuda/nvcc", "programs/nvcc/path"), re.compile(r"\bnvcc\b|\bcicc\b|\bptxas\b|CUDA_HOME|[Uu]nsupported gpu architecture"),
        "nvcc --version | tail -2",
    ),
)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each part of the toolchain that is of another version, or gone, while the error is of its work."""
    for tool in _TOOLS:
        changes = sorted(case.moved(*tool.facts), key=lambda change: tool.facts.index(change.path)) if tool.text.search(case.text) else []
        if changes:
            yield _blamed(case, tool, changes)


def _blamed(case: Case, tool: _Tool, changes: list[Change]) -> Evidence:
    good, bad = values(changes[0])
    facts = tuple(change.path for change in changes)
    terms = [term("toolchain moved", f"{tool.name} {moved(good, bad)}", facts), term("text fits", "the error is of its work", facts)]
    if any(quotes_either(case, path) for path in facts):
        terms.append(term("value named", "the error text quotes its version", facts))
    if bad is None:
        terms.append(term("gone and missed", "it is gone since the good side", facts))
    verdict = f"{tool.name} {moved(good, bad)}, and the error is of its work."
    return Evidence(
        Subject("library", tool.name), tuple(terms),
        Wording("toolchain", tool.name, mark(good, bad), good, bad, verdict, commands=(Command("confirm", tool.look),)))


RULES = (Rule("toolchain_moved", needs=(), weigh=weigh, blames=("library",)),)
