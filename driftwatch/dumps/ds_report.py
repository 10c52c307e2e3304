"""DeepSpeed's ``ds_report`` (``python -m deepspeed.env_report``). Imports torch and DeepSpeed, asks nvcc, and looks whether each of its operators can be built.

| path | what |
|---|---|
| torch/version, torch/cuda, torch/hip | as imported |
| packages/deepspeed/version | as imported |
| packages/NAME/location | of torch and deepspeed: the folder that their imported package lies in |
| cuda/nvcc | as nvcc says; unknown where DeepSpeed could not ask it |
| shm/size_text | the size of /dev/shm as printed, rounded |
| deepspeed/accelerator | the kind of device that DeepSpeed chose, where its log line stands in the report |
| deepspeed/ninja | whether operators can be built at run time |
| deepspeed/ops/NAME | {"installed", "compatible"}; an operator is no package |

What the wheel was compiled with is told as packages/deepspeed/built_with, as printed: ``torch 0.0`` means that nothing was compiled in advance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import VERSION, add_version, command_of
from driftwatch.model import Unknown

MOST_OTHER_LINES = 12
MARKS = ("extension op report", "general environment info:", "op name ......", "deepspeed info ......")
_CHOSEN = re.compile(r"[^\n]{0,200}\bSetting (?:ds_)?accelerator to (?P<kind>[a-z]{2,12})(?: \((?:auto detect|model specified)\))?\s*\Z")
_OP = re.compile(r"\s*(?P<name>[A-Za-z_][\w-]{0,60}) [ .]{0,40}?\[(?P<installed>YES|NO)\] \.{2,30} \[(?P<compatible>OKAY|NO|YES|FAIL)\]\s*\Z")
_NINJA = re.compile(r"\s*ninja \.{2,30} ?\[(?P<told>OKAY|FAIL)\]\s*\Z")
_ROW = re.compile(r"\s*(?P<key>[a-z][a-z0-9 ()/.]{2,40}?) \.{2,40} ?(?P<value>\S.{0,300}|)\Z")
_FOLDER = re.compile(r"\['(?P<folder>[^']{1,300})/[\w-]{1,60}'\]\Z")
_LEADING = re.compile(VERSION)
_PATHS = {"torch version": "torch/version", "torch cuda version": "torch/cuda", "torch hip version": "torch/hip", "nvcc version": "cuda/nvcc"}
_FOLDERS = {"torch install path": "torch", "deepspeed install path": "deepspeed"}


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each report from its title, or the line that chose the device, to its last row."""
    at = 0
    while at < len(lines):
        if not any(mark in lines[at][:200] for mark in MARKS):
            at += 1
            continue
        after = _end(lines, at)
        yield Stretch(_first(lines, at), after, 0.96)
        at = after


def _first(lines: Sequence[str], at: int) -> int:
    """Return where a report begins: at the line above its title that tells the device, of the few that may stand there."""
    while at > 0 and _is_row(lines[at - 1]):  # a report without its title begins in its rows
        at -= 1
    above = (one for one in range(at - 1, max(-1, at - 6), -1))
    return next((one for one in above if _CHOSEN.match(lines[one][:400])), at)


def _end(lines: Sequence[str], at: int) -> int:
    after, here, others = at + 1, at + 1, 0
    while here < len(lines) and others <= MOST_OTHER_LINES and lines[here] != FENCE and not command_of(lines[here]):
        is_mine = _is_row(lines[here])
        after, others = (here + 1, 0) if is_mine else (after, others + bool(lines[here].strip()))
        here += 1
    return after


def _is_row(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_OP, _NINJA, _ROW)) or any(mark in line[:200] for mark in MARKS)


def parse(text: str) -> Parsed:
    """Return what the rows tell; of a last one that was cut only what cannot be longer."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        is_cut = at == len(lines) - 1
        if chosen := _CHOSEN.match(line[:400]):
            facts["deepspeed/accelerator"] = chosen["kind"].lower()
        elif ninja := _NINJA.match(line):
            facts["deepspeed/ninja"] = ninja["told"] == "OKAY"
        elif op := _OP.match(line):
            facts[fact_path("deepspeed", "ops", op["name"])] = {"installed": op["installed"] == "YES", "compatible": op["compatible"] in ("OKAY", "YES")}
        elif row := _ROW.match(line):
            _add(facts, row["key"].strip(), row["value"].strip(), is_cut=is_cut)
    is_told = any(path.startswith(("torch/", "packages/")) for path in facts)
    return Parsed(facts, notes=() if is_told else ("ds_report: no version is told, the text ends before or in its first row",))


def _add(facts: dict[str, Any], key: str, value: str, *, is_cut: bool) -> None:
    if key in _PATHS:
        facts[_PATHS[key]] = _version(value, is_cut=is_cut)
    elif key == "deepspeed info" and (found := _LEADING.match(value)):
        add_version(facts, "deepspeed", _open_end(value) if is_cut and "," not in value else found.group())
    elif key in _FOLDERS and (folder := _FOLDER.match(value)):
        facts[fact_path("packages", _FOLDERS[key], "location")] = folder["folder"]
    elif key == "deepspeed wheel compiled w." and value and not is_cut:
        facts["packages/deepspeed/built_with"] = value
    elif key == "shared memory (/dev/shm) size" and value and not is_cut:
        facts["shm/size_text"] = value.partition("[")[0].strip()


def _version(value: str, *, is_cut: bool) -> Any:
    """Return a version, None for what torch says it has not, and Unknown for what could not be asked."""
    if value in ("None", "N/A") and not is_cut:
        return None
    found = _LEADING.match(value)
    if found is None:
        return Unknown("error", f"ds_report says {value[:60]!r} in place of a version")
    return _open_end(value) if is_cut else found.group()


def _open_end(value: str) -> Unknown:
    return Unknown("error", f"the text ends in its row, at {value[-40:]!r}")


FORMAT = Format(
    name="ds-report", find=find, parse=parse, knows_cuts=True, looks_like="ds_report (DeepSpeed)", marks=MARKS,
    never_prints=(
        "packages/sglang/version", "packages/vllm/version", "packages/sgl-kernel/version", "packages/flashinfer-*/version", "packages/transformers/version",
        "driver/*", "gpus/*", "env/*", "servers/*", "os/*", "kernel/*", "python/*", "nccl/*", "packages/*/record"),
)
