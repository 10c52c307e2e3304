"""Podman's client as the line: the agent runs inside the container. Rootless containers are seen by the user alone who runs them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .destination import USUAL, Destination, Options
from .inside import Client, stream_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment

CLIENT = Client("podman", lambda name: ("podman", "exec", "-i", name), look="podman ps", meanings=(
    (r"no such container|no container with name or ID", "there is no container for {name}, or another user runs it",
     "see its name with podman ps -a, as the user that runs it"),
    (r"container state improper|is not running", "the container of {name} does not run",
     "start or unpause it, or look at why it ended: podman inspect; from outside its host still answers"),
    (r"[Cc]annot connect to Podman|unable to connect to Podman", "podman's service cannot be reached for {name}: {words}",
     "start it, or correct CONTAINER_HOST or podman's connection"),
))


@dataclass(frozen=True)
class Podman:
    """Reaches a container through ``podman exec``, here or on a host behind ssh."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "podman"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        yield from stream_inside(CLIENT, self.destination, self.options, shipment, deadline_s)
