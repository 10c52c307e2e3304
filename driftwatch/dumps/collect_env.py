"""What ``torch.utils.collect_env`` and vLLM's tool that grew out of it have in common: keys, GPU lists, rows of pip and conda. Pure text.

Two layouts: ``Key: value`` blocks set apart by empty lines, and (vLLM since 0.9) ``Key      : value`` below titles between rules of ``=``.
"Could not collect" is no answer; "N/A" and "No CUDA" say which build it is, or that torch could not be imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Stretch
from driftwatch.dumps.gpu_names import index_facts
from driftwatch.dumps.platforms import kernel_of, os_name
from driftwatch.dumps.rows import NAME, VERSION, add_version, command_of, package, told_at_end, version_path
from driftwatch.model import Unknown

OPENING = "Collecting environment information..."
SILENT = ("Could not collect", "N/A", "No CUDA", "None", "")
RULE = re.compile(r"\s*={20,}\s*\Z")
_KEYS = {
    "PyTorch version": "torch/version", "Is debug build": "torch/debug", "CUDA used to build PyTorch": "torch/cuda",
    "ROCM used to build PyTorch": "torch/hip", "XPU used to build PyTorch": "torch/xpu", "OS": "os/name", "GCC version": "toolchain/gcc",
    "Clang version": "toolchain/clang", "CMake version": "toolchain/cmake", "Libc version": "libc/version", "Python version": "python/version",
    "Python platform": "kernel/release", "Is CUDA available": "torch/cuda_available", "CUDA runtime version": "cuda/runtime",
    "CUDA_MODULE_LOADING set to": "torch/cuda_module_loading", "GPU models and configuration": "gpus", "Nvidia driver version": "driver/version",
    "cuDNN version": "cudnn/version", "HIP runtime version": "hip/runtime", "MIOpen runtime version": "miopen/version",
    "Is XPU available": "torch/xpu_available", "Is XNNPACK available": "torch/xnnpack", "Caching allocator config": "torch/allocator_config",
    "ROCM Version": "rocm/version", "Neuron SDK Version": "neuron/version", "vLLM Version": "vllm", "vLLM Ascend Version": "vllm-ascend",
    "vLLM Build Flags": "vllm/build_flags",
    "Intel GPU models": "gpus", "XPU runtime version": "xpu/runtime", "Intel GPU driver version": "driver/version",
    "NCCL version": "nccl/version", "Intel GPU models onboard": "cards", "Intel GPU models detected": "cards",
    "GPU Topology": "topology", "Model name": "system/cpu/model", "CPU(s)": "system/cpu/count", "Hypervisor vendor": "system/hypervisor", "CPU": "cpu",
}
_OTHERS = {"models and configuration": "gpus", "driver version": "driver/version"}  # behind the name of another maker, or of his card
_OTHER = r"[A-Z][\w/()-]{1,20}(?: [A-Z][\w/]{1,20}){0,2} (?:models and configuration|driver version)"
_KEY = re.compile(r"\s*(?P<key>" + "|".join([*map(re.escape, sorted(_KEYS, key=len, reverse=True)), _OTHER]) + r")\s{0,60}:(?:\s(?P<value>.*))?\Z")
PIP = re.compile(rf"\s*\[pip3?\]\s+(?P<name>{NAME})==(?P<version>{VERSION})\s*\Z")
_LISTED_WORDS = ("torch", "numpy", "triton", "optree", "onnx", "nccl", "transformers", "zmq", "nvidia", "flashinfer")  # pytorch's and vLLM's collect_env.py
CONDA = re.compile(rf"\s*\[conda\]\s+(?P<name>{NAME})\s+(?P<version>{VERSION})(?:\s+(?P<build>\S+)(?:\s+\S+)?)?\s*\Z")
_NO_ROWS = re.compile(r"\s*\[(?:pip3?|conda)\]\s")
_GPU = re.compile(r"\s*(?:GPU|XPU|NPU|HPU|MLU|GCU) (?P<index>\d{1,4}): (?P<name>\S.{0,200})\Z")
_CARD = re.compile(r"\s*\* \[(?P<index>\d{1,4})\] _\w{1,40}\(name='(?P<name>[^']{1,120})'")
_INTEL_DRIVER = re.compile(r"\s*\*\s+(?P<version>\d[\w.+~-]{2,60})(?:\s+\(.{0,80})?\s*\Z")
_REMARK = re.compile(r"(?<=\d) \([A-Za-z]{1,20}\)\Z")  # a form's own, such as (GPU)
_OPENED = re.compile(r"[(\[]")
_CLOSED = re.compile(r"[)\]]")
NOT_COLLECTED = "Could not collect"
LONGEST_WRAPPED = 400
_CUDNN = re.compile(r"\s*(?P<path>(?:/|[A-Z]:\\)\S*cudnn\S*)\s*\Z")
_PYTHON = re.compile(r"(?P<version>\d+\.\d+\.?\w*)")
_VLLM_VERSION = re.compile(r"(?P<version>[^\s@]+)(?:(?: \(git sha: |@)(?P<commit>[0-9a-f]{6,40}))?")
_STRONG = (
    "PyTorch version", "CUDA used to build PyTorch", "vLLM Version", "vLLM Build Flags", "GPU models and configuration", "CUDA runtime version",
    "Is XNNPACK available")
MARKS = (*_STRONG, OPENING, "[pip", "[conda]")
_CHECKED = frozenset({"torch/version", "cuda/runtime", "driver/version", "hip/runtime", "miopen/version", "rocm/version", "torch/cuda", "torch/hip"})


def segments(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where a dump may stand: what lies between fences, prompts and opening lines."""
    first = 0
    for at, line in enumerate(lines):
        if line == FENCE or line.strip().startswith(OPENING) or command_of(line):
            yield first, at
            first = at
    yield first, len(lines)


