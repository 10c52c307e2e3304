"""Judges what was read from a paste by what a person read in it (pastes/README.md): right, missing, wrong, invented."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from driftwatch.dumps.clean import decode
from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown

PASTES = Path(__file__).parent / "pastes"
CASES = sorted(path.name for path in PASTES.iterdir() if path.is_dir())
SINGLE = {
    "torch": "torch/version", "cuda_runtime": "cuda/runtime", "driver": "driver/version", "nvcc": "cuda/nvcc", "python": "python/version", "os": "os/name",
    "kernel": "kernel/release", "torch_cuda": "torch/cuda", "torch_rocm": "torch/hip", "hip_runtime": "hip/runtime", "cpu_model": "system/cpu/model",
    "cuda_home": "cuda/home", "ulimit_soft": "limits/open_files/soft", "bios": "firmware/bios", "mcc": "musa/mcc",
}
MODULES = {"zmq": "pyzmq", "pil": "pillow", "multipart": "python-multipart"}


@dataclass
class Judged:
    """How many facts are right, and the labels of those that are not."""

    right: int
    missing: list
    wrong: list
    invented: list


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower().strip()


def is_same(want, got):
    """Tell whether two values are one, or one text stands in the other."""
    one, other = str(want).strip().lower(), str(got).strip().lower()
    return one == other or ((one in other or (bool(other) and other in one)) and any(map(str.isdigit, one + other)))


def is_known(value):
    return value is not None and not is_unknown(value)


def read(case):
    return read_dump(decode((PASTES / case / "paste.txt").read_bytes()), case)


def facts_of(case):
    """Return the facts of a paste; none where it is refused because it tells nothing."""
    try:
        return read(case).facts
    except NoDump:
        return {}


def expected(case):
    return json.loads((PASTES / case / "expected.json").read_text(encoding="utf-8"))["facts"]


def judge(case):
    want, facts = expected(case), facts_of(case)
    judged = Judged(0, [], [], [])
    packages = {canonical(name): version for name, version in want["packages"].items()}
    seen = {canonical(path.split("/")[1]): value for path, value in facts.items() if re.fullmatch(r"packages/[^/]+/version", path)}
    for name, version in packages.items():
        _compare(judged, f"packages/{name}", version, seen.get(name))
    for key, path in SINGLE.items():
        _compare(judged, path, want.get(key), facts.get(path))
    names = [value for path, value in facts.items() if re.fullmatch(r"gpus/[^/]+/name", path) and is_known(value)]
    for gpu in want.get("gpus") or []:
        _compare(judged, f"gpu {gpu['name']}", gpu["name"], next((name for name in names if is_same(gpu["name"], name)), None))
    for name, value in (want.get("env") or {}).items():
        _compare(judged, f"env/{name}", value, next((told for path, told in facts.items() if path.endswith(f"env/{name}")), None))
    for name, value in (want.get("server_args") or {}).items():
        key = name.lstrip("-").replace("-", "_")
        _compare(judged, f"args/{key}", value, next((told for path, told in facts.items() if path.replace("-", "_").endswith(f"args/{key}")), None))
    allowed = {*packages, *(MODULES.get(name, name) for name in packages), "torch", *map(canonical, want.get("present_without_version") or ())}
    judged.invented = [f"{name}={value}" for name, value in seen.items() if is_known(value) and name not in allowed]
    return judged


def _compare(judged, label, want, got):
    if want is None:
        return
    if not is_known(got):
        judged.missing.append(label)
    elif is_same(want, got):
        judged.right += 1
    else:
        judged.wrong.append(f"{label}: {got!r}, printed {want!r}")
