"""``vllm collect-env`` and vLLM's older ``collect_env.py``: torch's keys, more rows, the topology and some variables of the shell that ran it.

Facts as in torch_collect_env.py, and: packages/vllm/version, commit; rocm/version; env/NAME, which tells of every variable of the listed beginnings.
"CUDA Archs: Not Set" is a variable that is not set, not what the kernels were built for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps import collect_env
from driftwatch.dumps.env import ROW, variables
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

PRINTED_VARIABLES = ("TORCH*", "NCCL*", "PYTORCH*", "CUDA*", "CUBLAS*", "CUDNN*", "OMP_*", "MKL_*", "NVIDIA*", "VLLM_*", "LD_LIBRARY_PATH",
                     "MAX_JOBS", "NVCC_THREADS", "CMAKE_BUILD_TYPE", "VERBOSE", "LOCAL_RANK")  # beside the beginnings, what vllm/envs.py names
_MARK = re.compile(
    r"\s*(?:vLLM (?:Ascend )?(?:Version|Build Flags)\s*:|(?:ROCM Version|Neuron SDK Version)\s*:"
    r"|(?:System|PyTorch|vLLM|CPU|CUDA / GPU|Intel XPU / GPU) Info\s*\Z|Python Environment\s*\Z|Environment Variables\s*\Z|Versions of relevant libraries\s*\Z"
    r"|\[(?:pip3|conda)\] (?:pyzmq|transformers|vllm-nccl\S*|flashinfer\S*|pynvml)(?:==|\s))")
_VARIABLES = re.compile(r"\s*Environment Variables\s*\Z")


def is_vllm(lines: Sequence[str]) -> bool:
    """Tell whether a dump bears a mark of vLLM's tool."""
    return any(_MARK.match(line) for line in lines)


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield vLLM's dumps, with the variables at their end."""
    for one in collect_env.find(lines, is_vllm):
        yield Stretch(one.first, _with_variables(lines, one.after), min(1.0, one.sure + 0.02))


def _with_variables(lines: Sequence[str], at: int) -> int:
    """Return where a dump ends that goes on with a topology and variables."""
    after = at
    while at < len(lines) and lines[at] != FENCE and not lines[at].startswith("$ ") and not collect_env.is_known(lines[at]):
        at += 1
        if ROW.match(lines[at - 1]) or _VARIABLES.match(lines[at - 1]) or collect_env.RULE.match(lines[at - 1]):
            after = at
    return after


def parse(text: str) -> Parsed:
    """Return what the dump tells. Variables tell of all with the listed beginnings where their part was reached and not cut."""
    head, title, tail = _parts(text)
    facts: dict[str, Any] = collect_env.rows(head)
    found = variables(tail)
    has_part = bool(title or found) and text.endswith("\n")
    variables_told = tuple(f"env/{one}" for one in PRINTED_VARIABLES) if has_part else ()
    return Parsed({**facts, **found}, tells=(*variables_told, *collect_env.listed_whole(head, ("pynvml", "pyzmq"))))


def _parts(text: str) -> tuple[str, str, str]:
    """Return the text before the variables, their title ("" in the old layout), and the variables' own lines."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if _VARIABLES.match(line):
            return "\n".join(lines[:at]) + "\n", line, "\n".join(lines[at + 1:])
    last = max((at for at, line in enumerate(lines) if line.strip() and not ROW.match(line)), default=-1)
    return ("\n".join(lines[:last + 1]) + "\n" if last + 1 < len(lines) else text), "", "\n".join(lines[last + 1:])


FORMAT = Format(
    name="vllm-collect-env", find=find, parse=parse, knows_cuts=True, looks_like="vllm collect-env, or vLLM's collect_env.py", marks=collect_env.MARKS,
    never_prints=(
        "packages/sglang/version", "packages/fastapi/version", "packages/apache-tvm-ffi/version", "servers/*", "env/SGLANG_*", "env/PYTHONPATH",
        "env/LD_PRELOAD", "gpus/*/holders/*", "gpus/*/memory_used_mib", "git/*", "sources/*", "packages/*/record", "nccl/*"),
)
