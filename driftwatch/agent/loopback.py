"""One HTTP GET to this host's own loopback address, in plain sockets: no proxy, no redirect, no name that could lead elsewhere. Sends nothing but the path.

Has no deadline of its own: it is asked in a child that is ended at one.
"""
from __future__ import annotations

import errno
import re
import socket

from .probe import Absent, Denied, Unreadable
from .typed import Tuple

PLACES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
ELSEWHERE = (errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETUNREACH)
HEAD_LIMIT = 1 << 16


def fetch(port: int, path: str, cap: int) -> Tuple[int, str]:
    """Return status and body of what is served at a path. Absent where nothing listens, Unreadable where the answer is no HTTP or larger than ``cap``."""
    for family, address in PLACES:
        with socket.socket(family, socket.SOCK_STREAM) as line:
            try:
                line.connect((address, port))
                line.sendall(b"GET %s HTTP/1.0\r\nHost: localhost:%d\r\nAccept: application/json\r\nConnection: close\r\n\r\n" % (path.encode("ascii"), port))
                return _answer(line, cap)
            except OSError as failed:
                if failed.errno in ELSEWHERE:
                    continue
                kind = Denied if failed.errno in (errno.EACCES, errno.EPERM) else Unreadable
                raise kind("port %d: %s" % (port, failed.strerror or failed)) from None
    raise Absent("port %d: nothing listens on %s" % (port, " or ".join(address for _, address in PLACES)))


def _answer(line: socket.socket, cap: int) -> Tuple[int, str]:
    data = b""
    while not _is_whole(data):
        piece = line.recv(1 << 16)
        if not piece:
            break
        data += piece
        if len(data) > cap + HEAD_LIMIT:
            raise Unreadable("larger than %d bytes, cut" % cap)
    head, _, body = data.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.\d (\d{3})\b", head)
    if status is None:
        raise Unreadable("no HTTP answer: %r" % data[:60])
    return int(status.group(1)), body.decode("utf-8", "replace")


def _is_whole(data: bytes) -> bool:
    """Tell whether a head has come and as many bytes behind it as it promises."""
    head, end, body = data.partition(b"\r\n\r\n")
    promised = re.search(rb"(?i)\r\ncontent-length: *(\d{1,15})\s*(?:\r\n|\Z)", head) if end else None
    return promised is not None and len(body) >= int(promised.group(1))
