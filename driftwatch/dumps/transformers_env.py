"""``transformers env`` and its sisters (``diffusers-cli env``, ``accelerate env``): a list of ``- NAME version: VALUE``.

A list that lost its bullets is known by the rows that only this tool prints (``PyTorch version (GPU?)``), and has no others.

| path | what |
|---|---|
| packages/NAME/version | as printed; absent where it says "not installed" |
| torch/version | of the PyTorch line |
| python/version, kernel/release | |
| gpus/index-0/name … | of the GPU type line, where it has one |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.platforms import kernel_of
from driftwatch.dumps.rows import add_version, is_version, told_at_end, version_path

_ROW = re.compile(r"\s*[-*•]\s+(?:🤗\s*)?`?(?P<key>[A-Za-z][\w .?/()`-]{0,80}?)`?\s*:\s*(?P<value>.*)\Z")
_ANCHOR = re.compile(
    r"\s*[-*•]\s+(?:🤗\s*)?`?(?:transformers|diffusers|accelerate|peft|huggingface[-_ ]hub|trl|datasets|deepspeed)`? version\s*:", re.IGNORECASE)
_BARE = re.compile(
    r"\s{0,4}(?P<key>Platform|Python version|Huggingface_hub version|PyTorch version \(GPU\?\)|Tensorflow version \(GPU\?\)|Flax version \(CPU\?/GPU\?/TPU\?\)"
    r"|Jax version|JaxLib version|(?:Safetensors|Accelerate|DeepSpeed|[Tt]ransformers|[Dd]iffusers) version)\s*:\s*(?P<value>.*)\Z")
_OWN = re.compile(r"\s{0,4}(?:PyTorch version \(GPU\?\)|Huggingface_hub version)\s*:")
_FEWEST_BARE = 4
_NAMES = {"pytorch": "torch", "huggingface hub": "huggingface-hub", "huggingface_hub": "huggingface-hub", "hf hub": "huggingface-hub"}
_HUBS = frozenset((  # rows of huggingface_hub's tool, which asks the metadata for these alone
    "fastai", "tensorflow", "torch", "jinja2", "graphviz", "keras", "pydot", "pillow", "hf_transfer", "hf_xet", "gradio", "tensorboard", "numpy", "pydantic",
    "aiohttp", "httpx"))
_MOST_GPUS = 64
_FIRST = re.compile(r"[^\s(]+")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the bulleted list around a line that names transformers' or a sister's version, and lists without bullets."""
    at = 0
    while at < len(lines):
        if not _ANCHOR.match(lines[at]):
            after = _bare_end(lines, at)
            if after > at:
                yield Stretch(at, after, 0.95)
            at = max(after, at + 1)
            continue
        first = after = at
        while first > 0 and _ROW.match(lines[first - 1]):
            first -= 1
        while after < len(lines) and lines[after] != FENCE and (_ROW.match(lines[after]) or lines[after].startswith(("\t", "  "))):
            after += 1
        yield Stretch(first, after, 0.95)
        at = after


def _bare_end(lines: Sequence[str], at: int) -> int:
    """Return where a list without bullets ends that begins at a line; the line itself where none does."""
    after = at
    while after < len(lines) and _BARE.match(lines[after][:200]):
        after += 1
    return after if after - at >= _FEWEST_BARE and any(map(_OWN.match, lines[at:after])) else at


def parse(text: str) -> Parsed:
    """Return what the list tells."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        found = _ROW.match(line) or _BARE.match(line)
        if found:
            _add(facts, found["key"].replace("`", ""), found["value"].strip(), is_cut=at == len(lines) - 1)
    return Parsed(facts)


def _add(facts: dict[str, Any], key: str, value: str, *, is_cut: bool) -> None:
    name, is_row, _ = key.partition(" version")
    name = name.strip().lower()
    if key == "Platform" and not is_cut:
        facts.update(kernel_of(value))
    elif name == "python" and is_row and is_version(_word(value)):
        facts["python/version"] = told_at_end(_word(value), is_cut=is_cut)
    elif key.lower() in ("gpu type", "using gpu type", "accelerator") and value and not is_cut and not value.startswith("<"):
        facts["gpus/index-0/name"] = re.sub(r", \d+ MiB.*", "", value)
    elif key.lower() == "cuda device(s)" and value and not is_cut:
        names = value.split(", ")[:_MOST_GPUS]
        facts.update({f"gpus/index-{index}/name": one for index, one in enumerate(names) if not one.lower().startswith("not")})
    elif key.lower() in ("gpu number", "number of gpus") and value.isdigit() and not is_cut:
        facts["gpus/count"] = int(value[:6])
    elif key.lower() in _HUBS and value == "N/A":
        facts[version_path(key)] = None
    elif is_row or key.lower() in _HUBS:
        _add_package(facts, _NAMES.get(name, name), value, is_cut=is_cut)


def _add_package(facts: dict[str, Any], name: str, value: str, *, is_cut: bool) -> None:
    if value.lower().startswith(("not installed", "not found")) and " " not in name:
        facts[version_path(name)] = None
    elif is_version(_word(value)) and " " not in name:
        version = told_at_end(_word(value), is_cut=is_cut)
        add_version(facts, name, version)
        facts.update({"torch/version": version} if name == "torch" else {})


def _word(value: str) -> str:
    found = _FIRST.match(value)
    return found.group() if found else ""


FORMAT = Format(
    name="transformers-env", find=find, parse=parse, knows_cuts=True, looks_like="transformers env (- `transformers` version: ...)",
    marks=(" version", "` version"),
    never_prints=("driver/*", "env/*", "servers/*", "cuda/*", "nccl/*", "packages/sglang/*", "packages/vllm/*", "packages/*/record"),
)
