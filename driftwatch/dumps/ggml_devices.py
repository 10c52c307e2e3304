"""The cards that ggml (llama.cpp, Ollama, whisper.cpp) finds when it starts: ``  Device 0: NVIDIA GeForce RTX 4070, compute capability 8.9, VMM: yes``.

| path | what |
|---|---|
| gpus/index-N/name, compute_capability | as CUDA or HIP counts, so CUDA_VISIBLE_DEVICES shows; of AMD's cards the name alone |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.gpu_names import index_facts

_DEVICE = re.compile(
    r"(?:.{0,80}\s)?Device (?P<index>\d{1,3}): (?P<name>[A-Z][^,\n]{1,100}), "
    r"(?:compute capability (?P<capability>\d{1,2}\.\d)|gfx\w{3,8} \(0x\w{1,8}\)), VMM: (?:yes|no)\b")
_LONGEST = 400


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each such line."""
    yield from (Stretch(at, at + 1, 0.9) for at, line in enumerate(lines) if "Device " in line[:_LONGEST] and _DEVICE.match(line[:_LONGEST]))


def parse(text: str) -> Parsed:
    """Return the name of a card, and its compute capability."""
    found = _DEVICE.match(text[:_LONGEST])
    told = {"name": found["name"], "compute_capability": found["capability"]} if found else {}
    return Parsed({path: value for key, text in told.items() if text for path, value in index_facts([found["index"] if found else ""], key, text).items()})


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="the devices that ggml found", is_nested=True, marks=("VMM: ",),
    never_prints=("packages/*", "driver/*", "env/*", "os/*", "kernel/*"),
)
