"""Names to addresses, asked in a child that can be killed: the C library's resolver has no deadline of its own."""
from __future__ import annotations

import ipaddress
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

from .wire import LinkLost, visible

ASK = """\
import json, socket, sys
try:
    found = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM)
except OSError as failed:
    sys.exit(failed.strerror)
print(json.dumps([entry[4][:2] for entry in found]))
"""
AFTER_KILL_S = 0.5


def addresses(host: str, port: int, wait_s: float) -> list[tuple[str, int]]:
    """Return the addresses of a host in the order to try them. LinkLost where it has none, or none was told in ``wait_s`` seconds."""
    with suppress(ValueError):
        return [(str(ipaddress.ip_address(host)), port)]
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", ASK, host, str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        told, complaint = child.communicate(timeout=wait_s)
    except subprocess.TimeoutExpired:
        _end(child)
        raise LinkLost(f"the name {host} was not resolved in {wait_s:.0f} s", "check the name server, or give the address") from None
    if child.returncode:
        raise LinkLost(f"the name {host} was not resolved: {visible(complaint.decode('utf-8', 'replace').strip())}", "check the name and the name server")
    return [(str(address), int(number)) for address, number in json.loads(told)]


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and wait a moment; a child that stays is given up."""
    os.killpg(child.pid, signal.SIGKILL)
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    try:
        child.wait(AFTER_KILL_S)
    except subprocess.TimeoutExpired:
        child.returncode = -signal.SIGKILL
