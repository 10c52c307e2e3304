"""Names under which different tools tell one thing: a module beside its distribution, a dump's fact beside the probe that would tell it. Tables only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from driftwatch.model import SOURCES

MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType({  # a module's name as PEP 503 would write it -> distributions that bring it
    "zmq": ("pyzmq",), "pil": ("pillow",), "multipart": ("python-multipart",), "flashinfer": ("flashinfer-python",), "yaml": ("pyyaml",),
    "cv2": ("opencv-python-headless", "opencv-python"), "sklearn": ("scikit-learn",), "dateutil": ("python-dateutil",), "dotenv": ("python-dotenv",),
    "cuda": ("cuda-python",), "tvm-ffi": ("apache-tvm-ffi",), "deep-gemm": ("sgl-deep-gemm",), "deep-ep": ("sgl-deep-ep",),
})
NOT_UNDER_THIS_NAME = "the tool found nothing of this name, which is no proof of absence: it may go by another"
_BY_FIRST: Mapping[str, str] = MappingProxyType({
    "env": "env", "servers": "servers", "gpus": "nvml", "driver": "driver", "os": "system", "kernel": "system", "system": "system", "git": "git",
    "sources": "sources", "packages": "packages", "python": "packages", "pythons": "packages", "torch": "versions", "libraries": "libraries",
    "nccl": "libraries", "cudnn": "libraries",
    "cuda": "nvml", "nvml": "nvml", "modules": "modules", "mounts": "mounts", "shm": "disks", "container_runtime": "containers",
})
_BY_LAST: Mapping[str, str] = MappingProxyType({"record": "record", "imported_version": "imports"})


def asker_of(owner: str | None, path: str) -> str:
    """Return the name of the probe to ask for a fact, given the one that a snapshot names: a pasted dump goes by its format's name, which asks no host."""
    return probe_of(path) if owner is None or (owner in SOURCES and owner != "env") else owner


def probe_of(path: str) -> str:
    """Return the name of the probe that tells a fact where driftwatch itself looks; the path's first part where none is known for it."""
    first, _, rest = path.partition("/")
    return _BY_LAST.get(rest.rpartition("/")[2]) or _BY_FIRST.get(first, first)
