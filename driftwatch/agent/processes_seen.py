"""Processes that may serve models, as /proc tells them, and what its files of one process say. Sends no signal and never waits on a stuck process.

The safe files come first: ``stat``, links and ``limits`` need no lock of the process. ``cmdline``, ``environ`` and ``maps`` do, so they are read apart,
and processes in uninterruptible sleep are asked last.
"""
from __future__ import annotations

import re

from .host import Host
from .probe import Unknown, Unreadable
from .typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Set, Tuple

FIRST_PID_NAMESPACE = "pid:[4026531836]"  # its inode number is fixed in the kernel (PROC_PID_INIT_INO): who sees it sees all processes
TICKS_PER_S = 100  # USER_HZ: the same on every Linux that GPUs are sold for
SILENT_LIMIT = 3
_NAMES = Regex(r"python|pypy|pt_main_thread|sglang|sgl|vllm|VLLM|ray|torchrun|ollama|uvicorn|gunicorn")
_HIDDEN = Regex(r"^\S+ /proc proc \S*\bhidepid=(?!0|off)", re.MULTILINE)
_LIBRARY = Regex(
    r"(lib(?:nccl|rccl|cuda|cudart|cudnn|nvidia-ml|nvidia-ptxjitcompiler|cublas|nvrtc|nvshmem|torch_cuda|tvm_ffi|stdc\+\+|ibverbs|mlx5|gomp|iomp5|jemalloc|tcmalloc)[A-Za-z0-9_-]*?)"
    r"(?:-[0-9a-f]{8})?\.so\b")
_OWN = Regex(r"-packages/(sgl_kernel|flashinfer|deep_gemm|deep_ep|vllm|flash_attn|tilelang|mooncake)/(?:[^/]+/)*([A-Za-z0-9_]+)\.[^/]*\bso\b[^/]*$")
_SHARED_OBJECT = Regex(r"/([^/]+?)(?:-[0-9a-f]{8})?\.(?:abi3\.|cpython-[^/]*\.)?so\b[^/]*$")


class Seen(NamedTuple):
    """One process: its ids, short name (15 characters), state letter, start in ticks since boot, and its arguments (Unknown where they did not come)."""

    pid: int
    ppid: int
    name: str
    state: str
    start_ticks: int
    argv: Any = ()

    @property
    def title(self) -> str:
        """Return what stands first in the command line, or the short name where no command line came."""
        return self.argv[0] if isinstance(self.argv, tuple) and self.argv else self.name


def parse_stat(text: str) -> Seen:
    """Return what /proc/PID/stat says; the name may hold blanks and brackets."""
    before, _, name = text.partition("(")
    name, _, after = name.rpartition(")")
    fields = after.split()
    if not before.strip().isdigit() or len(fields) < 20:
        raise Unreadable("/proc/PID/stat: no process in %r" % text[:80])
    return Seen(int(before), int(fields[1]), name, fields[0], int(fields[19]))


def parse_arguments(data: bytes) -> Tuple[str, ...]:
    """Return a command line's arguments; a title is padded with NUL bytes."""
    text = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
    return tuple(text.split("\0")) if text else ()


def parse_environ(data: bytes) -> Dict[str, str]:
    """Return the variables of /proc/PID/environ. One without any ``NAME=`` was overwritten by a process title: Unreadable, never empty."""
    entries = [one for one in data.decode("utf-8", "surrogateescape").split("\0") if one]
    if data and not any("=" in one[1:] for one in entries):
        raise Unreadable("environ: all NUL bytes: overwritten by setproctitle")
    pairs = (one.partition("=") for one in entries)
    return {name: value for name, sign, value in pairs if sign and name}


def parse_limits(text: str) -> Dict[str, Dict[str, Any]]:
    """Return the soft and hard limits of /proc/PID/limits, numbers or ``unlimited``, by name: open_files, locked_memory_bytes, cpu_time_seconds …"""
    found: Dict[str, Dict[str, Any]] = {}
    for name, soft, hard, unit in re.findall(r"^Max (.+?)\s{2,}(\S+)\s+(\S+)[ \t]*(\S*)", text, re.MULTILINE):
        key = name.replace(" ", "_") + ("_" + unit if unit in ("bytes", "seconds", "us") else "")
        found[key] = {"soft": _limit(soft), "hard": _limit(hard)}
    if not found:
        raise Unreadable("/proc/PID/limits: no limit in %r" % text[:80])
    return found


def _limit(text: str) -> Any:
    return int(text) if text.isdigit() else text


