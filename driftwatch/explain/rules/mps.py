"""NVIDIA's multi-process service that came: its daemon takes the GPUs for its own clients, and others are refused with errors of its own (805 to 809)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term

_DAEMONS = re.compile(r"nvidia-cuda-mps-(?:server|control)")
_TEXT = re.compile(r"\bMPS\b|[Ee]rror:? 80[5-9]\b|cudaErrorMps|CUDA_ERROR_MPS")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the service's daemon where it holds a GPU on the bad side alone."""
    before, now = (sorted(filter(_DAEMONS.fullmatch, _names(case, side))) for side in SIDES)
    if not now or before:
        return
    facts = tuple(f"holders/{name}/count" for name in now)
    terms = [term("multi-process service came", "it takes the GPUs for its own clients, which are those of its user", facts)]
    terms += before_unknown(case, "it ran", *facts)
    if _TEXT.search(case.text):
        terms.append(term("text fits", "the error is one of the multi-process service", facts))
    commands = (Command("confirm", "pgrep -a nvidia-cuda-mps"), Command("look", "printenv CUDA_MPS_PIPE_DIRECTORY; nvidia-smi -q -d COMPUTE"))
    verdict = "NVIDIA's multi-process service runs now: it takes the GPUs for its own clients."
    wording = Wording("GPU process", now[0], "+", good_or(case, "absent", *facts), "runs", verdict, commands=commands)
    yield Evidence(Subject("gpu-process", now[0]), tuple(terms), wording)


def _names(case: Case, side: SideName) -> set[str]:
    return {path.split("/")[1] for path, _ in case.below(side, "holders") if path.count("/") > 1}


RULES = (Rule("mps", needs=(), weigh=weigh, blames=("gpu-process",)),)
