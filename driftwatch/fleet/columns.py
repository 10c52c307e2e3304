"""Which column of the matrix a fact stands in. A table; the first glob that fits wins."""

from __future__ import annotations

from functools import lru_cache

from driftwatch.model import matches

REST = "hst"
_ROWS = (
    ("arg", "servers/*/args/* servers/*/given/*"),
    ("env", "env/* env_source env_kept_back env_left_out servers/*/env/* servers/*/*/env/* limits/* servers/*/limits/* servers/*/*/limits/* nccl/*"),
    ("cud", "cuda/* torch/cuda libraries/* native/* loader/* servers/*/libraries/* servers/*/*/libraries/* driver/library/*"),
    ("drv", "driver/* nvml/* fabricmanager/* modules/nvidia*/*"),
    ("krn", "kernel/* modules/* modules_other kernel_log/* os/*"),
    ("pkg", "packages/* python/* pythons/* torch/* objects/* leftovers/* os_packages/* os_packages_other/* os_pins/* os_changes/* site_packages/*"),
    ("src", "sources/* git/*"),
    ("gpu", "gpus/* holders/*"),
    ("lnk", "pci/* pci_count/* nvlink/* topology/* infiniband/* net/* iommu/* acs/*"),
    ("dsk", "disks/* mounts/* shm/* caches/* models/* moe_config/*"),
)
_GLOBS = tuple((column, (*globs.split(), *(glob[:-2] for glob in globs.split() if glob.endswith("/*")))) for column, globs in _ROWS)


@lru_cache(maxsize=4096)
def column_of(path: str) -> str:
    """Return the column of a fact's path, or of what a probe tells; ``hst`` for what has none of its own."""
    return next((column for column, globs in _GLOBS if matches(path, globs)), REST)
