"""Whether all of the host's processes can be seen from here. A view that is narrow rules nothing out."""
from __future__ import annotations

from .host import Host
from .probe import Unknown
from .processes_seen import is_contained, limited_view
from .typed import Optional

CONTAINED = Unknown("denied", "inside a container: processes outside its PID namespace are not visible; ask on the host")


def narrow_view(host: Host) -> Optional[Unknown]:
    """Return why processes of the host are hidden from here, or None where all of them can be seen."""
    return CONTAINED if is_contained(host) else limited_view(host)
