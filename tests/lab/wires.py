"""Two machines of one kernel with a cable between them: network namespaces, a veth pair, and nft rules that lose packets. Nothing has a name outside.

A thread that calls ``enter`` lives in one of them from then on, and so do its threads and children: it must not go back to a pool that others use.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEW_NAMESPACE, OWN_FOLDERS, NEW_NETWORK = 0x20000, 0x200, 0x40000000
BIND, PRIVATE = 0x1000, 0x44000
LIBC = ctypes.CDLL(None, use_errno=True)
HERE, THERE, SLOW, NAME_SERVER = "10.77.0.1", "10.77.0.2", "10.78.0.2", "10.77.0.99"
BLACK_HOLES, NARROW = ("10.77.0.3", "10.77.0.4"), "10.77.0.5"
SLOW_KBIT = 1000
RULES = f"""
table ip lost {{
  set gone {{ type ipv4_addr; }}
  chain arriving {{
    type filter hook input priority 0;
    ip daddr @gone drop
    ip daddr {NAME_SERVER} drop
    ip daddr {NARROW} meta length > 600 drop
  }}
  chain leaving {{
    type filter hook output priority 0;
    ip saddr @gone drop
    ip saddr {NARROW} meta length > 600 drop
  }}
}}
"""


@dataclass(frozen=True)
class Wires:
    """The two machines, each by the process that keeps it."""

    here: int
    there: int

    def lose(self, address: str) -> None:
        """Let no packet to or from an address of the far machine through any more."""
        run(["nsenter", f"--net=/proc/{self.there}/ns/net", "nft", "add", "element", "ip", "lost", "gone", f"{{ {address} }}"])


def why_not() -> str:
    """Return why no such machines can be made here, or ""."""
    if os.geteuid() != 0:
        return "network namespaces and packet rules want root"
    missing = [program for program in ("ip", "nft", "tc", "unshare", "nsenter") if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    asked = subprocess.run(["unshare", "--net", "--mount", "nft", "list", "ruleset"], capture_output=True, text=True, check=False)
    return f"namespaces or nft are refused here: {asked.stderr.strip()[:200]}" if asked.returncode else ""


@contextlib.contextmanager
def laid(resolv_conf: Path) -> Iterator[Wires]:
    """Yield the two machines; here ``resolv_conf`` names a server that never answers. They are gone when their keepers are."""
    resolv_conf.write_text(f"nameserver {NAME_SERVER}\noptions timeout:30 attempts:5\n")
    keepers = [subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", "echo up; exec sleep 600"], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for keeper in keepers:
            assert keeper.stdout
            keeper.stdout.readline()
        wires = Wires(keepers[0].pid, keepers[1].pid)
        _lay(wires)
        yield wires
    finally:
        for keeper in keepers:
            keeper.kill()
            keeper.communicate()


def _lay(wires: Wires) -> None:
    for name, mine, theirs in (("fast", [HERE], [THERE, *BLACK_HOLES, NARROW, NAME_SERVER]), ("slow", ["10.78.0.1"], [SLOW])):
        run(["ip", "link", "add", name, "netns", str(wires.here), "type", "veth", "peer", "name", name, "netns", str(wires.there)])
        for keeper, addresses in ((wires.here, mine), (wires.there, theirs)):
            inside = ["nsenter", f"--net=/proc/{keeper}/ns/net"]
            for address in addresses:
                run([*inside, "ip", "address", "add", f"{address}/24", "dev", name])
            for device in (name, "lo"):
                run([*inside, "ip", "link", "set", device, "up"])
    inside = ["nsenter", f"--net=/proc/{wires.there}/ns/net"]
    run([*inside, "nft", "-f", "-"], RULES)
    run([*inside, "tc", "qdisc", "add", "dev", "slow", "root", "tbf", "rate", f"{SLOW_KBIT}kbit", "burst", "3kb", "latency", "400ms"])


def run(argv: list[str], told: str = "") -> None:
    """Run a command that must work."""
    done = subprocess.run(argv, input=told, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")


def enter(keeper: int, resolv_conf: Path | None = None) -> None:
    """Put the calling thread on a keeper's machine, with this file as its /etc/resolv.conf."""
    with Path(f"/proc/{keeper}/ns/net").open() as network:
        _call("setns", network.fileno(), NEW_NETWORK)
    if resolv_conf is not None:
        _call("unshare", OWN_FOLDERS | NEW_NAMESPACE)
        _call("mount", b"none", b"/", None, PRIVATE, None)
        _call("mount", os.fsencode(resolv_conf), b"/etc/resolv.conf", None, BIND, None)


def _call(name: str, *words: object) -> None:
    if getattr(LIBC, name)(*words) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
