"""A tiny agent, shipped like the real one, that does what a test orders: it answers, hangs, floods, or breaks the line."""

from __future__ import annotations

import io
import json
import secrets
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from driftwatch.transports.wire import Shipment

if TYPE_CHECKING:
    from collections.abc import Sequence

MAIN = """
import json, os, signal, sys, threading, time

def main(nonce, order):
    order = json.loads(order)
    act = order["act"]
    globals()["ordered"] = order
    if "ends_in_s" in order:
        signal.alarm(order["ends_in_s"])
    def tell(kind, **more):
        os.write(1, ("\\x1eDW1 %s %s\\n" % (nonce, json.dumps(dict(more, frame=kind)))).encode())
    def lifeline():
        while os.read(0, 4096):
            pass
        os._exit(3)
    tell("begin", pid=os.getpid(), home=os.environ.get("HOME"), python=sys.version.split()[0], order=order)
    if order.get("facts_first"):
        tell("facts", facts=[["a/first", 1]])
    if act != "deaf":
        threading.Thread(target=lifeline, daemon=True).start()
    globals()[act](tell)
    tell("end")

def answer(tell):
    print("a stray print")
    sys.stdout.flush()
    tell("facts", facts=[["a/b", 1]])

def reads(tell):
    with open(ordered["path"]) as file:
        tell("text", text=file.read())

def hang(tell):
    time.sleep(600)

def deaf(tell):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    time.sleep(15)

def flood(tell):
    while True:
        os.write(1, b"y" * 65536)

def complain(tell):
    while True:
        os.write(2, b"y" * 65536)

def drip(tell):
    while True:
        os.write(1, b".")
        time.sleep(0.2)

def one_long_frame(tell):
    tell("facts", facts=[["a", "x" * (9 << 20)]])

def raises(tell):
    raise ValueError("the agent has a bug")

def leaves(tell):
    sys.exit(1)

def sshd_above():
    pid = os.getpid()
    while open("/proc/%d/comm" % pid).read().strip() != "sshd":
        pid = int(open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[1])
    return pid

def cut_the_line(tell):
    time.sleep(0.5)
    os.kill(sshd_above(), signal.SIGKILL)
    time.sleep(600)

def stop_the_line(tell):
    time.sleep(0.5)
    os.kill(sshd_above(), signal.SIGSTOP)
    time.sleep(600)

def tells_much(tell):
    for number in range(600):
        tell("facts", facts=[["a/%d" % number, os.urandom(2000).hex()]])

def tells_and_leaves(tell):
    for number in range(100):
        tell("facts", facts=[["a/%d" % number, os.urandom(2000).hex()]])

def holds_the_pipe(tell):
    if os.fork() == 0:
        os.setsid()
        time.sleep(3)
        os._exit(0)
    tell("child")
"""


def archive() -> bytes:
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED) as made:
        for name, source in (("__init__", ""), ("agent/__init__", ""), ("agent/main", MAIN)):
            made.writestr(f"driftwatch/{name}.py", source)
    return room.getvalue()


def shipment(act: str, pythons: Sequence[str] = ("python3", "/usr/bin/python3"), **order: Any) -> Shipment:
    def payload(remaining_s: float) -> bytes:
        head = json.dumps({"act": act, "remaining_s": remaining_s, **order}).encode()
        return zlib.compress(b"%010d" % len(head) + head + archive(), 6)

    return Shipment(secrets.token_hex(8), tuple(pythons), payload)
