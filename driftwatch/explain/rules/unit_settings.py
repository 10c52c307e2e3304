"""What systemd lets a service see and do (systemd.exec(5), systemd.resource-control(5)): settings that moved hide devices, folders, the network or calls.

Limits and orders of memory are other rules'; so are commands and variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import command, moved

_FAILS = ("startup-crash", "runtime-crash", "import-error")


@dataclass(frozen=True)
class Group:
    """Settings of one kind: their words, the weight of one that moved, the classes that they can make, what they do, and the texts of it."""

    words: re.Pattern[str]
    weight: str
    classes: tuple[str, ...]
    says: str
    text: re.Pattern[str]


def _group(words: str, weight: str, classes: tuple[str, ...], says: str, text: str) -> Group:
    return Group(re.compile(words), weight, classes, says, re.compile(text, re.IGNORECASE))


_GROUPS = (
    _group(r"PrivateDevices|Device(?:Policy|Allow)", "unit hides devices", ("device-lost", "startup-crash", "slow"),
           "it decides which devices, GPUs too, the service may open",
           r"no (?:compatible |usable )?(?:gpu|device|cuda|accelerator)|no cuda|nvml|cuInit|/dev/|failed to infer device type|ibv_|infiniband"),
    _group(r"ProtectSystem|ProtectHome|PrivateTmp|Inaccessible\w+|ReadOnly\w+|ReadWrite\w+|TemporaryFileSystem|Root\w+|Bind\w*Paths|(?:No)?ExecPaths",
           "unit setting moved", _FAILS, "it decides which files the service sees and may write to",
           r"Read-only file system|Permission denied|No such file|not found|failed to map segment"),
    _group(r"PrivateNetwork|RestrictAddressFamilies|IPAddress\w+", "unit setting moved", (*_FAILS, "hang"), "it decides whom the service can reach",
           r"socket|connect|name resolution|unreachable|address family|gloo|nccl"),
    _group(r"PrivateUsers|PrivateIPC|Protect(?:Kernel|Control|Proc|Clock)\w*|Restrict\w+|SystemCall\w+|NoNewPrivileges|\w*Capabilit\w+|MemoryDenyWriteExecute",
           "unit setting moved", _FAILS, "it decides what the service may ask of the kernel",
           r"Operation not permitted|Permission denied|Bad system call|seccomp|SIGSYS|/proc/|/sys/|shm_open"),
)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each setting of a service that moved and that takes something from its processes or gives it."""
    for change in case.moved("services/*/unit/*"):
        _, service, _, word = change.path.split("/")[:4]
        group = next((one for one in _GROUPS if one.words.fullmatch(word)), None)
        if group is not None:
            good, bad = values(change)
            verdict = f"{word} of {service}.service {moved(good, bad, absent='unset')}: {group.says}."
            wording = Wording("service", f"{word} of {service}.service", mark(good, bad), good, bad, verdict, commands=_commands(service, word))
            yield Evidence(Subject("service", f"{word} ({service}.service)"), tuple(_terms(case, change.path, group)), wording)


def _terms(case: Case, path: str, group: Group) -> Iterator[Term]:
    fits = case.klass is None or case.klass in group.classes
    yield term(group.weight if fits else "moved", f"its unit orders otherwise: {group.says}", (path,))
    if group.text.search(case.text):
        yield term("text fits", "the error text is that of what it takes away", (path,))


def _commands(service: str, word: str) -> tuple[Command, ...]:
    unit = f"{service}.service"
    return (
        Command("confirm", f"systemctl show -p {command([word, unit])}; systemctl cat {command([unit])} | grep -n {command([word])}", "which file orders it"),
        Command("look", f"# take {word} out of that file as root, then: systemctl daemon-reload; systemctl restart {command([unit])}"),
    )


RULES = (Rule("unit_settings", needs=(), weigh=weigh, blames=("service",)),)