def find(lines: Sequence[str], is_mine: Callable[[Sequence[str]], bool]) -> Iterator[Stretch]:
    """Yield the dumps that one of the two tools made, told by ``is_mine`` of their lines."""
    for first, after in segments(lines):
        known = [at for at in range(first, after) if is_known(lines[at])]
        strong = sum(is_strong(lines[at]) for at in known)
        if strong and is_mine(lines[first:after]):
            last = max(at for at in range(known[-1], after) if at == known[-1] or any(one.match(lines[at]) for one in (_GPU, _CUDNN, _CARD)))
            is_open = _is_cut_there(lines, last, after) or any(line.startswith("Traceback (most recent") for line in lines[first:after])
            yield Stretch(known[0], after if is_open else last + 1, 0.9 if strong > 1 else 0.7)


def _is_cut_there(lines: Sequence[str], last: int, after: int) -> bool:
    """Tell whether at most one line follows the last known one, where the paste ends: the rest of a dump that was cut."""
    return after == len(lines) and sum(bool(line.strip()) for line in lines[last + 1:after]) <= 1


def is_known(line: str) -> bool:
    """Tell whether a line is one that these tools print."""
    return any(one.match(line) for one in (_KEY, PIP, CONDA, _NO_ROWS)) or line.strip().startswith(OPENING)


def is_strong(line: str) -> bool:
    """Tell whether a line is one that hardly anything else prints."""
    found = _KEY.match(line)
    return _NO_ROWS.match(line) is not None or line.strip().startswith(OPENING) or (found is not None and found["key"] in _STRONG)


def rows(text: str) -> dict[str, Any]:
    """Return the facts of all keys, lists and rows in a dump."""
    facts: dict[str, Any] = {}
    lines = _rejoined(text.split("\n"))
    key = ""
    for at, line in enumerate(lines):
        is_cut = at == len(lines) - 1 and bool(line)
        named = _KEY.match(line)
        if named:
            key = named["key"]
            _add(facts, key, (named["value"] or "").strip(), is_cut=is_cut)
        elif not _add_row(facts, line, is_cut=is_cut, is_last=not any(map(str.strip, lines[at + 1:at + 3]))):
            _add_below(facts, key, line, is_cut=is_cut)
    return facts | failed_tool(text)


