"""``python -m flashinfer.collect_env``: ``key : value`` below titles such as ``==== FlashInfer ====``.

| path | what |
|---|---|
| packages/flashinfer-python/version, packages/flashinfer-cubin/version, packages/flashinfer-jit-cache/version | a flagged MISMATCH may be a local part only |
| caches/flashinfer/path, compiled_files; caches/flashinfer-cubins/path, files, size_mib | the JIT cache, the store of cubins |
| driver/version, gpus/index-N/name, memory_gib_printed | in CUDA's order, which may not be nvidia-smi's |
| torch/version, torch/cuda, cuda/nvcc, python/version, python/executable, os/name, kernel/release, env/NAME | |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.gpu_names import index_facts
from driftwatch.dumps.platforms import kernel_of, os_name
from driftwatch.dumps.rows import NAMED, add_version, command_of, is_version, told_at_end, version_path

FEWEST_KEYS = 3
_TITLE = re.compile(r"\s*={3,8} (?P<name>[A-Z][\w /.,:()-]{1,60}) ={3,8}\s*\Z")
_PACKAGES = "Relevant Packages"
_VARIABLES = "==== Environment Variables ===="
_PRINTED = (
    "FLASHINFER_*", "CUDA_*", "CUDNN_*", "NVIDIA_*", "NCCL_*", "NVSHMEM_*", "TORCH_*", "PYTORCH_*", "TRITON_*", "VLLM_*", "SGLANG_*", "SGL_*",
    "LD_LIBRARY_PATH", "LD_PRELOAD")
_KEY = re.compile(r"\s*(?P<key>[A-Za-z][\w .()/-]{0,60}?)\s*:(?: (?P<value>.*))?\Z")
_OWN = re.compile(
    r"\s*(?:flashinfer(?: file|-cubin|-jit-cache|-python)?\s{1,40}|JIT cache\s{0,40}|Cubin store \(\w+\)\s{0,40}|Target CUDA archs \(\w+\)\s{0,40}): ")
_GPU = re.compile(r"GPU (?P<index>\d{1,4})(?: \((?:CUDA|nvidia-smi) order\))?\Z")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{3,60}\Z")
_FIRST = re.compile(r"\S+")
_COMPILED = re.compile(r"(?P<path>\S+) \((?P<count>\d{1,9}) compiled")
_CUBINS = re.compile(r"(?P<path>\S+) \((?P<count>\d{1,9}) cubins(?:, (?P<size>\d{1,9}) MiB)?")
_NVCC = re.compile(r"V(?P<version>\d[\d.]{2,30})")
_MEMORY = re.compile(r"\| (?P<size>\d+(?:\.\d+)?) GiB")
_UNSET = ("<unset>", "unset", "<not set>", "not set")
_MISSING = ("not installed", "not found", "<not installed>", "none")
_VERSIONS = {
    "flashinfer": version_path("flashinfer-python"), "flashinfer-python": version_path("flashinfer-python"),
    "flashinfer-cubin": version_path("flashinfer-cubin"),
    "flashinfer-jit-cache": version_path("flashinfer-jit-cache"), "python": "python/version", "driver version": "driver/version", "torch": "torch/version",
    "pytorch": "torch/version", "torch version": "torch/version", "torch cuda": "torch/cuda", "torch.version.cuda": "torch/cuda",
}
_TEXTS = {
    "Python executable": "python/executable", "flashinfer file": "packages/flashinfer-python/imported_file", "libc": "libc/version",
    "flashinfer commit": "packages/flashinfer-python/commit", "CUDA_HOME (env)": "cuda/home", "torch compiled archs": "torch/architectures",
}


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the report: from its first title or own key to the last key before a fence, a prompt or other text."""
    at = 0
    while at < len(lines):
        if not _begins(lines, at):
            at += 1
            continue
        after = _end(lines, at)
        if sum(_KEY.match(line) is not None for line in lines[at:after]) >= FEWEST_KEYS:
            yield Stretch(at, after, 0.95)
        at = after


def _begins(lines: Sequence[str], at: int) -> bool:
    """Tell whether a report begins at a line: its title above own keys, or several own keys where the title is missing."""
    own = sum(_OWN.match(line) is not None for line in lines[at:at + 8])
    return own > 0 if _TITLE.match(lines[at]) else own > 1 and _OWN.match(lines[at]) is not None


