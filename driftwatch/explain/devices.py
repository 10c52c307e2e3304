"""GPUs as a reader knows them: by UUID and by the address on the bus, which is what the kernel's log and the rack speak of."""

from __future__ import annotations

import re

from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.holders import gpus
from driftwatch.explain.pairs import logged_more
from driftwatch.explain.words import number

_OF_GPUS = ("nvidia", "amdgpu", "habanalabs", "xe")  # modules that serve what computes on a card
PCIE_LOG = "kernel_log/pcie"
_NO_ROOM = re.compile(r"BAR \d+.*(?:failed to assign|no space|can't assign)")


def every(case: Case) -> list[str]:
    """Return the UUIDs of the GPUs that either side tells of, sorted."""
    return sorted({gpu for side in SIDES for gpu in gpus(case, side)})


def address(case: Case, gpu: str) -> str:
    """Return a GPU's address on the bus, its UUID where none is told."""
    found = case.value("bad", f"gpus/{gpu}/pci") or case.value("good", f"gpus/{gpu}/pci")
    return found if isinstance(found, str) and found else gpu


def titled(case: Case, found: list[str]) -> str:
    """Return ``GPU 0000:9c:00.0``, or how many of all GPUs it is about."""
    return f"GPU {address(case, found[0])}" if len(found) == 1 else f"{len(found)} of {len(every(case))} GPUs"


def figure(case: Case, side: SideName, gpu: str, name: str) -> float | None:
    """Return a number that a side tells of a GPU, None where it is not told or is none."""
    return number(case.value(side, f"gpus/{gpu}/{name}"))


def is_loaded(case: Case, side: SideName, gpu: str) -> bool:
    """Tell whether a GPU was at work when it was read: a clock or a power draw of an idle one says nothing."""
    used = figure(case, side, gpu, "utilization_percent")
    return used is not None and used >= 50


def without_room(case: Case) -> str:
    """Return the kernel's line that it found no room for the memory of a device on the bus, "" where it told none since the good side."""
    return next((line for line in logged_more(case, PCIE_LOG) if _NO_ROOM.search(line)), "")


def claimed(case: Case) -> dict[str, list[str]]:
    """Return the modules that drive GPUs of the bad side which its GPU driver drove on the good one, each with the facts of those GPUs."""
    found: dict[str, list[str]] = {}
    for path, driver in case.below("bad", "pci"):
        is_gpu = path.endswith("/driver") and case.value("bad", path.removesuffix("driver") + "kind") == "gpu"
        if is_gpu and driver not in _OF_GPUS and case.value("good", path) in _OF_GPUS:
            found.setdefault(str(driver), []).append(path)
    return found
