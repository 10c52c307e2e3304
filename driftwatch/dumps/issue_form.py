"""The environment part of an issue form or a third party's report: ``**Label**: value`` lines that a person or a script filled in.

| path | what |
|---|---|
| os/name, kernel/release, firmware/bios, driver/version, python/version, torch/version, cudnn/version, packages/NAME/version | as written; often rounded |
| packages/NAME/version | of bullets ``NAME==VERSION, NAME==VERSION (a remark)`` among such labels |
| gpus/index-N/name | of ``GPU N``, also within the value; without a number, and then their count is not known, gpus/index-unknown/name |

A value ``a -> b`` names both sides of a change: it is unknown, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.gpu_names import index_facts
from driftwatch.dumps.platforms import kernel_of
from driftwatch.dumps.rows import NAME, VERSION, add_version, told_at_end, version_path
from driftwatch.dumps.tables import tables
from driftwatch.model import Unknown

FEWEST_LABELS = 3  # two above a list of packages
MOST_OTHER_LINES = 8
_LABEL = re.compile(r"\s*(?:[-*•+]\s+)?\*\*(?P<label>[A-Za-z][\w /.()#-]{0,60}?)\s*:?\*\*\s*:?\s*(?P<value>.*)\Z")
_PLAIN = re.compile(r"\s*(?:[-*•+]\s+)?(?P<label>[A-Za-z][\w /.,()#-]{0,60}?)\s*:\s+(?P<value>\S.{0,200})\Z")
_BRACKETS = re.compile(r"\s*\([^()]{0,80}\)")
_GPU = re.compile(r"gpu #?(?P<index>\d{1,3})\Z")
_WITHIN = re.compile(r"GPU (?P<index>\d{1,3}): (?P<name>[A-Za-z][^:\n]{1,120})\Z")
_ARROW = re.compile(r"\s*(.{1,80}?)\s*(?:->|→|=>|-->)\s*(.{1,80}?)\s*\Z")
_MANY = re.compile(r"(?P<count>\d{1,4})\s?[xX*\u00d7]\s?(?P<name>[A-Za-z].{1,120})\Z")
_OS = re.compile(r"\s*(?:[-*\u2022+]\s+)(?P<label>OS/Version)(?:\([^()\n]{1,80}\))?:?\s+(?P<value>[A-Z].{1,200})\Z")
_LOOSE = re.compile(r"\s*(?:[-*\u2022+]\s+)?(?P<label>[A-Za-z][\w-]{1,30}(?: version)?)(?:\s+|\s?==?\s?)(?P<value>[vV]?\d[\w.+-]{0,60})\s*\Z")
_REQUIRED = re.compile(rf"(?P<name>{NAME})==(?P<version>{VERSION})\Z")
_PRESENT = re.compile(rf"{NAME} (?:is )?(?:present|installed)\Z")
_BULLET = re.compile(r"\s{0,8}[-*\u2022+]\s+")
_NUMBER = re.compile(r"[vV]?(?P<version>\d[\w.+-]{0,60})")
_DISTRIBUTED = re.compile(r"nvidia-(?:drivers?|open|dkms|kernel|utils)[a-z-]{0,30}[-_ ](?P<version>\d{3}\.\d{2,3}(?:\.\d\d)?)(?:[-+~]\S{0,40})?\Z")
_DRIVER = re.compile(r"\b[Dd]river (?P<version>\d[\d.]{2,20})")
_BESIDE = re.compile(r",\s*(?:CUDA|[Dd]river)\b[^|]*\Z")
_MEMORY = re.compile(r"\|\s*(?P<size>\d{3,7}) MiB")
_UNAME = re.compile(  # what uname prints, also behind the command itself
    r"(?:\$?\s{0,2}uname(?: -\w{1,9}){1,3}\s{1,4})?(?:Linux\s{1,4})?"
    r"(?:[A-Za-z][\w.-]{0,80}\s{1,4})?(?P<release>\d{1,2}\.\d{1,3}[\w.+~-]{0,100})(?:\s.{0,400})?\Z")
_LABELS = {
    "os/name": ("os", "operating system", "os version", "distribution", "operating system and version", "os and version", "os/version"),
    "kernel/release": ("kernel", "kernel version", "kernel release"), "firmware/bios": ("bios",),
    "driver/version": (
        "nvidia driver version", "nvidia driver", "driver version", "driver", "gpu driver", "gpu driver version", "nvidia open gpu kernel modules version"),
    "python/version": ("python version", "python"), "python/executable": ("python executable",),
    "platform": ("platform", "python platform"), "torch/version": ("pytorch version", "pytorch", "torch version", "torch"),
    "cudnn/version": ("cudnn version", "cudnn"), "cuda/version": ("cuda version", "cuda"), "tensorrt/version": ("tensorrt version",),
    "nccl/version": ("nccl version", "nccl"), "gpus": ("nvidia gpu", "gpu", "gpu type", "gpu model", "gpus", "gpu name", "hardware: gpu"),
    "-": ("container runtime type/version", "k8s flavor/version", "gpu operator version"),  # labels that tell a form, and nothing of the host
}
_PATHS = {label: path for path, labels in _LABELS.items() for label in labels}
_PACKAGES = ("vllm", "sglang", "transformers", "triton", "flashinfer", "numpy", "accelerate", "xformers", "tensorrt-llm", "sgl-kernel", "flash-attn", "ray")
_PART_OF = re.compile(r"(?:vllm|sglang|sgl|flashinfer)-[a-z][a-z-]{1,40}\Z")  # what is installed beside a server, or as a part of it
_TEXTS = ("os/name", "kernel/release", "firmware/bios", "python/executable")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield where three and more known labels stand near each other."""
    at = 0
    while at < len(lines):
        if not _path(lines[at]):
            at += 1
            continue
        after = here = at + 1
        labels, others = {_path(lines[at])}, 0
        while here < len(lines) and others <= MOST_OTHER_LINES and lines[here] != FENCE:
            path = _path(lines[here])
            labels |= {path}
            others = 0 if path else others + bool(lines[here].strip())
            here += 1
            after = here if path else after
        if len(labels - {""}) >= FEWEST_LABELS - _is_above_a_list(lines, after):
            yield Stretch(at, after, 0.3)
        at = after


