"""The stall table as tests: whatever hangs, a stream ends by its deadline, keeps what it heard, says why, and leaves no process here or there.

All rows run side by side, each both ways; each row is then a test of its own that looks at its outcome.
"""

from __future__ import annotations

import re
import secrets
import shutil
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.lab import wires
from tests.lab.sshd import Server
from tests.transports import whole
from tests.transports.listen import Heard, processes_that_name, take
from tests.transports.payload import shipment
from tests.transports.scenes import Impossible, Row, built
from tests.transports.stalls import TABLE, Stall
from tests.transports.whole import WAYS

AT_ONCE = 20
AFTER_END_S = 3.0


@dataclass(frozen=True)
class Outcome:
    """What came of one row, and which processes of it were left: ours, the host's, and ours when the scene was over."""

    heard: Heard
    left_here: list[int]
    left_there: list[int]
    left_at_all: list[int]


def play(stall: Stall, lab, row: Row) -> Outcome:
    """Build the scene, take the whole stream, and look for what is left of it."""
    row.folder.mkdir()
    with stall.scene(lab, row) as scene:
        sent = replace(_shipment(stall), pythons=scene.pythons)
        heard = take(scene.transport, sent, stall.deadline_s, scene.watch)
        left_here, left_there = _left(sent.nonce, 0 if stall.leaves else AFTER_END_S)
    return Outcome(heard, left_here, left_there, processes_that_name(*scene.marks) if scene.marks else [])


def _shipment(stall: Stall):
    if stall.act == "big":
        return shipment("answer", pad=secrets.token_hex(4 << 20))
    return shipment(stall.act, facts_first=stall.act not in {"answer", "tells_much"}, ends_in_s=int(stall.deadline_s) + 3)


def _left(nonce: str, wait_s: float) -> tuple[list[int], list[int]]:
    """Return the ssh clients and the other processes that still have this nonce on their command line, once they had some time to end."""
    stop = time.monotonic() + wait_s
    while (left := processes_that_name(nonce)) and time.monotonic() < stop:
        time.sleep(0.05)
    clients = [pid for pid in left if _program(pid) == "ssh"]
    return clients, [pid for pid in left if pid not in clients]


def _program(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


@dataclass(frozen=True)
class Table:
    """All outcomes, as futures: of the rows by name and way, and of the whole snapshots by way and whether the line hung too."""

    rows: dict[tuple[str, str], Future]
    wholes: dict[tuple[str, bool], Future]


@pytest.fixture(scope="module")
def table(server: Server, tmp_path_factory):
    """Return the outcome of every row."""
    folder = tmp_path_factory.mktemp("stalls")
    with built(folder, server) as lab, ExitStack() as stack:
        near = far = stack.enter_context(ThreadPoolExecutor(AT_ONCE))
        if lab.wires:
            far = stack.enter_context(ThreadPoolExecutor(AT_ONCE, initializer=wires.enter, initargs=(lab.wires.here, folder / "resolv.conf")))
        rows = sorted(((stall, scheme) for stall in TABLE for scheme in _ways()), key=lambda one: (one[0].is_busy, -one[0].deadline_s))
        wholes = {
            (scheme, is_cut): near.submit(whole.play, folder / f"{scheme}-{is_cut}", scheme, is_cut=is_cut) for scheme in _ways() for is_cut in (False, True)}
        outcomes = {
            (stall.name, scheme): (far if stall.is_far else near).submit(play, stall, lab, Row(folder / str(number), WAYS[scheme], number))
            for number, (stall, scheme) in enumerate(rows)}
        wait([*outcomes.values(), *wholes.values()])
        yield Table(outcomes, wholes)


def _ways() -> list[str]:
    return [scheme for scheme in WAYS if scheme != "openssh" or shutil.which("ssh")]


@pytest.mark.parametrize("scheme", WAYS)
@pytest.mark.parametrize("stall", TABLE, ids=lambda stall: stall.name)
def test_whatever_hangs_the_stream_ends_in_time_with_what_it_heard_and_why(stall: Stall, scheme: str, table):
    if scheme not in _ways():
        pytest.skip("no ssh client here: install openssh-client")
    try:
        outcome = table.rows[stall.name, scheme].result()
    except Impossible as missing:
        pytest.skip(str(missing))
    heard = outcome.heard
    assert heard.elapsed_s <= stall.deadline_s + 2
    assert _is_kept(heard, stall)
    assert heard.lost is None if not stall.words(scheme) else re.search(stall.words(scheme), heard.said), heard.lost
    assert (outcome.left_here, outcome.left_at_all) == ([], [])
    assert stall.leaves or outcome.left_there == []


def _is_kept(heard: Heard, stall: Stall) -> bool:
    """Tell whether the row's frames came, and the agent that runs was told less time than the host has."""
    told = [frame["order"]["remaining_s"] for frame in heard.frames if frame["frame"] == "begin"]
    kinds = tuple(heard.kinds)
    is_same = len(kinds) > 2 and kinds[:2] == stall.kept[:2] if stall.kept[-1:] == ("…",) else kinds == stall.kept
    return is_same and all(0 < one < stall.deadline_s for one in told)


@pytest.mark.parametrize("scheme", WAYS)
def test_a_hanging_probe_is_ended_by_the_agent_in_time_for_its_end_frame(scheme, table):
    """The agent keeps D - elapsed - 3 s, so the hanging probe costs its own answer and no other."""
    if scheme not in _ways():
        pytest.skip("no ssh client here: install openssh-client")
    one = table.wholes[scheme, False].result()
    assert one.elapsed_s <= whole.DEADLINE_S
    assert (one.snapshot.probes["system"].status, one.snapshot.probes["nvml"].status) == ("ok", "timeout")


@pytest.mark.parametrize("scheme", WAYS)
def test_a_hanging_line_is_ended_by_us_and_loses_only_what_was_not_told(scheme, table):
    if scheme not in _ways():
        pytest.skip("no ssh client here: install openssh-client")
    one = table.wholes[scheme, True].result()
    assert one.elapsed_s <= whole.DEADLINE_S + 2
    assert "kernel/release" in one.snapshot.facts
    assert one.snapshot.probes["nvml"].status == "lost"
    reasons = (f"the deadline of {whole.DEADLINE_S:g} s came in mid-run", "not responding")  # ssh's own keepalive may see the dead line just before
    assert any(reason in one.snapshot.probes["nvml"].reason for reason in reasons)


def test_no_thread_of_paramiko_is_left_when_all_rows_are_over(table):
    stop = time.monotonic() + 5
    while (left := [one for one in threading.enumerate() if one.name == "driftwatch paramiko"]) and time.monotonic() < stop:
        time.sleep(0.05)
    assert left == []


def test_every_row_stands_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "transports.md").read_text()
    assert [stall.name for stall in TABLE if f"| {stall.name}{' *' if stall.is_far else ''} |" not in page] == []
