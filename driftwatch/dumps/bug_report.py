"""The text of ``nvidia-bug-report.sh``: its sections are files and commands of the host, each read by the parser that knows it.

| path | what |
|---|---|
| driver/module/{version, flavour}, driver/version, cuda/driver, gpus/… | of /proc/driver/nvidia/version and nvidia-smi --query |
| kernel/release, kernel/cmdline, os/…, system/memory/…, modules/NAME/loaded, modules/nvidia/parameters/P | of the files of these names |
| kernel_log/CLASS | of dmesg and the journal |
| gpus/UUID/{pci, name} | of /proc/driver/nvidia/gpus, where no nvidia-smi answered |
| topology/… | of nvidia-smi topo -m |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from driftwatch.agent.collectors.modules import parse_params
from driftwatch.agent.collectors.nvml import parse_information
from driftwatch.agent.gpus import pci_address
from driftwatch.agent.probe import fact_path
from driftwatch.dumps import nvidia_smi, shell_system, topo
from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.kernel_lines import VOLATILE as KERNEL_VOLATILE
from driftwatch.dumps.kernel_lines import kernel_facts
from driftwatch.dumps.shell import Simple
from driftwatch.dumps.smi_elements import VOLATILE as GPU_VOLATILE

_START = re.compile(r"\s*Start of NVIDIA bug report log file")
_END = re.compile(r"\s*End of NVIDIA bug report log file")
_RULE = re.compile(r"_{20,}\s*\Z")
_FILE = re.compile(r"\*\*\* (/\S+)\s*\Z")
_COMMAND = re.compile(r"(?:/\S*/)?(nvidia-smi|dmesg|journalctl|lsmod|uname|df|free)\b(.*)\Z")
_HEAD = re.compile(r"(Date|uname|nvidia-bug-report\.sh Version): (.*)\Z")
_GPU = re.compile(r"/proc/driver/nvidia/(?:\./)?gpus/([\w:.]+)/information\Z")
_LOG = re.compile(r"/var/log/(?:dmesg|kern\.log|messages|syslog)")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each report from its first line to its last, or to the end of the paste."""
    at = 0
    while at < len(lines):
        after = at + 1
        if _START.match(lines[at]):
            after = next((one + 1 for one in range(at + 1, len(lines)) if _END.match(lines[one])), len(lines))
            yield Stretch(at, after, 1.0)
        at = after


def parse(text: str) -> Parsed:
    """Return what the sections tell; where two tell one thing, the first counts, and nvidia-smi before the kernel's files."""
    lines = text.split("\n")
    is_whole = any(_END.match(line) for line in lines[-20:])
    facts: dict[str, Any] = {}
    host, taken_at = None, None
    for line in lines[:40]:
        head = _HEAD.match(line)
        name = shell_system.UNAME.match(head.group(2)) if head and head.group(1) == "uname" else None
        taken_at = _moment(head.group(2)) if head and head.group(1) == "Date" else taken_at
        if name:
            host = name.group(1)
            facts["kernel/release"] = name.group(2)
    told = [_section(title, body) for title, body in _sections(lines)]
    for one in sorted(told, key=lambda one: any(path.endswith("/memory_total_mib") for path in one), reverse=True):
        facts.update((path, value) for path, value in one.items() if path not in facts)
    notes = () if is_whole else ("nvidia-bug-report: the text was cut",)
    return Parsed(facts, notes=notes, host=host, taken_at=taken_at, volatile=(*GPU_VOLATILE, *KERNEL_VOLATILE, *shell_system.VOLATILE))


def _moment(text: str) -> str | None:
    """Return the time of ``date`` as ISO 8601, where it is in UTC."""
    found = re.match(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (?:([AP]M) )?UTC (\d{4})", text.strip())
    if found is None:
        return None
    clock = "%I:%M:%S %p" if found.group(4) else "%H:%M:%S"
    written = f"{found.group(5)} {found.group(1)} {found.group(2)} {found.group(3)}" + (f" {found.group(4)}" if found.group(4) else "")
    try:
        return datetime.strptime(written, f"%Y %b %d {clock}").replace(tzinfo=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield title and lines of each section; a title is the first line that names a file or a command."""
    title, body = "", list[str]()
    for line in lines:
        if _RULE.match(line):
            if title:
                yield title, body
            title, body = "", []
        elif _FILE.match(line) or (not title and _COMMAND.match(line)):
            if title:
                yield title, body
            title, body = line, []
        elif not line.startswith("*** ls:"):
            body.append(line[:4000])
    if title:
        yield title, body


def _section(title: str, body: list[str]) -> dict[str, Any]:
    while body and not body[0].strip():
        body = body[1:]
    file, command = _FILE.match(title), _COMMAND.match(title)
    if file:
        return dict(_of_file(file.group(1).replace("/./", "/"), body))
    if command and command.group(1) == "nvidia-smi":
        return _of_smi(body)
    reader = shell_system.READERS.get(command.group(1)) if command else None
    return dict(reader(Simple((command.group(1), *command.group(2).split())), body).facts) if reader and command else {}


def _of_smi(body: Sequence[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for one in (nvidia_smi.FORMAT, topo.FORMAT):
        for stretch in one.find(body):
            facts.update(one.parse("\n".join(body[stretch.first:stretch.after])).facts)
    return facts


def _of_file(path: str, body: Sequence[str]) -> Iterator[tuple[str, Any]]:
    text = "\n".join(body)
    gpu = _GPU.match(path)
    if gpu:
        uuid, name = parse_information(text)
        if uuid:
            yield fact_path("gpus", uuid, "pci"), pci_address(gpu.group(1))
            yield from ((fact_path("gpus", uuid, "name"), one) for one in (name,) if one)
    elif path == "/proc/driver/nvidia/params":
        yield from ((fact_path("modules", "nvidia", "parameters", name), value) for name, value in parse_params(text).items())
    elif _LOG.match(path):
        yield from kernel_facts(text).items()
    else:
        yield from shell_system.read_cat(Simple(("cat", path)), body).facts.items()


FORMAT = Format(
    name="nvidia-bug-report", find=find, parse=parse, looks_like="nvidia-bug-report.log", marks=("NVIDIA bug report log file",),
    never_prints=("packages/*", "torch/*", "servers/*", "env/*", "git/*", "sources/*"),
)