def _rejoined(lines: Sequence[str]) -> list[str]:
    """Return lines with the value joined again that a mail program wrapped inside its brackets: the next line is no key and closes them."""
    joined: list[str] = []
    for line in lines:
        before = joined[-1][:LONGEST_WRAPPED] if joined else ""
        opened = len(_OPENED.findall(before)) - len(_CLOSED.findall(before))
        closed = len(_CLOSED.findall(line)) - len(_OPENED.findall(line))
        if opened > 0 and closed > 0 and len(before) < LONGEST_WRAPPED and _KEY.match(before) and not is_known(line):
            joined[-1] = f"{before.rstrip()} {line.strip()}"
        else:
            joined.append(line)
    return joined


def _path_of(key: str) -> str:
    return _KEYS.get(key) or next(path for end, path in _OTHERS.items() if key.endswith(end))


def _add(facts: dict[str, Any], key: str, value: str, *, is_cut: bool) -> None:
    """Add what a key tells. What the tool could not find out is unknown, not absent; a cut piece of these words is no value either."""
    path = _path_of(key)
    if path in ("topology", "cpu", "cards", "vllm/build_flags"):
        return
    value = NOT_COLLECTED if value and NOT_COLLECTED.startswith(value) else value
    if value in SILENT or value.startswith(NOT_COLLECTED):
        if value not in ("", "N/A", "No CUDA", "None"):
            facts[path] = Unknown("error", f"{key}: {value}")
        elif path == "torch/version" and value:
            facts[path] = Unknown("error", f"{key}: {value}: torch could not be imported")
        return
    facts.update(_told(path, value, is_cut=is_cut))


def _told(path: str, value: str, *, is_cut: bool) -> dict[str, Any]:
    special = _SPECIAL.get(path)
    if special is not None:
        return special(value, is_cut)
    if path in _CHECKED:
        value = _REMARK.sub("", value)
        return {path: told_at_end(value, is_cut=is_cut)}
    return {} if is_cut else {path: {"True": True, "False": False}.get(value, value)}


def _python(value: str, is_cut: bool) -> dict[str, Any]:  # noqa: FBT001  # all of _SPECIAL are called alike
    found = _PYTHON.match(value)
    return {"python/version": found["version"]} if found and not (is_cut and found.end() == len(value)) else {}


def _gpu(value: str, is_cut: bool) -> dict[str, Any]:  # noqa: FBT001  # as above
    """Return the GPU that stands behind the key itself: with its index, or (ROCm, or one alone) without, and then their number is not known."""
    found = _GPU.match(value)
    if found:
        return index_facts([found["index"]], "name", found["name"], is_cut=is_cut)
    return {} if is_cut else {"gpus/index-unknown/name": value}


def _cudnn(value: str, is_cut: bool) -> dict[str, Any]:  # noqa: FBT001  # as above
    if value.startswith("Probably one of") or is_cut:
        return {}
    return {"cudnn/on_disk": [value]} if "/" in value or "\\" in value else {"cudnn/version": value}


def _vllm(value: str, is_cut: bool) -> dict[str, Any]:  # noqa: FBT001  # as above
    return _built("vllm", value, is_cut=is_cut)


def _built(name: str, value: str, *, is_cut: bool) -> dict[str, Any]:
    """Return the version of a package, and the commit that it was built from where that stands behind it."""
    found = _VLLM_VERSION.match(value)
    if not found:
        return {}
    version = told_at_end(found["version"], is_cut=is_cut and found.end() == len(value))
    return {version_path(name): version, **({package(name, "commit"): found["commit"]} if found["commit"] else {})}


def _cpus(value: str, is_cut: bool) -> dict[str, Any]:  # noqa: FBT001  # as above
    return {"system/cpu/count": int(value[:6])} if value.isdigit() and not is_cut else {}


