"""Node sets in ClusterShell's own language, its groups and set operations included. Needs the extra ``clustershell``."""

from __future__ import annotations

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed


def read(place: str) -> tuple[Listed, ...]:
    """Return the nodes of an expression such as ``@gpu!gpu[07,09]``. Raises FleetError where ClusterShell is missing or refuses it."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException  # noqa: PLC0415  # an extra, loaded only for this source
    except ImportError:
        raise FleetError("node sets need ClusterShell, which is not installed", f"nodeset:{place}", "pip install 'driftwatch-gpu[clustershell]'") from None
    try:
        return tuple(Listed(str(name), str(name)) for name in NodeSet(place))
    except NodeSetException as refused:
        raise FleetError(f"ClusterShell refuses the node set: {refused}", f"nodeset:{place}", "nodeset --expand EXPRESSION   tries it") from None
