"""``python -m sglang.check_env``, every layout from 0.1.21 to 0.5.23, on NVIDIA, AMD, Moore Threads and other cards; and ``lmdeploy check_env``.

| path | what |
|---|---|
| packages/NAME/version | under the name that the tool asked for; zmq, PIL and multipart are names of modules, so also as pyzmq, pillow, python-multipart |
| torch/version, python/version | as imported |
| driver/version, cuda/nvcc, cuda/home | only printed where the toolkit's folder exists |
| gpus/index-N/name, compute_capability | as torch counts, so CUDA_VISIBLE_DEVICES shows |
| system/hypervisor, limits/open_files/soft | |
| ascend/home, ascend/cann, ascend/bisheng | of Ascend cards: the toolkit's folder, version and compiler |

"Module Not Found" is no proof of absence: some names can never match, so such a version is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.gpu_names import index_facts
from driftwatch.dumps.rows import NAME, VERSION, add_version, command_of, is_version, told_at_end, version_path
from driftwatch.model import Unknown
from driftwatch.other_names import NOT_UNDER_THIS_NAME

NOT_FOUND = "Module Not Found"
FEWEST_LOOSE = 3
_MODULES = {"zmq": "pyzmq", "PIL": "pillow", "multipart": "python-multipart"}  # names of modules, told under their distributions' names too
MOST_OTHER_LINES = 4
_VENDOR = r"(?:Ascend|CUDA|ROCM|HIP|MUSA|NPU|CANN|XPU|HPU|MPS|CPU|PPU|MACA|MLU|GCU)"
_ANCHOR = re.compile(
    rf"\s*(?:{_VENDOR} available: (?:True|False)|{_VENDOR}_HOME: |{_VENDOR} Driver Versions?: |NVCC: |HIPCC: |MCC: |PyTorch: "
    r"|sglang: |sgl_kernel: |sglang-kernel: |(?:NVIDIA|AMD|MTHREADS|Ascend|Intel) Topology:|Hypervisor vendor::? |ulimit soft: "
    r"|(?:GPU|NPU|XPU|HPU) [\d,]{1,80} Compute Capability: )")
_ALONE = re.compile(r"\s*(?:ulimit soft: \d|Hypervisor vendor:: |(?:NVIDIA|AMD|MTHREADS) Topology:)")
_PYTHON = re.compile(r"\s*Python: (?P<version>\d+\.\d+\.\w+)(?:\+?\s*[(|]|\s*\Z)")
_ROW = re.compile(rf"\s*(?P<name>{NAME}): (?P<version>{VERSION}|{NOT_FOUND}|Not Found)\+?\s*\Z")  # LMDeploy puts a plus where its commit is empty
_KEY = re.compile(r"\s*(?P<key>[A-Za-z][\w ,]{0,200}?)::? ?(?P<value>.*)\Z")
_GPU = re.compile(r"(?:GPU|NPU|XPU|HPU) (?P<indices>\d{1,4}(?:,\d{1,4}){0,255})(?P<is_capability> Compute Capability)?\Z")
_GPU_LINE = re.compile(r"\s*(?:GPU|NPU|XPU|HPU) [\d,]{1,800}(?: Compute Capability)?: ")
_TOOL = re.compile(r"(?:V|version:? )(?P<version>\d[\w.+-]{0,60})")
_TOPOLOGY = re.compile(r"\s*(?:Legend:|NIC Legend:|(?:GPU|NIC|mlx|bond|ibp)[\w]*(?:\s|\Z)|(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s+=|NIC\d+: )")
_BUILT_WITH = "PyTorch built with:"  # above how torch was built, which LMDeploy's check_env shows among its rows
_BUILD = re.compile(r"\s{1,8}- [A-Z]")
_SIMPLE = {
    "CANN_HOME": "ascend/home", "CANN": "ascend/cann", "BiSheng": "ascend/bisheng", "CUDA_HOME": "cuda/home", "ROCM_HOME": "rocm/home",
    "MUSA_HOME": "musa/home", "Hypervisor vendor": "system/hypervisor",
}
_COMPILERS = {"NVCC": "cuda/nvcc", "HIPCC": "rocm/hipcc", "MCC": "musa/mcc"}
_NAMES = """
    sglang sgl_kernel sglang-kernel flashinfer flashinfer_python flashinfer_cubin flashinfer_jit_cache triton transformers torchao numpy aiohttp fastapi
    hf_transfer huggingface_hub interegular modelscope orjson outlines packaging psutil pydantic python-multipart pyzmq uvicorn uvloop vllm xgrammar openai
    tiktoken anthropic litellm decord decord2 torchcodec requests tqdm PIL pillow zmq multipart rpyc
"""
_NEVER_ASKED = """
    nvidia-* cuda-python cuda-bindings sgl-deep-gemm sgl-deep-ep flash-attn flash-attn-4 apache-tvm-ffi quack-kernels tilelang torch-memory-saver
    compressed-tensors mooncake-transfer-engine tokenizers safetensors torchvision torchaudio
