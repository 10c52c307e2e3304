"""``python -m xformers.info``. Imports xFormers and torch, and asks torch for the device that it would use.

| path | what |
|---|---|
| packages/xformers/version | as imported |
| torch/version | as imported: of the ``pytorch.version`` row, or of "(you have ...)" where xFormers' own extension does not load |
| python/version | only of such a complaint |
| gpus/index-0/name, compute_capability | of the device that torch would use, so CUDA_VISIBLE_DEVICES shows |
| packages/xformers/built_for/{torch,cuda,python} | what the wheel was built for, which tells nothing of this host |
| packages/xformers/operators/NAME | available or unavailable |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import VERSION, command_of, is_version, version_path
from driftwatch.model import Unknown

MOST_OTHER_LINES = 4
BUILT_FOR = "packages/xformers/built_for/"
_TITLE = re.compile(rf"\s*xFormers (?P<version>{VERSION})\s*\Z")
_ROW = re.compile(r"\s*(?P<key>[A-Za-z][\w.@]{1,100}): {0,60}(?P<value>.{0,300})\Z")
_MINE = re.compile(
    r"(?:memory_efficient_attention|swiglu|indexing|sp24|sequence_parallel|is_triton_available|is_functorch_available|pytorch|gpu|build|source)\b")
_OF_OTHERS = ("pytorch.", "gpu.", "build.", "source.")
_COMPLAINT = re.compile(r"[^\n]{0,200}xFormers was built for:\s*\Z")
_TORCH = re.compile(rf"\s*PyTorch\s{{1,4}}(?P<built>{VERSION}) with CUDA (?P<cuda>\d{{3,5}}|None) \(you have (?P<have>{VERSION})(?P<end>\)?)")
_PYTHON = re.compile(rf"\s*Python\s{{1,4}}(?P<built>{VERSION}) \(you have (?P<have>{VERSION})(?P<end>\)?)")
_BUILT = {"build.torch_version": "torch", "build.python_version": "python", "build.cuda_version": "cuda"}


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each report, with the complaint above it where there is one; rows without their title are known from three on."""
    at = 0
    while at < len(lines):
        if not (_TITLE.match(lines[at]) or _COMPLAINT.match(lines[at][:300]) or _is_own_row(lines[at])):
            at += 1
            continue
        after = _end(lines, at)
        if _TITLE.match(lines[at]) or _COMPLAINT.match(lines[at][:300]) or sum(map(_is_own_row, lines[at:after])) >= 3:
            yield Stretch(at, after, 0.96)
        at = after


def _is_own_row(line: str) -> bool:
    found = _ROW.match(line)
    return found is not None and _MINE.match(found["key"]) is not None and "." in found["key"]


def _end(lines: Sequence[str], at: int) -> int:
    after, here, others = at + 1, at + 1, 0
    while here < len(lines) and others <= MOST_OTHER_LINES and lines[here] != FENCE and not command_of(lines[here]):
        row = _ROW.match(lines[here])
        is_mine = (row is not None and _MINE.match(row["key"]) is not None) or any(one.match(lines[here]) for one in (_TITLE, _TORCH, _PYTHON))
        after, others = (here + 1, 0) if is_mine else (after, others + 1)
        here += 1
    return after


def parse(text: str) -> Parsed:
    """Return what the rows tell."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        is_cut = at == len(lines) - 1
        if title := _TITLE.match(line):
            facts[version_path("xformers")] = _open_end(title["version"]) if is_cut else title["version"]
        elif (found := _TORCH.match(line) or _PYTHON.match(line)) and not is_cut:
            facts.update(_have(found.groupdict()))
        elif (row := _ROW.match(line)) and not is_cut:
            _add(facts, row["key"], row["value"].strip())
    return Parsed(facts)


def _have(found: Mapping[str, str | None]) -> Iterator[tuple[str, Any]]:
    """Yield what a complaint says that the wheel was built for, and what is installed."""
    name = "torch" if "cuda" in found else "python"
    yield BUILT_FOR + name, found["built"]
    if "cuda" in found:
        yield BUILT_FOR + "cuda", _dotted(str(found["cuda"]))
    yield f"{name}/version", found["have"] if found["end"] else _open_end(str(found["have"]))


def _open_end(version: str) -> Unknown:
    return Unknown("error", f"the text ends in its row, at {version!r}")


def _add(facts: dict[str, Any], key: str, value: str) -> None:
    if key == "pytorch.version" and is_version(value):
        facts["torch/version"] = value
    elif key == "gpu.name" and value:
        facts["gpus/index-0/name"] = value
    elif key == "gpu.compute_capability" and value:
        facts["gpus/index-0/compute_capability"] = value
    elif key in _BUILT and value and value != "None":
        facts[BUILT_FOR + _BUILT[key]] = _dotted(value) if key == "build.cuda_version" else value
    elif not key.startswith(_OF_OTHERS) and value in ("available", "unavailable", "True", "False"):
        facts[fact_path("packages", "xformers", "operators", key)] = "available" if value in ("available", "True") else "unavailable"


def _dotted(number: str) -> str:
    """Return CUDA's number 1201 as 12.1; anything else as it is."""
    return f"{int(number) // 100}.{int(number) % 100}" if number.isdigit() and len(number) > 2 else number


FORMAT = Format(
    name="xformers-info", find=find, parse=parse, knows_cuts=True, looks_like="python -m xformers.info",
    marks=("xFormers ", "memory_efficient_attention."),
    never_prints=(
        "packages/sglang/version", "packages/vllm/version", "packages/sgl-kernel/version", "packages/flashinfer-*/version", "packages/transformers/version",
        "driver/*", "env/*", "servers/*", "os/*", "kernel/*", "cuda/*", "nccl/*", "packages/*/record"),
)
