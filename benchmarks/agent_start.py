"""The agent from exec to its first probe's child, against a bare Python: ``python benchmarks/agent_start.py [--rounds N]``.

What runs is what a transport runs on a host: stage 0 on the command line of a Python, the payload on its standard input, no .pyc. The end is the frame that
tells of the first probe's start. Goal: at most 6 times ``python3 -I -S -c pass``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time

from local_snapshot import ONLY, ROOT

sys.path.insert(0, str(ROOT))

from driftwatch.capture.bundle import payload
from driftwatch.capture.plan import plan_for
from driftwatch.capture.take import Order, _wire_order
from driftwatch.transports.wire import STAGE0, addressed

NONCE = "benchmark"
WORDS = (NONCE, "DW1", "ready", "old_python", "/proc/self/fd/", "/dev/shm")
STARTED = b'"frame":"start"'


def main() -> None:
    """Measure in turn, print a line for each plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for name, only in (("--only " + ONLY, ONLY.split(",")), ("the default plan", [])):
        shipped = shipment(only)
        pairs = [(until_first_probe(shipped), bare()) for _ in range(rounds)]
        ours, theirs = zip(*pairs, strict=True)
        print(f"{name}: {len(shipped) >> 10} KiB, {1e3 * min(ours):.0f} ms at best, {min(ours) / min(theirs):.2f} of a bare Python's best, "
              f"median of the ratios {statistics.median(mine / other for mine, other in pairs):.2f}")


def shipment(only: list[str]) -> bytes:
    """Return what goes to a host's Python over standard input: the agent, and the order to ask some probes, all where none is named."""
    return addressed(payload(_wire_order(Order(plan_for(only)), 60.0, None)))


def until_first_probe(shipped: bytes) -> float:
    """Return the seconds from exec to the frame of the first probe's start."""
    begun = time.perf_counter()
    agent = subprocess.Popen([sys.executable, "-E", "-s", "-S", "-c", STAGE0, *WORDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    feeder = threading.Thread(target=agent.stdin.write, args=(shipped,))  # type: ignore[union-attr]
    feeder.start()
    told = b""
    while STARTED not in told:
        piece = os.read(agent.stdout.fileno(), 1 << 16)  # type: ignore[union-attr]
        if not piece:
            raise SystemExit("the agent ended before its first probe")
        told += piece
    took = time.perf_counter() - begun
    feeder.join()
    agent.communicate()
    return took


def bare() -> float:
    """Return the seconds of a Python that does nothing."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
