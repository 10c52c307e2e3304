"""Settings of the kernel (sysctl) that moved. Each steers one kind of work, so the symptom's class tells which of them matter; most boots move none.

What huge pages and swap are set to is the memory rule's; limits of the server's own processes are the limits rule's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both, numbers
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, moved, number

_TOP = "limits/sysctl"
_FAILS = ("startup-crash", "runtime-crash", "oom")
_WAITS = ("slow", "hang")
_NO_MEMORY = r"cannot allocate memory|\bENOMEM\b|errno 12\b|std::bad_alloc|mmap|MemoryError"


@dataclass(frozen=True)
class Group:
    """Settings of one kind of work: their names, what is blamed, the classes that they can make, what they do, and the texts of their being reached.

    ``is_limit``: only less of it can be a cause.
    """

    names: re.Pattern[str]
    kind: str
    classes: tuple[str, ...]
    says: str
    text: re.Pattern[str] | None = None
    is_limit: bool = False
    weight: str = "kernel setting moved"


def _group(names: str, kind: str, classes: tuple[str, ...], says: str, text: str = "") -> Group:
    return Group(re.compile(names), kind, classes, says, re.compile(text, re.IGNORECASE) if text else None)


def _limit(names: str, kind: str, classes: tuple[str, ...], says: str, text: str) -> Group:
    return Group(re.compile(names), kind, classes, says, re.compile(text, re.IGNORECASE), is_limit=True)


_GROUPS = (
    _group(r"kernel\.numa_balancing", "kernel", _WAITS, "the kernel moves pages between memory nodes by making the server's accesses fault"),
    _group(r"vm\.zone_reclaim_mode", "kernel", _WAITS, "it steers from which memory the kernel takes pages back"),
    replace(_group(r"vm\.(swappiness|min_free_kbytes|dirty_\w+)", "kernel", _WAITS, "it steers when the kernel takes pages back"),
            weight="kernel setting moved, far"),
    _group(r"vm\.(overcommit_\w+|panic_on_oom)", "host-memory", _FAILS, "it decides how much memory a process may ask for", _NO_MEMORY),
    _limit(r"vm\.max_map_count", "limit", _FAILS, "it limits how many mappings a process may have", _NO_MEMORY),
    _limit(r"kernel\.(shm\w+|sem)", "limit", _FAILS, "it limits memory and semaphores that processes share", r"shmget|semget|shared memory|no space left"),
    _limit(r"kernel\.pid_max", "limit", (*_FAILS, "hang"), "it limits how many processes and threads there are at a time",
           r"resource temporarily unavailable|can't start new thread|pthread_create|fork"),
    _limit(r"fs\.(file-max|nr_open|aio-max-nr|inotify\.\w+)", "limit", _FAILS, "it limits open files and watches of all processes",
           r"too many open files|\bEMFILE\b|\bENFILE\b|inotify|io_setup|no space left"),
    _group(r"net\.core\.bpf_\w+|kernel\.unprivileged_bpf_disabled", "kernel", (*_FAILS, "device-lost"),
           "it decides which small programs the kernel takes, as those that filter devices and packets",
           r"load program|device (?:filter|rules)|\be?bpf\b|seccomp"),
    _limit(r"net\.\S+", "kernel", (*_WAITS, "runtime-crash"), "it sizes the buffers and queues of sockets", r"socket|connect|timed? ?out|gloo"),
    _group(r"kernel\.(yama\.ptrace_scope|io_uring_disabled)", "kernel", ("startup-crash", "hang", "runtime-crash"),
           "it decides what processes may do to each other or ask of the kernel", r"operation not permitted|ptrace|process_vm_readv|io_uring|\bCMA\b"),
    _group(r"kernel\.(apparmor_restrict_unprivileged_userns|unprivileged_userns_clone)|user\.max_user_namespaces", "kernel", _FAILS,
           "it decides whether users may make namespaces, as rootless containers do", r"user ?namespace|unshare|enroot|bwrap|rootless|newuidmap|userns"),
    _group(r"kernel\.sched_rt_runtime_us", "kernel", _WAITS, "it limits tasks of real-time priority"),
)
_COUNTERS = {"kernel.numa_balancing": "memory/events/numa_pages_migrated"}  # what grows while a setting is at work
_MANY = 100_000


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each setting that moved and that steers work of a server."""
    for change in case.moved(f"{_TOP}/*"):
        name = change.path.removeprefix(f"{_TOP}/")
        group = next((one for one in _GROUPS if one.names.fullmatch(name)), None)
        good, bad = both(case, change.path)
        if group is not None and good is not None and bad is not None and (not group.is_limit or _fell(good, bad)):
            verdict = f"{name} {moved(good, bad)}: {group.says}."
            wording = Wording("kernel setting", name, "~", good, bad, verdict, commands=_commands(name, good, bad))
            yield Evidence(Subject(group.kind, name), tuple(_terms(case, name, change.path, group)), wording)


def _fell(good: object, bad: object) -> bool:
    """Tell whether a number, or one of the numbers in a text, is less now."""
    pairs = zip(str(good).split(), str(bad).split(), strict=False)
    return any(before is not None and now is not None and now < before for before, now in ((number(one), number(other)) for one, other in pairs))


def _commands(name: str, good: object, bad: object) -> tuple[Command, ...]:
    look = Command("confirm", f"sysctl {command([name])}; grep -r {command([name])} /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d", "now, and at boot")
    back, again = (f"sysctl -w {command([f'{name}={value}'])}" for value in (good, bad))
    return (look, Command("try", back, "as root; until the next boot"), Command("undo", again, "as root"))


def _terms(case: Case, name: str, path: str, group: Group) -> Iterator[Term]:
    fits = case.klass is None or case.klass in group.classes
    yield term(group.weight if fits else "moved", f"{moved(*both(case, path))}: {group.says}", (path,))
    if group.text is not None and group.text.search(case.text):
        yield term("text fits", "the error text is that of what it steers", (path,))
    counter = _COUNTERS.get(name, "")
    before, now = numbers(case, counter) if counter else (None, None)
    if before is not None and now is not None and now - before >= _MANY:
        yield term("counter of the setting grew", f"it is at work: {counter.rsplit('/', 1)[1].replace('_', ' ')} {before:,.0f} → {now:,.0f}", (counter,))


RULES = (Rule("kernel_settings", needs=(), weigh=weigh, blames=("host-memory", "limit", "kernel")),)
