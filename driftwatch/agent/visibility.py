"""Whether all of the host's processes can be seen from here. A view that is narrow rules nothing out."""
from __future__ import annotations

from typing import Optional

from .host import Host
from .probe import Unknown
from .processes_seen import limited_view

FIRST_PID_NAMESPACE = "pid:[4026531836]"  # its inode number is fixed in the kernel (PROC_PID_INIT_INO)
CONTAINED = Unknown("denied", "inside a container: processes outside its PID namespace are not visible; ask on the host")


def narrow_view(host: Host) -> Optional[Unknown]:
    """Return why processes of the host are hidden from here, or None where all of them can be seen."""
    namespace = host.attempt(host.link, "/proc/self/ns/pid")
    if isinstance(namespace, str):
        is_contained = namespace != FIRST_PID_NAMESPACE
    else:
        is_contained = any(host.attempt(host.exists, path) is True for path in ("/.dockerenv", "/run/.containerenv"))
    return CONTAINED if is_contained else limited_view(host)
