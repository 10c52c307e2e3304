"""Kernels that are installed, and whether each would find an NVIDIA module: what the next boot brings. Boots and loads nothing.

| path | what |
|---|---|
| kernel/installed/RELEASE | {"nvidia_module": bool}: whether modprobe would find one under that kernel |
| | further keys: "path": where the module lies below /lib/modules/RELEASE; "unlisted": true where it lies there, but modules.dep does not know it |
| kernel/images | releases that have an image in /boot, sorted |
| kernel/reboot_required | the packages that wait for a reboot, sorted |
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Fact, Probe, Unknown, fact_path
from ..typed import Any, Dict, Iterator, List, Optional, Regex, Tuple

TOP = "/lib/modules"
IMAGE = Regex(r"(?:vmlinuz|vmlinux|Image|kernel)-(?P<release>\d.*?)(?:\.old|\.efi\.signed)?")
MODULE = Regex(r"^((?:\S*/)?nvidia(?:-current)?\.ko(?:\.(?:xz|zst|gz))?):", re.MULTILINE)
FOLDERS = ("updates", "extra", "weak-updates", "misc", "kernel/drivers/video")
MOST_BYTES = 16 << 20


def collect(host: Host) -> Iterator[Fact]:
    """Yield each installed kernel, the images, and whether a reboot is waited for."""
    names = host.try_list(TOP)
    release = host.try_read("/proc/sys/kernel/osrelease")
    if isinstance(names, Unknown):
        yield "kernel/installed", names
    elif not names or (isinstance(release, str) and release.strip() not in names):
        yield "kernel/installed", Unknown("denied", "%s: the running kernel's folder is not here: seen from a container, or removed" % TOP)
    for name in names if isinstance(names, list) else ():
        if re.match(r"\d", name):
            yield fact_path("kernel", "installed", name), _kernel(host, TOP + "/" + name)
    images = host.try_list("/boot")
    if images is not None:
        yield "kernel/images", images if isinstance(images, Unknown) else parse_images(images)
    yield from _reboot(host)


def _kernel(host: Host, top: str) -> Any:
    """Return what is known of one kernel's NVIDIA module, Unknown where its folder could not be read."""
    listed = host.try_read(top + "/modules.dep", MOST_BYTES)
    if isinstance(listed, str):
        found = MODULE.search(listed)
        if found:
            return {"nvidia_module": True, "path": found.group(1)}
    path = _on_disk(host, top)
    if isinstance(path, Unknown) or (path is None and isinstance(listed, Unknown)):
        return path or listed
    told: Dict[str, Any] = {"nvidia_module": path is not None and not isinstance(listed, str)}
    if path is not None:
        told["path"] = path
    return {**told, "unlisted": True} if path is not None and isinstance(listed, str) else told


def _on_disk(host: Host, top: str) -> Any:
    """Return where the module lies below a kernel's folder, None where it is in none of the usual places, Unknown where one cannot be listed."""
    above = host.attempt(host.list, top + "/kernel")
    special = [name for name in above if name.startswith("nvidia-")] if isinstance(above, list) else []
    refused: Optional[Unknown] = above if isinstance(above, Unknown) else None
    for folder in (*FOLDERS, *("kernel/" + name for name in special)):
        found = host.attempt(_module_below, host, top + "/" + folder)
        if isinstance(found, str):
            return folder + "/" + found
        refused = found if isinstance(found, Unknown) else refused
    return refused


def _module_below(host: Host, folder: str) -> Optional[str]:
    return next((path for path, stat in host.walk(folder) if MODULE.match(path + ":") and not isinstance(stat, Unknown)), None)


def parse_images(names: List[str]) -> List[str]:
    """Return the releases whose images stand among the names in /boot, sorted."""
    found = [IMAGE.fullmatch(name) for name in names]
    return sorted({one.group("release") for one in found if one})


def _reboot(host: Host) -> Iterator[Fact]:
    """Yield what waits for a reboot, where the host keeps note of it."""
    is_required: Tuple[Any, ...] = tuple(host.attempt(host.exists, folder + "/reboot-required") for folder in ("/run", "/var/run"))
    if True in is_required:
        text = host.try_read("/run/reboot-required.pkgs")
        yield "kernel/reboot_required", sorted(set(text.split())) if isinstance(text, str) else text or []
    elif any(is_required):
        yield "kernel/reboot_required", next(filter(None, is_required))


PROBES = (
    Probe(
        "kernels", collect, deadline_s=5.0, tells=("kernel/installed", "kernel/installed/*", "kernel/images", "kernel/reboot_required"),
        reads="/lib/modules, /boot, /run/reboot-required",
    ),
)