def _is_above_a_list(lines: Sequence[str], at: int) -> bool:
    """Tell whether the next text, in the same fence, is the head of a list of packages."""
    below = next((line for line in lines[at:at + 3] if line.strip(" ")), "")
    return any(tables([below])) or below.startswith("# packages in environment at ")


def _path(line: str) -> str:
    """Return the path that a line's label, or the first of its requirements, stands for; "" where it is none."""
    required = requirements(line)
    if required:
        return version_path(required[0][0])
    found = _row(line)
    return path_of(found["label"]) if found else ""


def _row(line: str) -> re.Match[str] | None:
    return _LABEL.match(line) or _PLAIN.match(line) or _LOOSE.match(line) or _OS.match(line)


def requirements(line: str) -> list[tuple[str, str]]:
    """Return name and version of each ``NAME==VERSION`` of a bulleted line, apart from what stands in brackets; none where other words stand among them."""
    bullet = _BULLET.match(line) if "==" in line[:400] else None
    parts = [part.strip(" `.") for part in _BRACKETS.sub("", line[bullet.end():400]).split(",")] if bullet else []
    found = [one for one in map(_REQUIRED.match, parts) if one]
    is_list = all(_REQUIRED.match(part) or _PRESENT.match(part) for part in parts)
    return [(one["name"], one["version"]) for one in found] if is_list else []


def path_of(label: str) -> str:
    """Return the path that a label stands for, as a person wrote it; "" where it is none."""
    name = _BRACKETS.sub("", label).strip().lower()
    if _GPU.match(name):
        return f"gpus/index-{int(name.rpartition(' ')[2].lstrip('#'))}"
    bare = name.removesuffix(" version").replace("_", "-")
    return f"packages/{bare}/version" if bare in _PACKAGES or _PART_OF.match(bare) else _PATHS.get(name, "")


def parse(text: str) -> Parsed:
    """Return what the labels say."""
    facts: dict[str, Any] = {}
    both: list[str] = []
    lines = text.split("\n")
    for at, line in enumerate(lines):
        required = requirements(line)
        for number, (name, version) in enumerate(required):
            add_version(facts, name, told_at_end(version, is_cut=at == len(lines) - 1 and number == len(required) - 1))
        found = _row(line) if not required else None
        path = path_of(found["label"]) if found else ""
        if found and path and found["value"].strip():
            add(facts, path, found["value"].strip(" *`"), is_cut=at == len(lines) - 1)
            both += [found["label"]] if _ARROW.match(found["value"]) else []
    return Parsed(facts, notes=(f"one text tells both sides of a change: {', '.join(both)}",) if both else ())


def add(facts: dict[str, Any], path: str, value: str, *, is_cut: bool) -> None:
    """Add what a value that a person wrote tells of the thing at a path."""
    arrow = _ARROW.match(value)
    if arrow:
        facts[path] = Unknown("error", f"the text tells two values: {arrow[1]} and {arrow[2]}")
    elif path.startswith("gpus"):
        many = _MANY.match(value) if path == "gpus" else None
        facts.update({"gpus/count": int(many["count"])} if many else {})
        _add_gpu(facts, path, many["name"] if many else value, is_cut=is_cut)
    elif path == "platform":
        facts.update({} if is_cut else kernel_of(value))
    elif path in _TEXTS:
        uname = _UNAME.match(value) if path == "kernel/release" else None
        facts.update({} if is_cut else {path: uname["release"] if uname else value})
    elif path != "-" and (found := _NUMBER.match(value) or (_DISTRIBUTED.match(value) if path == "driver/version" else None)) and found["version"] != "0":
        facts[path] = _one(facts.get(path), told_at_end(found["version"], is_cut=is_cut))


def _one(before: Any, told: Any) -> Any:
    """Return the one version of two that were told for a thing, the fuller of one and the same; Unknown where they differ."""
    if before is None or isinstance(told, Unknown):
        return before or told
    short, long = sorted((str(before), str(told)), key=len)
    return long if isinstance(before, str) and long.startswith(short) else Unknown("error", f"the text tells two values: {before} and {told}")


def _add_gpu(facts: dict[str, Any], path: str, value: str, *, is_cut: bool) -> None:
    """Add a GPU's name and, where they stand behind it, its memory and the driver."""
    beside = _BESIDE.search(value)
    name, bar, rest = _BESIDE.sub("", value).partition(" | ")
    rest += beside.group() if beside else ""
    within = _WITHIN.match(name) if path == "gpus" else None
    index, name = (within["index"], within["name"]) if within else (path.rpartition("-")[2] if "index-" in path else "", name)
    is_short = is_cut and not bar
    if index:
        facts.update(index_facts([index], "name", name, is_cut=is_short))
        memory = _MEMORY.search(bar + rest)
        facts.update({f"gpus/index-{index}/memory_total_mib": int(memory["size"])} if memory else {})
    elif not is_short:
        facts["gpus/index-unknown/name"] = name
    if (driver := _DRIVER.search(rest)) and not facts.get("driver/version"):
        facts["driver/version"] = told_at_end(driver["version"], is_cut=is_cut and rest.endswith(driver["version"]))


FORMAT = Format(name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="the environment part of an issue form (**Label**: value)")