"""
_KNOWN = frozenset(_NAMES.split())


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield one stretch a dump: from ``Python:`` or the first row that only this tool prints to the last. A second ``Python:`` begins another dump."""
    at = 0
    while at < len(lines):
        if not _begins(lines, at):
            at += 1
            continue
        after = _end(lines, at)
        if any(_ALONE.match(line) for line in lines[at:after]) or sum(map(_is_own, lines[at:after])) > 1:
            yield Stretch(at, after, 0.9)
        at = after


def _begins(lines: Sequence[str], at: int) -> bool:
    if _ANCHOR.match(lines[at]):
        return True
    if _PYTHON.match(lines[at]):
        return any(_ANCHOR.match(line) for line in lines[at + 1:at + 12])
    near = lines[at:at + 8]
    return _is_known(lines[at]) and sum(map(_is_known, near)) >= FEWEST_LOOSE


def _is_own(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_ANCHOR, _ROW, _GPU_LINE, _PYTHON))


def _is_known(line: str) -> bool:
    found = _ROW.match(line)
    return found is not None and found["name"] in _KNOWN


def _end(lines: Sequence[str], first: int) -> int:
    """Return where a dump ends: at a fence, a prompt, the next dump, or where other lines begin."""
    after = at = first + 1
    others = 0
    is_build = False
    while at < len(lines) and others <= MOST_OTHER_LINES and lines[at] != FENCE and not command_of(lines[at]) and not _PYTHON.match(lines[at]):
        is_build = _BUILD.match(lines[at]) is not None and (is_build or _BUILT_WITH in lines[at - 1][-80:])
        if is_build or _is_own(lines[at]):
            after, others = at + 1, 0
        elif lines[at].strip() and not _TOPOLOGY.match(lines[at]) and not is_version(lines[at].strip()):
            others += 1
        at += 1
    is_cut = at == len(lines) and others <= 1 and not any(re.search(r":\s+\S", line) for line in lines[after:at])
    return at if is_cut else after


def parse(text: str) -> Parsed:
    """Return what the rows tell."""
    facts: dict[str, Any] = {}
    lines = text.split("\n")
    for at, line in enumerate(lines):
        is_cut = at == len(lines) - 1
        row, named = _ROW.match(line), _KEY.match(line)
        if found := _PYTHON.match(line):
            facts["python/version"] = found["version"]
        elif row and row["name"] not in ("PyTorch", *_SIMPLE):
            _add_row(facts, row["name"], row["version"], is_cut=is_cut)
        elif named:
            _add_key(facts, named["key"].strip(), named["value"].strip(), is_cut=is_cut)
    asked = sorted(name for name in _MODULES if version_path(name) in facts)
    return Parsed(facts, notes=(f"names of modules, told under their distributions' names too: {', '.join(asked)}",) if asked else ())


def _add_row(facts: dict[str, Any], name: str, version: str, *, is_cut: bool) -> None:
    if version.endswith("Not Found"):
        for one in (name, _MODULES.get(name, name)):
            facts.setdefault(version_path(one), Unknown("not_recorded", NOT_UNDER_THIS_NAME))
    elif "." in version or name in _KNOWN:
        for one in dict.fromkeys((name, _MODULES.get(name, name))):
            add_version(facts, one, told_at_end(version, is_cut=is_cut))


def _add_key(facts: dict[str, Any], key: str, value: str, *, is_cut: bool) -> None:
    gpu = _GPU.match(key)
    if gpu:
        facts.update(index_facts(gpu["indices"].split(","), "compute_capability" if gpu["is_capability"] else "name", value, is_cut=is_cut))
    elif key == "PyTorch":
        facts["torch/version"] = told_at_end(value, is_cut=is_cut)
    elif key.endswith((" Driver Version", " Driver Versions")):
        facts["driver/version"] = told_at_end(value, is_cut=is_cut) if " " not in value else Unknown("error", f"the cards tell several versions: {value}")
    elif key in _SIMPLE and value not in ("", "None") and not is_cut:
        facts[_SIMPLE[key]] = value
    elif key in _COMPILERS and (found := _TOOL.search(value)):
        facts[_COMPILERS[key]] = told_at_end(found["version"], is_cut=is_cut)
    elif key.endswith(" available") and value in ("True", "False"):
        facts["torch/cuda_available"] = value == "True" or facts.get("torch/cuda_available", False)
    elif key == "ulimit soft" and value.isdigit() and not is_cut:
        facts["limits/open_files/soft"] = int(value[:18])


FORMAT = Format(
    name="sglang-check-env", find=find, parse=parse, knows_cuts=True, looks_like="python -m sglang.check_env",
    never_prints=(
        *(f"packages/{name}/version" for name in _NEVER_ASKED.split()), "packages/*/record", "env/*", "servers/*",
        "gpus/*/holders/*", "gpus/*/memory_used_mib", "os/*", "kernel/*", "git/*", "sources/*", "nccl/*", "cudnn/*", "torch/cuda"),
)
