"""Docker's client as the line: the agent runs inside the container, as the user that the image names, and sees what a process there sees."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .destination import USUAL, Destination, Options
from .inside import Client, stream_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment

CLIENT = Client("docker", lambda name: ("docker", "exec", "-i", name), look="docker ps", meanings=(
    (r"permission denied while trying to connect",
     "this user may not ask docker's daemon for {name}", "let it into the group docker, or take the snapshot as root"),
    (r"[Cc]annot connect to the Docker daemon|error during connect", "docker's daemon cannot be reached for {name}: {words}",
     "start it (systemctl start docker), or correct DOCKER_HOST or docker's context"),
    (r"No such container", "there is no container for {name}", "see its name with: docker ps -a"),
    (r"is not running|is restarting", "the container of {name} does not run",
     "start it, or look at why it ended: docker inspect; from outside its host still answers"),
    (r"is paused", "the container of {name} is paused", "docker unpause, if it may run"),
))


@dataclass(frozen=True)
class Docker:
    """Reaches a container through ``docker exec``, here or on a host behind ssh."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "docker"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        yield from stream_inside(CLIENT, self.destination, self.options, shipment, deadline_s)
