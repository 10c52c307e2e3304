"""What would tell where everything that can be read is equal: a few active tests for each symptom. Names them, runs none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_TESTS: Mapping[str, str] = MappingProxyType({
    "slow": "nvidia-smi dmon during the load (clocks and power), all_reduce_perf of nccl-tests, the same requests after moving the compile caches aside",
    "hang": "py-spy dump of each rank, all_reduce_perf of nccl-tests, dcgmi diag -r 2",
    "oom": "the free memory of each GPU just before the launch, the same start with one GPU, dcgmi diag -r 1",
    "wrong-output": "the same prompt at temperature 0 with the compile caches moved aside, with --disable-cuda-graph, and dcgmi diag -r 3",
    "accuracy": "the same prompts at temperature 0 with the compile caches moved aside, with another attention backend, and dcgmi diag -r 3",
    "runtime-crash": "the same request with CUDA_LAUNCH_BLOCKING=1, with the compile caches moved aside, and dcgmi diag -r 3",
    "startup-crash": "the same start with one GPU, with the compile caches moved aside, and on the good host's interpreter",
    "import-error": "python -X importtime -c 'import torch', ldd -r on the library that is named, and a fresh environment of the same lock file",
    "device-lost": "nvidia-smi -q, dcgmi diag -r 3, and the kernel's log since boot",
})
_ANY = "the good setup again (a control run), the same start with the compile caches moved aside, and dcgmi diag -r 2"


def active_tests(klass: str | None) -> str:
    """Return one sentence that names two or three tests of this symptom."""
    return f"Not visible from outside; what would tell: {_TESTS.get(klass or '', _ANY)}."
