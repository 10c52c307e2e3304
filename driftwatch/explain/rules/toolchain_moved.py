"""What compiles kernels while a server starts: compiler, CUDA toolkit, build tools, and the C library whose headers they read. Blamed by an error of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
    text: re.Pattern[str]
    look: str


_TOOLS = {
    "libc/version": _Tool("glibc", re.compile(r"\bGLIBC_[\d.]+|/usr/include/\S*bits/|mathcalls|\blib[cm]\.so\.6"), "ldd --version | head -1"),
    "toolchain/gcc": _Tool(
        "gcc", re.compile(r"\b(?:gcc|cc1|cc1plus|g\+\+|c\+\+)(?![\w.])|C(?:\+\+)? compiler|GNU version|\bGLIBCXX_|\bhost compiler"), "gcc --version | head -1"
    ),
    "toolchain/clang": _Tool("clang", re.compile(r"\bclang\b"), "clang --version | head -1"),
    "toolchain/cmake": _Tool("cmake", re.compile(r"\bcmake\b", re.IGNORECASE), "cmake --version | head -1"),
    "cuda/nvcc": _Tool("nvcc", re.compile(r"\bnvcc\b|\bcicc\b|\bptxas\b|CUDA_HOME|[Uu]nsupported gpu architecture"), "nvcc --version | tail -2"),
}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each part of the toolchain that is of another version, or gone, while the error is of its work."""
    for path, tool in _TOOLS.items():
        for change in case.moved(path):
            if tool.text.search(case.text):
                good, bad = values(change)
                terms = [term("toolchain moved", f"{tool.name} {moved(good, bad)}", (path,)), term("text fits", "the error is of its work", (path,))]
                if quotes_either(case, path):
                    terms.append(term("value named", "the error text quotes its version", (path,)))
                verdict = f"{tool.name} {moved(good, bad)}, and the error is of its work."
                wording = Wording("toolchain", tool.name, mark(good, bad), good, bad, verdict, commands=(Command("confirm", tool.look),))
                yield Evidence(Subject("library", tool.name), tuple(terms), wording)


RULES = (Rule("toolchain_moved", needs=(), weigh=weigh, blames=("library",)),)