_SPECIAL: dict[str, Callable[[str, bool], dict[str, Any]]] = {
    "neuron/version": lambda value, is_cut: {} if is_cut or value.startswith("(") else {"neuron/version": value},
    "vllm-ascend": lambda value, is_cut: _built("vllm-ascend", value, is_cut=is_cut),
    "python/version": _python, "gpus": _gpu, "cudnn/version": _cudnn, "vllm": _vllm, "system/cpu/count": _cpus,
    "kernel/release": lambda value, is_cut: {} if is_cut else dict(kernel_of(value)),
    "os/name": lambda value, is_cut: {} if is_cut else {"os/name": os_name(value)},
    "libc/version": lambda value, is_cut: {} if is_cut else {"libc/version": value.removeprefix("glibc-")},
}


def _add_row(facts: dict[str, Any], line: str, *, is_cut: bool, is_last: bool) -> bool:
    """Add a row of pip or conda; False where the line is none. The last one of a text may be a piece of what an earlier row told whole."""
    found = PIP.match(line) or CONDA.match(line)
    if found is None:
        return False
    has_more = bool(found.groupdict().get("build"))
    version = told_at_end(found["version"], is_cut=is_cut and not has_more)
    before = facts.get(version_path(found["name"]))
    if is_last and not has_more and isinstance(before, str) and before.startswith(found["version"]):
        version = before
    add_version(facts, found["name"], version)
    return True


def _add_below(facts: dict[str, Any], key: str, line: str, *, is_cut: bool) -> None:
    """Add what a further line below a key tells: one more GPU, one more cuDNN file that may be the one."""
    gpu, file = _GPU.match(line), _CUDNN.match(line)
    card = _CARD.match(line)
    intel = _INTEL_DRIVER.match(line) if key == "Intel GPU driver version" else None
    if intel:
        facts.update(_one_driver(facts, told_at_end(intel["version"], is_cut=is_cut)))
    elif card:
        facts.update(index_facts([card["index"]], "name", card["name"]))
    elif gpu and key and _path_of(key) == "gpus":
        facts.update(index_facts([gpu["index"]], "name", gpu["name"], is_cut=is_cut))
    elif file and key == "cuDNN version" and not is_cut:
        facts.setdefault("cudnn/on_disk", []).append(file["path"])


def _one_driver(facts: Mapping[str, Any], version: Any) -> dict[str, Any]:
    """Return the driver's version; open where the cards have several."""
    before = facts.get("driver/version", version)
    return {"driver/version": version if before == version else Unknown("error", f"the cards tell several versions: {before} and {version}")}


def failed_tool(text: str) -> dict[str, Any]:
    """Return the Python's version that the traceback of a tool that failed shows, as far as a path tells it."""
    if "Traceback (most recent call last)" not in text or "PyTorch version" in text:
        return {}
    found = re.search(r'File "[^"\n]{0,300}/python(\d\.\d{1,2})/runpy\.py"', text)
    return {"python/version": found[1]} if found else {}


def listed_whole(text: str, *together: tuple[str, str]) -> tuple[str, ...]:
    """Return the globs of the versions that the rows of pip tell whole: of names with a word of which at least one row is there.

    The tools list what bears one of some words, more of them in each release: a row shows that its release has the word. ``together`` names words that
    came in one release. Nothing is whole where another line stands between the rows (``...``), or none follows the last: there some may have been cut.
    """
    lines = text.split("\n")
    rows = {at: row["name"].lower() for at, line in enumerate(lines) if (row := PIP.match(line))}
    if not rows or not any(line.strip() for line in lines[max(rows) + 1:]) or not all(map(_NO_ROWS.match, lines[min(rows):max(rows)])):
        return ()
    shown = {word for word in _LISTED_WORDS if any(word in name for name in rows.values())}
    shown |= {word for word, other in together if any(other in name for name in rows.values())}
    return tuple(f"packages/*{word}*/version" for word in sorted(shown))
