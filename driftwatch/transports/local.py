"""This machine, reached the same way as any other: a shell, stage 0, frames. Our own Python is tried first."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .child import converse
from .conversation import Conversation
from .destination import LOCAL, USUAL, Destination, Options
from .wire import command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment


@dataclass(frozen=True)
class LocalTransport:
    """Runs the agent on this machine."""

    destination: Destination = LOCAL
    options: Options = USUAL
    SCHEME: ClassVar[str] = "local"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        talk = Conversation(shipment, deadline_s)
        pythons = [one for one in (sys.executable, *shipment.pythons) if one]
        yield from converse(["/bin/sh", "-c", command(shipment.nonce, pythons)], talk, talk.lost_at_exit)