def _end(lines: Sequence[str], at: int) -> int:
    after = at + 1
    while at < len(lines) and lines[at] != FENCE and not command_of(lines[at]):
        line = lines[at]
        if line.strip() and not (_KEY.match(line) or _TITLE.match(line) or line.startswith(" ")):
            break
        at += 1
        after = at if line.strip() else after
    return after


def parse(text: str) -> Parsed:
    """Return what the keys tell. The variables tell of all with the listed beginnings where another part or the end follows theirs."""
    facts: dict[str, Any] = {}
    lines = text.split("\n")
    section = ""
    for at, line in enumerate(lines):
        title, found = _TITLE.match(line), _KEY.match(line)
        section = title["name"] if title else section
        if found and not title:
            is_cut = at == len(lines) - 1
            key, value = found["key"].strip(), (found["value"] or "").strip()
            if section == _PACKAGES:
                _add_package(facts, key, value, is_cut=is_cut)
            else:
                _add(facts, key, value, is_cut=is_cut)
    has_variables = _VARIABLES in text and text.endswith("\n")
    return Parsed(facts, tells=tuple(f"env/{one}" for one in _PRINTED) if has_variables else ())


def _add_package(facts: dict[str, Any], name: str, value: str, *, is_cut: bool) -> None:
    first = _FIRST.match(value)
    if first and NAMED.match(name) and is_version(first.group()):
        add_version(facts, name, told_at_end(first.group(), is_cut=is_cut and first.group() == value))


def _add(facts: dict[str, Any], key: str, value: str, *, is_cut: bool) -> None:
    path, gpu = _VERSIONS.get(key.lower()), _GPU.match(key)
    first = _FIRST.match(value)
    word = first.group() if first else ""
    if path is not None:
        _add_version(facts, path, value, is_cut=is_cut and word == value)
    elif gpu:
        name, *_ = value.split(" | ")
        memory = _MEMORY.search(value)
        facts.update(index_facts([gpu["index"]], "name", name, is_cut=is_cut and name == value))
        facts.update(index_facts([gpu["index"]], "memory_gib_printed", memory["size"]) if memory else {})
    elif _VARIABLE.match(key) and not is_cut:
        facts[f"env/{key}"] = None if value in _UNSET else value
    elif not is_cut:
        facts.update(_other(key, value))


def _add_version(facts: dict[str, Any], path: str, value: str, *, is_cut: bool) -> None:
    if value.lower().startswith(_MISSING):
        facts[path] = None
    elif (first := _FIRST.match(value)) and is_version(first.group()):
        facts[path] = told_at_end(first.group(), is_cut=is_cut)


def _other(key: str, value: str) -> dict[str, Any]:
    compiled, cubins = _COMPILED.match(value), _CUBINS.match(value)
    if key == "JIT cache" and compiled:
        return {"caches/flashinfer/path": compiled["path"], "caches/flashinfer/compiled_files": int(compiled["count"])}
    if key.startswith("Cubin store") and cubins:
        size = {"caches/flashinfer-cubins/size_mib": int(cubins["size"])} if cubins["size"] else {}
        return {"caches/flashinfer-cubins/path": cubins["path"], "caches/flashinfer-cubins/files": int(cubins["count"]), **size}
    if key == "Platform":
        return dict(kernel_of(value))
    if key == "OS":
        return {"os/name": os_name(value)}
    if key == "nvcc version" and (nvcc := _NVCC.search(value)):
        return {"cuda/nvcc": nvcc["version"]}
    value = value.removeprefix("glibc ")
    return {_TEXTS[key]: value} if key in _TEXTS and not value.startswith("<") else {}


FORMAT = Format(
    name="flashinfer-collect-env", find=find, parse=parse, knows_cuts=True, looks_like="python -m flashinfer.collect_env",
    marks=("flashinfer", "JIT cache", "Cubin store", "Target CUDA archs"),
    never_prints=(
        "packages/sglang/version", "packages/vllm/version", "servers/*", "gpus/*/holders/*", "git/*", "sources/*",
        "packages/*/record", "nccl/*"),
)
