"""The user's ssh-agent for paramiko, which would wait for it without a limit. Asked only where the user wants it. Only paramiko.py uses this."""
from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from .wire import LinkLost, visible

if TYPE_CHECKING:
    from paramiko.agent import AgentSSH


def open_agent(path: str, wait_s: float) -> AgentSSH:
    """Return the agent behind a socket, its keys listed. LinkLost where it does not answer; each of its later answers is waited for as long."""
    from paramiko import SSHException  # noqa: PLC0415  # only who connects with paramiko pays its import
    from paramiko.agent import AgentSSH  # noqa: PLC0415  # as above

    line = socket.socket(socket.AF_UNIX)

    class Agent(AgentSSH):
        def close(self) -> None:
            line.close()

    line.settimeout(wait_s)
    agent = Agent()
    try:
        line.connect(path)
        agent._connect(line)  # type: ignore[attr-defined]  # noqa: SLF001  # paramiko's own way to a socket: its public one takes SSH_AUTH_SOCK, with no limit
    except TimeoutError:
        line.close()
        raise LinkLost(f"the ssh-agent at {visible(path)} did not answer in {wait_s:.0f} s", "see whether ssh-add -l answers, and restart the agent") from None
    except (OSError, SSHException, ValueError) as failed:
        line.close()
        raise LinkLost(f"the ssh-agent at {visible(path)} cannot be used: {visible(str(failed))}", "start it, or name a key file: IdentityFile") from None
    return agent
