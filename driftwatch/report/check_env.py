"""A snapshot in the layout of ``python -m sglang.check_env`` of SGLang 0.5.x, for threads that ask for it. Only lays out.

What the snapshot does not know has no row, since that tool's "Module Not Found" would say more than is known; :func:`left_out` names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.model import Answer, Known, Snapshot, Unknown
from driftwatch.report.cards import alike, cards, known
from driftwatch.report.page import Page

NOT_FOUND = "Module Not Found"
_KERNEL = ("sgl_kernel", "sglang-kernel")
_ROWS = """
    sglang sgl_kernel sglang-kernel flashinfer_python flashinfer_cubin flashinfer_jit_cache triton transformers torchao numpy aiohttp fastapi hf_transfer
    huggingface_hub interegular modelscope orjson outlines packaging psutil pydantic python-multipart pyzmq uvicorn uvloop vllm xgrammar openai tiktoken
    anthropic litellm torchcodec decord2 decord flashinfer
"""
_OF_OLD = ("decord", "flashinfer", "torchcodec", "hf_transfer", "decord2")
_HEADINGS = {"cpu": "CPU Affinity", "numa": "NUMA Affinity", "gpu_numa": "GPU NUMA ID"}
_GPU = re.compile(r"GPU\d+\Z")


def render_check_env(snapshot: Snapshot, page: Page) -> str:
    """Return the dump, each line ending with a line feed."""
    return "".join("\t".join(map(page.say, line.split("\t"))) + "\n" for line in _lines(snapshot))


def left_out(snapshot: Snapshot) -> list[str]:
    """Return the keys that have no row because the snapshot does not know them, each with why."""
    told = [("CUDA available", "torch/cuda_available"), ("PyTorch", "torch/version"), ("CUDA Driver Version", "driver/version"), ("Python", "python/version")]
    told += [(name, _version(name)) for name in _names(snapshot)]
    found = [(name, snapshot.get(path)) for name, path in told]
    return [f"{name}: {one.status.replace('_', ' ')}{': ' if one.reason else ''}{one.reason}" for name, one in found if isinstance(one, Unknown)]


def _lines(snapshot: Snapshot) -> Iterator[str]:
    yield from _row("Python", snapshot.get("python/version"))
    yield from _row("CUDA available", snapshot.get("torch/cuda_available"))
    found = cards(snapshot)
    for key, title in (("name", ""), ("compute_capability", " Compute Capability")):
        for numbers, (value,) in alike(found, (key,)):
            if known(value) is not None:
                yield f"GPU {','.join(map(str, numbers))}{title}: {value}"
    yield from _toolkit(snapshot)
    yield from _row("CUDA Driver Version", snapshot.get("driver/version"))
    yield from _row("PyTorch", snapshot.get("torch/version"))
    for name in _names(snapshot):
        yield from _row(name, snapshot.get(_version(name)), absent=NOT_FOUND)
    yield from _topology(snapshot.facts.get("topology/matrix"), snapshot.facts.get("topology/affinity"))
    yield from _row("Hypervisor vendor:", snapshot.get("system/hypervisor"))
    yield from _row("ulimit soft", snapshot.get("limits/open_files/soft"))


def _row(name: str, found: Answer, absent: str = "") -> Iterator[str]:
    if isinstance(found, Known) and (found.value is not None or absent):
        yield f"{name}: {absent if found.value is None else _one_line(found.value)}"


def _one_line(value: Any) -> str:
    return " ".join(str(value).split())


def _version(name: str) -> str:
    return fact_path("packages", re.sub(r"[-_.]+", "-", name).lower(), "version")


def _names(snapshot: Snapshot) -> list[str]:
    """Return the distributions in the tool's order, without what only some releases ask for and is not there; one name of the kernel package stays."""
    there = {name for name in (*_KERNEL, *_OF_OLD) if isinstance(found := snapshot.get(_version(name)), Known) and found.value is not None}
    kernel = set(_KERNEL) & there or {_KERNEL[1]}
    return [name for name in _ROWS.split() if name in there | kernel or name not in (*_KERNEL, *_OF_OLD)]


def _toolkit(snapshot: Snapshot) -> Iterator[str]:
    """Yield the toolkit's folder, as the server or the shell had it, and its compiler's version where a paste told one."""
    paths = ("cuda/home", *(path for path in sorted(snapshot.facts) if re.fullmatch(r"servers/[^/]+/env/CUDA_HOME", path)), "env/CUDA_HOME")
    home = next((value for path in paths if isinstance(value := snapshot.facts.get(path), str)), None)
    compiler = snapshot.facts.get("cuda/nvcc")
    if home is not None:
        yield f"CUDA_HOME: {_one_line(home)}"
    if isinstance(compiler, str):
        release = ".".join(compiler.split(".")[:2])
        yield f"NVCC: Cuda compilation tools, release {release}, V{compiler}"


def _topology(matrix: Any, affinity: Any) -> Iterator[str]:
    """Yield the matrix as nvidia-smi prints it: network cards as NIC0, NIC1 …, their own names in the legend."""
    if not isinstance(matrix, dict) or "unknown" in matrix or "GPU0" not in matrix:
        return
    near = affinity if isinstance(affinity, dict) and "unknown" not in affinity else {}
    cards_of = [name for name in matrix if not _GPU.match(name)]
    shown = {name: f"NIC{place}" for place, name in enumerate(cards_of)} | {name: name for name in matrix if _GPU.match(name)}
    headings = [key for key in _HEADINGS if any(key in row for row in near.values())]
    order = sorted(matrix, key=lambda name: (not _GPU.match(name), int(re.sub(r"\D", "", shown[name]) or 0)))
    yield "NVIDIA Topology: "
    yield "\t" + "\t".join([*(shown[name] for name in order), *(_HEADINGS[key] for key in headings)])
    for name in order:
        cells = [" X " if other == name else str(matrix[name].get(other, "")) for other in order]
        yield "\t".join([shown[name], *cells, *(str(near.get(name, {}).get(key, "")) for key in headings)]).rstrip()
    if cards_of:
        yield from ("", "NIC Legend:", "", *(f"  {shown[name]}: {name}" for name in cards_of))
    yield ""
