"""The NVIDIA kernel driver and its user-space libraries, as files and the kernel tell them. Needs no NVML and cannot hang on a GPU.

| path | what |
|---|---|
| driver/module/version | of the module that is loaded now |
| driver/module/flavour | ``open`` or ``proprietary`` |
| driver/module/srcversion | the loaded module's own build digest |
| driver/on_disk/version | of the module that the running kernel would load next |
| driver/library/{libcuda,libnvidia-ml}/path | the file behind the links that the loader would follow |
| driver/library/{libcuda,libnvidia-ml}/version | from that file's name |
| driver/library/{libcuda,libnvidia-ml}/others | further files of that library in the loader's folders, if any |
"""
from __future__ import annotations

import re

from .. import loader
from ..host import Host, Ran
from ..probe import Absent, Fact, Probe, Unknown, Unreadable
from ..typed import Any, Iterator, List, Optional, Tuple

LIBRARIES = ("libcuda", "libnvidia-ml")
MODINFO = ("modinfo", "/sbin/modinfo", "/usr/sbin/modinfo")
QUESTION = ("-F", "version", "nvidia")


def collect(host: Host) -> Iterator[Fact]:
    """Yield the module that is loaded, the one on disk, and the libraries; Absent where the host has none of them."""
    has_any = False
    for path, value in _everything(host):
        has_any = has_any or not isinstance(value, Unknown) or not path.startswith("driver/on_disk/")
        yield path, value
    if not has_any:
        raise Absent("no NVIDIA driver: /proc/driver/nvidia/version, /sys/module/nvidia, libcuda.so.1 and libnvidia-ml.so.1 are not there")


def _everything(host: Host) -> Iterator[Fact]:
    yield from _module(host)
    yield from _on_disk(host)
    for name in LIBRARIES:
        yield from _library(host, name)


def _module(host: Host) -> Iterator[Fact]:
    text = host.try_read("/proc/driver/nvidia/version")
    version = host.try_read("/sys/module/nvidia/version")
    found = host.attempt(parse_version, text) if isinstance(text, str) else text
    if isinstance(found, tuple) and not isinstance(found, Unknown):
        yield "driver/module/version", found[0]
        yield "driver/module/flavour", found[1]
    elif version is not None:
        yield "driver/module/version", version if isinstance(version, Unknown) else version.strip()
        yield "driver/module/flavour", found or Unknown("error", "/proc/driver/nvidia/version: no such file, though the module is loaded")
    elif found is not None:
        yield "driver/module", found
    srcversion = host.try_read("/sys/module/nvidia/srcversion")
    if srcversion is not None:
        yield "driver/module/srcversion", srcversion if isinstance(srcversion, Unknown) else srcversion.strip()


def parse_version(text: str) -> Tuple[str, str]:
    """Return the version and ``open`` or ``proprietary`` from the driver's version file."""
    match = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", text)
    if match is None:
        raise Unreadable("/proc/driver/nvidia/version: no driver version in %r" % text[:80])
    return match.group(1), "open" if "Open Kernel Module" in text else "proprietary"


def _on_disk(host: Host) -> Iterator[Fact]:
    """Yield the version of the module that the running kernel would load; nothing where it is known to have none."""
    ran = host.try_run([MODINFO[0], *QUESTION], 5.0)
    if ran is None:
        others = (host.try_run([program, *QUESTION], 5.0) for program in MODINFO[1:])
        ran = next((one for one in others if isinstance(one, Ran)), Unknown("error", "the module on disk: there is no modinfo to ask"))
    version = parse_modinfo(ran) if isinstance(ran, Ran) else ran
    if version is None:
        version = _why_none(host)
    if version is not None:
        yield "driver/on_disk/version", version


def _why_none(host: Host) -> Optional[Unknown]:
    """Return why "not found" is no answer: inside a container the running kernel's modules cannot be seen. None where they can."""
    release = host.try_read("/proc/sys/kernel/osrelease")
    folder = "/lib/modules/" + release.strip() if isinstance(release, str) else "/lib/modules"
    names = host.try_list(folder)
    if isinstance(names, Unknown):
        return names
    return None if names else Unknown("error", "the module on disk: %s, the running kernel's, is not here" % folder)


def parse_modinfo(ran: Ran) -> Any:
    """Return the version that ``modinfo -F version nvidia`` printed, None where the kernel has no such module on disk, else Unknown."""
    said = ran.stdout.strip()
    if ran.rc == 0 and re.match(r"\d+(\.\d+)+$", said):
        return said
    if "Module nvidia not found" in ran.stderr:
        return None
    return Unknown("error", "modinfo -F version nvidia: exit code %d: %s" % (ran.rc, (ran.stderr.strip() or said or "no text")[:200]))


def _library(host: Host, name: str) -> Iterator[Fact]:
    top = "driver/library/" + name
    files = _files(host, loader.candidates(host, name + ".so.1"))
    if not files:
        return
    yield top + "/path", files[0]
    yield top + "/version", _version(files[0])
    others = sorted(one for one in files[1:] if isinstance(one, str))
    if others:
        yield top + "/others", others


def _files(host: Host, paths: List[str]) -> List[Any]:
    """Return the files that stand behind paths, each once and the first first; Unknown for a path that leads nowhere or was refused."""
    found: List[Any] = []
    for path in paths:
        real = host.attempt(host.real, path)
        leads = host.attempt(host.exists, path)
        if leads is False:
            real = Unknown("error", "%s: a link to %s, which is not there" % (path, real))
        elif isinstance(leads, Unknown):
            real = leads
        if real is not None and real not in found:
            found.append(real)
    return found


def _version(file: Any) -> Any:
    if isinstance(file, Unknown):
        return file
    return library_version(file) or Unknown("error", "%s: its name carries no version" % file)


def library_version(path: str) -> Optional[str]:
    """Return the version that the name of a library's file ends with, None where it holds none."""
    match = re.search(r"\.so\.(\d+(?:\.\d+)+)$", path)
    return match.group(1) if match else None


PROBES = (
    Probe(
        "driver", collect, deadline_s=10.0, tells=("driver/module", "driver/module/*", "driver/on_disk/*", "driver/library/*"),
        reads="/proc/driver/nvidia/version, /sys/module/nvidia, modinfo, the loader's cache and folders",
    ),
)
