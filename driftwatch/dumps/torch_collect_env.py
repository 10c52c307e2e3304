"""``python -m torch.utils.collect_env``. Asks torch, nvcc, nvidia-smi, lscpu, and pip and conda for a few names only; knows no SGLang.

| path | what |
|---|---|
| torch/version, torch/cuda, torch/hip | as imported; unknown where torch could not be |
| cuda/runtime | what nvcc says, so the toolkit's, not the one that torch loads |
| driver/version, gpus/index-N/name | as nvidia-smi says |
| packages/NAME/version | the rows of [pip3] and [conda] |
| python/version, os/name, kernel/release, libc/version, system/cpu/model, count, cudnn/on_disk | |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftwatch.dumps import collect_env
from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.vllm_collect_env import is_vllm


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the dumps that bear no mark of vLLM's tool."""
    return collect_env.find(lines, lambda mine: not is_vllm(mine))


def parse(text: str) -> Parsed:
    """Return what the dump tells. Its lists are of some names only: what bears none of those and is not listed may be there."""
    facts = collect_env.rows(text)
    return Parsed(facts, tells=collect_env.listed_whole(text), notes=() if facts else ("the tool failed, or the text was cut before its first line",))


FORMAT = Format(
    name="torch-collect-env", find=find, parse=parse, knows_cuts=True, looks_like="python -m torch.utils.collect_env", marks=collect_env.MARKS,
    never_prints=(
        "packages/sglang/version", "packages/sglang-kernel/version", "packages/sgl-kernel/version", "packages/flashinfer-*/version",
        "packages/vllm/version", "packages/transformers/version", "env/*", "servers/*", "gpus/*/holders/*", "gpus/*/memory_used_mib", "git/*", "sources/*",
        "packages/*/record", "nccl/*"),
)
