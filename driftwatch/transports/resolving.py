"""Names to addresses, asked in a child that can be killed: the C library's resolver has no deadline of its own."""
from __future__ import annotations

import ipaddress
import json
import sys
from contextlib import suppress

from .asking import ask
from .wire import LinkLost, visible

ASK = """\
import json, socket, sys
try:
    found = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM)
except OSError as failed:
    sys.exit(failed.strerror)
print(json.dumps([entry[4][:2] for entry in found]))
"""


def addresses(host: str, port: int, wait_s: float) -> list[tuple[str, int]]:
    """Return the addresses of a host in the order to try them. LinkLost where it has none, or none was told in ``wait_s`` seconds."""
    with suppress(ValueError):
        return [(str(ipaddress.ip_address(host)), port)]
    answer = ask([sys.executable, "-I", "-S", "-c", ASK, host, str(port)], wait_s)
    if answer.code is None:
        raise LinkLost(f"the name {host} was not resolved in {wait_s:.0f} s", "check the name server, or give the address")
    if answer.code:
        raise LinkLost(f"the name {host} was not resolved: {visible(answer.complaints.strip())}", "check the name and the name server")
    return [(str(address), int(number)) for address, number in json.loads(answer.said)]
