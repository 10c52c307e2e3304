"""Dumps of which a forge or a mail program joined the lines: cut apart again before each key that the tools print. Pure text; knows keys, no values.

Only a long line that holds several keys which hardly anything else prints is cut, and a line of several ``export`` commands.
"""

from __future__ import annotations

import re
from itertools import pairwise

SHORTEST = 80
FEWEST_KEYS = 3
_STRONG = re.compile(
    r"(?<!\S)(?:Python: \d|(?:CUDA|ROCM|NPU|XPU) available: |CUDA_HOME: |NVCC: |CUDA Driver Version: |PyTorch: |PyTorch version: |Is debug build: "
    r"|CUDA used to build PyTorch: |Python platform: |CUDA runtime version: |Nvidia driver version: |\[pip3\] |\[conda\] )")
_KEY = re.compile(
    rf"{_STRONG.pattern}|(?<!\S)(?:GPU \d{{1,3}}(?:,\d{{1,3}}){{0,63}}(?: Compute Capability)?: |(?:NVIDIA |AMD )?Topology: |Hypervisor vendor: |ulimit soft: "
    r"|[a-z][\w-]{1,40}(?:: (?=\d+\.\d|Module Not Found)|\Z)|ROCM used to build PyTorch: |OS: |GCC version: |Clang version: |CMake version: |Libc version: "
    r"|Python version: |Is CUDA available: |CUDA_MODULE_LOADING set to: |GPU models and configuration: |cuDNN version: |HIP runtime version: "
    r"|MIOpen runtime version: |Is XNNPACK available: |Versions of relevant libraries:)")
_EXPORT = re.compile(r"(?<=[^\s;&|] )(?:export (?=[A-Za-z_]\w{0,120}=)|python[\d.]* -m (?:sglang|vllm)\b|(?:vllm|sglang) serve )")
_EXPORTS = re.compile(r"\s{0,8}(?:\S{0,80}[$#] )?export [A-Za-z_]\w{0,120}=[^\s;&|]{1,400} ")


def apart(line: str) -> list[str]:
    """Return the lines that a line was before they were joined; the line itself where nothing says so."""
    if len(line) < SHORTEST:
        return [line]
    if "export " in line and _EXPORTS.match(line):
        return _cut(line, [found.start() for found in _EXPORT.finditer(line)])
    if "PyTorch" in line and len(set(_STRONG.findall(line))) >= FEWEST_KEYS:
        return _cut(line, [found.start() for found in _KEY.finditer(line)])
    return [line]


def _cut(line: str, places: list[int]) -> list[str]:
    cuts = [0, *(one for one in places if one > 0), len(line)]
    return [line[start:end].strip() for start, end in pairwise(cuts)]
