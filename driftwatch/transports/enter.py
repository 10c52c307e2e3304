"""The machine around this container, through the namespaces of its first process: for a pod that may see it (hostPID, and privileged).

Runs the machine's own shell and Python there, with the agent out of memory as everywhere. Outside of a container it is the machine itself.
"""
from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .child import converse
from .conversation import Conversation
from .destination import USUAL, Destination, Options
from .wire import LinkLost, command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment

ALLOW = "run the container privileged, with the machine's process numbers (Kubernetes: hostPID and securityContext.privileged; docker: --pid=host --privileged)"


@dataclass(frozen=True)
class Enter:
    """Reaches the machine around this container through ``nsenter``."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "enter"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        if shutil.which("nsenter") is None:
            raise LinkLost("there is no nsenter on this machine's PATH", "install util-linux in the image")
        talk = Conversation(shipment, deadline_s)

        def judge(code: int) -> LinkLost:
            if "nsenter:" in talk.complaints.decode("utf-8", "replace"):
                return LinkLost(f"the machine around this container cannot be entered (uid {os.geteuid()}): {talk.last_words()}", ALLOW)
            return talk.lost_at_exit(code)

        namespaces = ("--mount", "--uts", "--ipc", "--net")
        argv = ["nsenter", f"--target={self.destination.inside}", *namespaces, "--", "/bin/sh", "-c", command(shipment.nonce, shipment.pythons)]
        yield from converse(argv, talk, judge)