def parse_libraries(text: str) -> Dict[str, List[str]]:
    """Return the sorted paths of the mapped libraries that matter, by family: ``libnccl``, ``sgl_kernel common_ops`` …; any that was deleted since too."""
    found: Dict[str, Set[str]] = {}
    for path in {line[line.index("/"):] for line in text.splitlines() if ".so" in line and "/" in line}:
        family = _family(path)
        if family and not path.startswith(("/dev/", "/memfd:", "/SYSV")):
            found.setdefault(family, set()).add(path)
    return {family: sorted(paths) for family, paths in sorted(found.items())}


def _family(path: str) -> str:
    known = _LIBRARY.match(path[path.rfind("/") + 1:])
    if known:
        return known.group(1)
    own = _OWN.search(path)
    if own:
        return "%s %s" % own.groups()
    other = _SHARED_OBJECT.search(path) if path.endswith(" (deleted)") else None
    return other.group(1) if other else ""


def parse_uid(text: str) -> int:
    """Return the real user id of /proc/PID/status."""
    found = re.search(r"^Uid:\s*(\d+)", text, re.MULTILINE)
    if found is None:
        raise Unreadable("/proc/PID/status: no Uid in %r" % text[:80])
    return int(found.group(1))


def parse_cpus(text: str) -> str:
    """Return the CPUs that a process may run on, as /proc/PID/status lists them (``0-13,56-69``); "" where it does not."""
    found = re.search(r"Cpus_allowed_list:\s*(\S+)", text)
    return found.group(1) if found else ""


def parse_unit(text: str) -> str:
    """Return the service whose control group a process is in (of /proc/PID/cgroup), or ""."""
    found = re.search(r"/([^/\n]+\.service)(?:/|$)", text, re.MULTILINE)
    return found.group(1) if found else ""


def limited_view(host: Host) -> Optional[Unknown]:
    """Return why other users' processes cannot be seen from here, or None if they can."""
    mounts = host.try_read("/proc/mounts")
    if isinstance(mounts, str) and host.uid() != 0 and _HIDDEN.search(mounts):
        return Unknown("denied", "/proc: mounted with hidepid: only our own processes can be seen (uid %d)" % host.uid())
    return None


def is_contained(host: Host) -> bool:
    """Tell whether we look from a PID namespace of a container, in which the host's processes are not visible."""
    namespace = host.attempt(host.link, "/proc/self/ns/pid")
    if isinstance(namespace, str):
        return namespace != FIRST_PID_NAMESPACE
    return any(host.attempt(host.exists, path) is True for path in ("/.dockerenv", "/run/.containerenv"))


def survey(host: Host) -> Iterator[Seen]:
    """Yield the processes that may serve, each with its arguments. Those in uninterruptible sleep come last; after three without answer, no more is asked."""
    stuck = []
    for pid in host.pids() if host.exists("/proc") else ():
        text = host.attempt(host.head, "/proc/%d/stat" % pid, 4096)
        seen = host.attempt(parse_stat, text) if isinstance(text, str) and text else None
        if not isinstance(seen, Seen) or not _may_serve(host, seen):
            continue
        if seen.state == "D":
            stuck.append(seen)
        else:
            yield with_arguments(host, seen)
    silent = 0
    for seen in stuck:
        if silent >= SILENT_LIMIT:
            yield seen._replace(argv=Unknown("timeout", "not asked: in uninterruptible sleep, and %d others like it did not answer" % silent))
            continue
        told = with_arguments(host, seen, 0.4)
        silent += isinstance(told.argv, Unknown) and told.argv.status == "timeout"
        yield told


def _may_serve(host: Host, seen: Seen) -> bool:
    """Tell whether a process may be one of a server: by its short name, else by the program it runs."""
    if _NAMES.match(seen.name):
        return True
    if seen.ppid in (0, 2) and seen.pid != 1:
        return False
    program = host.attempt(host.link, "/proc/%d/exe" % seen.pid)
    return isinstance(program, str) and program.rpartition("/")[2].startswith(("python", "pypy"))


def with_arguments(host: Host, seen: Seen, deadline_s: float = 1.0) -> Seen:
    """Return the process with its arguments, or with the reason why they did not come."""
    data = host.attempt(host.read_apart, "/proc/%d/cmdline" % seen.pid, deadline_s)
    return seen._replace(argv=parse_arguments(data) if isinstance(data, bytes) else data or ())


def look_at(host: Host, pid: int) -> Seen:
    """Return one process with its arguments; raises Absent if there is none of this id."""
    return with_arguments(host, parse_stat(host.head("/proc/%d/stat" % pid, 4096)))


def environ_of(host: Host, pid: int) -> Dict[str, str]:
    """Return the variables a process was started with; raises Denied, TimedOut, or Unreadable where a title overwrote them."""
    return parse_environ(host.read_apart("/proc/%d/environ" % pid))
