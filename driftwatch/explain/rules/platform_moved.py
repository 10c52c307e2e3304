"""What everything else stands on: the kernel, the serving interpreter, the CUDA version of torch. They move seldom and carry much with them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.mentions import quotes_either
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, python_of, term
from driftwatch.explain.words import command, moved

_OF_KERNEL = re.compile(r"\bibv_\w+|\buverbs\b|\bmlx[45]|RDMA|GPUDirect|dma_?buf|peermem|\bio_uring\b|\bbpf\b", re.IGNORECASE)
_FACTS = {
    "kernel/release": ("kernel", "kernel", "kernel moved", "another kernel runs: modules must have been built for it"),
    "python/base": ("python", "interpreter below the environment", "python moved", "another Python below the environment: its packages are of the one before"),
    "python/version": ("python", "serving interpreter", "python moved", "another Python: compiled packages are of one version of it"),
}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the parts of the platform that moved."""
    for path, (kind, layer, weight, says) in _FACTS.items():
        for change in case.moved(path):
            good, bad = values(change)
            look = Command("confirm", "uname -r" if kind == "kernel" else command([python_of(case), "-V"]))
            wording = Wording(layer, path, mark(good, bad), good, bad, f"The {layer} moved, {moved(good, bad)}.", commands=(look,))
            terms = [term(weight, says, (path,))]
            if kind == "kernel" and _series(good) == _series(bad) != "":
                terms.append(term("same kernel series", "a later build of the same release, or an earlier one", (path,)))
            if kind == "kernel" and _OF_KERNEL.search(case.text):
                terms.append(term("text fits", "the error is of what the kernel does for a device: memory that is registered, its driver", (path,)))
            if quotes_either(case, path):
                terms.append(term("value named", f"the error text quotes one of them: {moved(good, bad)}", (path,)))
            yield Evidence(Subject(kind, "python" if path == "python/version" else layer), tuple(terms), wording)


def _series(release: object) -> str:
    """Return the upstream release of a kernel, ``6.8.0`` of ``6.8.0-101-generic``."""
    return release.partition("-")[0] if isinstance(release, str) else ""


RULES = (Rule("platform_moved", needs=(), weigh=weigh, blames=("kernel", "python")),)
