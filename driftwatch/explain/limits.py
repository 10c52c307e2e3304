"""Limits of a host by the error texts that reaching them makes: which text names which limit, and how large it is on either side. Pure; weighs nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.words import number

_MIB = 1 << 20


@dataclass(frozen=True)
class Limit:
    """One limit: its name for a reader, its item in limits.conf and ulimit's words, the last part of its path below a server's limits, the texts that name it.

    ``tight``: a value that is known to be too small for a multi-GPU server; ``roomy``: one that no server is known to reach.
    """

    name: str
    item: str
    key: str
    text: re.Pattern[str]
    unit: str
    tight: float
    roomy: float
    settle: str
    raise_it: str


def _text(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


OF_PROCESSES = (
    Limit(
        "open files limit",
        "nofile",
        "open_files",
        _text(r"too many open files|\bEMFILE\b|errno 24\b"),
        "files",
        4096,
        500_000,
        "grep 'open files' /proc/$(pgrep -of 'sglang|vllm')/limits; systemctl show -p LimitNOFILE SERVICE",
        "LimitNOFILE=1048576 in the service, or ulimit -n 1048576",
    ),
    Limit(
        "locked memory limit",
        "memlock",
        "locked_memory_bytes",
        _text(r"memlock|ibv_reg_mr|ibv_create_cq|cannot lock memory|mlock.*(?:failed|cannot)|register.* memory.* (?:failed|cannot allocate)"),
        "bytes",
        64 * _MIB,
        1 << 34,
        "grep 'locked' /proc/$(pgrep -of 'sglang|vllm')/limits",
        "LimitMEMLOCK=infinity in the service, or --ulimit memlock=-1 for docker",
    ),
    Limit(
        "processes limit",
        "nproc",
        "processes",
        _text(r"can't start new thread|resource temporarily unavailable|\bEAGAIN\b|pthread_create failed|fork.*(?:failed|retry)"),
        "processes",
        8192,
        100_000,
        "grep 'processes' /proc/$(pgrep -of 'sglang|vllm')/limits; cat /sys/fs/cgroup/pids.max",
        "TasksMax=infinity and LimitNPROC=infinity",
    ),
    Limit("stack size limit", "stack", "stack_size_bytes", _text(r"stack overflow|stack size"), "bytes", 1 << 20, 1 << 30, "ulimit -s", "ulimit -s 8192"),
    Limit(
        "file size limit", "fsize", "file_size_bytes", _text(r"file too large|\bEFBIG\b|file size limit"), "bytes", 1 << 30, 1 << 50,
        "ulimit -f", "ulimit -f unlimited",
    ),
    Limit(
        "address space limit",
        "as",
        "address_space_bytes",
        _text(r"cannot allocate memory|\bENOMEM\b|std::bad_alloc|(?<!OutOf)MemoryError"),
        "bytes",
        1 << 38,
        1 << 50,
        "ulimit -v",
        "ulimit -v unlimited",
    ),
)
SHM_TEXT = _text(r"posix_fallocate|/dev/shm|shared memory|shm\.(?:h|cc)|shm_open|bus error|DataLoader worker.*killed|shmem")
NO_SPACE = _text(r"no space left on device|\bENOSPC\b|errno 28\b|disk quota exceeded")
NO_MEMORY = _text(r"cannot allocate memory|\bENOMEM\b|errno 12\b|oom-kill|out of memory: kill|\bKilled\b|signal 9|SIGKILL|exit code -?(?:9|137)")
SHM_PLACE = "/dev/shm"  # noqa: S108  a place to name: no file is made there
SHM = ("shm/size_bytes", 1 << 30, 16 << 30)  # path, tight, roomy


def soft(value: object) -> float | None:
    """Return a soft limit as a number, ``inf`` for none; None where it is not told."""
    found = value.get("soft") if isinstance(value, dict) else value
    return float("inf") if found in ("unlimited", "infinity", "max") else number(found)


def of_servers(case: Case, side: SideName, key: str) -> dict[str, float]:
    """Return a limit of the server's processes on a side, path to value; where none is told, that of the shell that was asked."""
    found = {}
    for path, value in case.below(side, "servers"):
        if path.endswith(f"/limits/{key}"):
            amount = soft(value)
            if amount is not None:
                found[path] = amount
    of_shell = f"limits/{key}/soft"
    amount = soft(case.value(side, of_shell)) if not found else None
    return found if amount is None else {of_shell: amount}


def least(case: Case, key: str) -> tuple[tuple[str, float] | None, tuple[str, float] | None]:
    """Return the smallest value of a limit on the good and on the bad side, each with its fact; None where a side tells none."""
    good, bad = (min(of_servers(case, side, key).items(), key=lambda one: one[1], default=None) for side in SIDES)
    return good, bad


def configured(case: Case, key: str) -> list[str]:
    """Return the facts of units and limits.conf that order a limit, by systemd's or limits.conf's name for it, where they moved."""
    names = {"open_files": ("LimitNOFILE", "nofile"), "locked_memory_bytes": ("LimitMEMLOCK", "memlock"), "processes": ("TasksMax", "LimitNPROC", "nproc")}.get(
        key, ()
    )
    globs = tuple(
        glob for name in names for glob in (f"limits/unit/*/{name}", f"limits/systemd/*{name}", f"limits/security/*/*/{name}", f"services/*/unit/{name}")
    )
    return [change.path for change in case.moved(*globs)] if globs else []


def show(amount: float) -> str:
    """Return an amount of bytes or of things in short."""
    if amount == float("inf"):
        return "unlimited"
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (_MIB, "MiB")):
        if amount >= size and amount % (size >> 10 or 1) == 0 and amount >= 16 * _MIB:
            return f"{amount / size:.4g} {unit}"
    return f"{amount:,.0f}"
