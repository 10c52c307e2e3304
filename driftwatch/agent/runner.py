"""Runs the planned probes, each in a child of its own with its own deadline, and tells frames of what became of them.

Eight run at once. A probe over its deadline gets TERM, a grace, KILL to everything below it and a bounded wait; what is still there is left
behind and named. The whole run has a deadline too, and ends at once when its standard input closes. Nothing here waits without a limit.
"""
from __future__ import annotations

import json
import mmap
import os
import select
import signal
import time

from . import processes
from .child import run_probe
from .host import Settings, Target
from .typed import Any, Dict, List, NamedTuple, NoReturn, Optional, Set, Tuple

AT_ONCE = 8
KILL_AFTER_S = 0.5
EARLY_AT_MOST = 0.75  # of the time there is: a short deadline must leave the probe time to ask
GIVE_UP_AFTER_S = 1.0
CLOSING_S = 2.0
ASKING_BYTES = 1024
BACKLOG_BYTES = 4 << 20


class Planned(NamedTuple):
    """One probe of the plan that the controller sent."""

    name: str
    module: str
    deadline_s: float
    early_term_s: float
    cap_bytes: int
    needs_targets: bool


class Work(NamedTuple):
    """What every probe's child is given: the root to look at, the settings, and the mask for secrets."""

    root: Any
    settings: Settings
    mask: Any


class Running:
    """A probe whose child runs, or is being ended."""

    def __init__(self, planned: Planned, pid: int, reader: int, asking: mmap.mmap) -> None:
        self.planned = planned
        self.pid = pid
        self.reader = reader
        self.asking = asking
        self.started = time.monotonic()
        self.rest = b""
        self.told_bytes = 0
        self.outcome: Dict[str, Any] = {}
        self.family: Set[int] = {pid}
        self.phase = "running"
        self.next_step = 0.0
        self.ended: Optional[int] = None
        self.is_named_slow = False

    def question(self) -> str:
        """Return what the child asked last, as it noted it before asking."""
        return self.asking[:].split(b"\0", 1)[0].decode("utf-8", "replace")


class Runner:
    """The event loop of the agent. ``emit`` frames go to descriptor ``out``; ``lifeline`` is the standard input of the controller."""

    def __init__(self, nonce: str, plan: List[Planned], work: Work, deadline_s: float) -> None:
        self.nonce = nonce
        self.queue = list(plan)
        self.work = work
        now = time.monotonic()
        self.end_at = now + deadline_s
        self.stop_at = self.end_at - min(CLOSING_S, deadline_s / 3)
        self.running: Dict[int, Running] = {}
        self.targets: Tuple[Target, ...] = ()
        self.untargeted: Dict[str, Any] = {}
        self.has_targets = all(one.name != "targets" for one in plan)
        self.left: Set[int] = set()
        self.pending = bytearray()
        self.out = os.dup(1)
        os.dup2(2, 1)
        os.set_blocking(self.out, False)
        os.set_blocking(0, False)

    def run(self) -> NoReturn:
        """Run the plan, tell the end frame, and leave the process."""
        processes.become_subreaper()
        while self.queue or self.running:
            self._start_some()
            self._wait()
            now = time.monotonic()
            for one in list(self.running.values()):
                self._look_after(one, now)
            if now >= self.stop_at:
                self._drop_queue()
        self._sweep()
        self.emit({"frame": "end"})
        self._flush_until(self.end_at)
        os._exit(0)

    def emit(self, frame: Dict[str, Any]) -> None:
        """Queue one frame for the controller."""
        self._emit_text(json.dumps(frame, separators=(",", ":")))

    def _emit_text(self, text: str) -> None:
        self.pending += ("\x1eDW1 %s %s\n" % (self.nonce, text)).encode("ascii")
        self._flush()

    def _flush(self) -> None:
        while self.pending:
            try:
                del self.pending[: os.write(self.out, self.pending[:65536])]
            except BlockingIOError:
                return
            except OSError:
                self._leave()

    def _flush_until(self, stop: float) -> None:
        while self.pending and time.monotonic() < stop:
            select.select([], [self.out], [], 0.05)
            self._flush()

    def _leave(self) -> NoReturn:
        """End all that runs below us and leave: the controller is gone."""
        for _ in range(2):  # what was started meanwhile is an orphan then, and ours
            processes.send(processes.below(os.getpid()), signal.SIGKILL)
        os._exit(3)

    def _start_some(self) -> None:
        for planned in list(self.queue):
            if len(self.running) >= AT_ONCE:
                return
            if planned.needs_targets and not self.has_targets:
                continue
            self.queue.remove(planned)
            self._start(planned)

    def _start(self, planned: Planned) -> None:
        pipe: Tuple[int, ...] = ()
        try:
            asking = mmap.mmap(-1, ASKING_BYTES)
            pipe = reader, writer = os.pipe()
            pid = os.fork()
        except OSError as failed:
            for end in pipe:
                os.close(end)
            self._tell(planned, 0.0, {"status": "error", "reason": "no child could be started: %s" % failed.strerror}, [])
            self.has_targets = self.has_targets or planned.name == "targets"
            return
        if pid == 0:
            os.close(self.out)
            os.close(reader)
            run_probe(planned, self.work, self.targets, (writer, asking))
        os.close(writer)
        os.set_blocking(reader, False)
        self.running[reader] = Running(planned, pid, reader, asking)
        self.emit({"frame": "start", "probe": planned.name, "deadline_s": planned.deadline_s})

    def _wait(self) -> None:
        readers = [0] if len(self.pending) > BACKLOG_BYTES else [0, *self.running]
        nap = 0.01 if any(one.phase != "running" for one in self.running.values()) else 0.05
        ready, writable, _ = select.select(readers, [self.out] if self.pending else [], [], nap)
        if 0 in ready:
            self._watch_lifeline()
        if writable:
            self._flush()
        for reader in ready:
            if reader in self.running:
                self._take(self.running[reader])

    def _watch_lifeline(self) -> None:
        try:
            if not os.read(0, 4096):
                self._leave()
        except BlockingIOError:
            pass
        except OSError:
            self._leave()

    def _take(self, one: Running) -> bool:
        """Read what a child told; False at the end of its pipe."""
        try:
            data = os.read(one.reader, 65536)
        except BlockingIOError:
            return True
        if not data:
            return False
        one.told_bytes += len(data)
        if one.told_bytes > one.planned.cap_bytes:
            return True
        lines = (one.rest + data).split(b"\n")
        one.rest = lines.pop()
        facts = [line.decode("ascii", "replace") for line in lines if line[:1] == b"["]
        outcomes = [line for line in lines if line[:1] == b"{"]
        if outcomes and one.phase == "running":
            one.outcome = json.loads(outcomes[-1])
        if facts and one.planned.name == "targets":
            self.targets = tuple(Target(**dict(target, site_packages=tuple(target["site_packages"]))) for target in json.loads(facts[-1])[1])
        if facts:
            self._emit_text('{"frame":"facts","probe":%s,"facts":[%s]}' % (json.dumps(one.planned.name), ",".join(facts)))
        return True

    def _look_after(self, one: Running, now: float) -> None:
        if one.phase == "running":
            self._look_at_running(one, now)
        if one.phase == "term" and now >= one.next_step:
            one.phase, one.next_step = "kill", now + GIVE_UP_AFTER_S
        if one.phase in ("term", "kill"):
            self._press(one, now)

    def _look_at_running(self, one: Running, now: float) -> None:
        planned = one.planned
        limit = min(planned.deadline_s, self.stop_at - KILL_AFTER_S - one.started)
        early_s = min(planned.early_term_s, limit * EARLY_AT_MOST)
        has_ended = self._has_ended(one)
        is_over = one.told_bytes > planned.cap_bytes
        if is_over:
            one.outcome = {"status": "error", "reason": "more than %d bytes of facts: cut" % planned.cap_bytes}
        if is_over or has_ended:
            one.phase, one.next_step = "kill", now + GIVE_UP_AFTER_S
        elif now - one.started >= limit - early_s:
            one.outcome = self._timed_out(one, now - one.started, limit)
            one.phase, one.next_step = "term", now + max(KILL_AFTER_S, early_s)
            processes.send([one.pid, *processes.below(one.pid)], signal.SIGTERM)
        elif now - one.started >= limit / 2 and not one.is_named_slow:
            self._name_slow(one, now)

    def _has_ended(self, one: Running) -> bool:
        """Tell whether a probe's child has ended; take what it told last, and what it left below us."""
        one.ended = processes.reap(one.pid)
        if one.ended is not None:
            self._drain(one)
            one.family.discard(one.pid)
            self._adopt_orphans(one)
        return one.ended is not None

    def _drain(self, one: Running) -> None:
        before = -1
        while before != one.told_bytes:
            before = one.told_bytes
            if not self._take(one):
                return

    def _adopt_orphans(self, one: Running) -> None:
        """Take what the probe left below us into its family: every child of ours that is no running probe is such an orphan."""
        probes = {other.pid for other in self.running.values()}
        for orphan in processes.children(os.getpid()):
            if orphan not in probes and orphan not in self.left:
                one.family.update([orphan, *processes.below(orphan)])

    def _timed_out(self, one: Running, elapsed_s: float, limit: float) -> Dict[str, Any]:
        question = one.question()
        why = " (the agent's own deadline came first)" if limit < one.planned.deadline_s else ""
        reason = "no answer in %g s%s" % (round(elapsed_s, 1), why) + ("; it was waiting for: %s" % question if question else "")
        return {"status": "timeout", "reason": reason, "tools": [question.partition(" ")[2].split(" ")[0]] if question else []}

    def _name_slow(self, one: Running, now: float) -> None:
        one.is_named_slow = True
        family = [one.pid, *processes.below(one.pid)]
        self.emit(dict(processes.describe(family[-1]), frame="slow", probe=one.planned.name, asking=one.question(), elapsed_s=round(now - one.started, 1),
                       deadline_s=one.planned.deadline_s))

    def _press(self, one: Running, now: float) -> None:
        """Go on ending a probe's family; tell its outcome once none is left, or once the bounded wait is over."""
        if one.ended is None and not self._has_ended(one):
            one.family.update(processes.below(one.pid))
        if one.phase == "kill":
            self._adopt_orphans(one)
            processes.send(one.family, signal.SIGKILL)
        for pid in one.family - {one.pid}:
            processes.reap(pid)
        one.family = set(filter(processes.is_alive, one.family))  # what is gone is no longer signalled: its number may be that of another
        if (one.family or one.ended is None) and not (one.phase == "kill" and now >= one.next_step):
            return
        self.left.update(one.family)
        self._finish(one, [processes.describe(pid) for pid in one.family])

    def _finish(self, one: Running, left_behind: List[Dict[str, Any]]) -> None:
        del self.running[one.reader]
        os.close(one.reader)
        outcome = one.outcome or self._died(one)
        one.asking.close()
        self._tell(one.planned, time.monotonic() - one.started, outcome, left_behind)
        self.has_targets = self.has_targets or one.planned.name == "targets"

    def _sweep(self) -> None:
        """End what came to us from below at the very last: a process that its parent started while it was being killed."""
        stop = min(time.monotonic() + GIVE_UP_AFTER_S, self.end_at)
        while True:
            rest = [pid for pid in processes.below(os.getpid()) if pid not in self.left]
            processes.send(rest, signal.SIGKILL)
            for pid in rest:
                processes.reap(pid)
            if not any(processes.is_alive(pid) for pid in rest) or time.monotonic() > stop:
                return
            time.sleep(0.005)

    def _died(self, one: Running) -> Dict[str, Any]:
        question = one.question()
        reason = "its child ended without an answer: %s" % processes.ended_how(one.ended or 0)
        return {"status": "died", "reason": reason + ("; it was asking: %s" % question if question else "")}

    def _tell(self, planned: Planned, elapsed_s: float, outcome: Dict[str, Any], left_behind: List[Dict[str, Any]]) -> None:
        if planned.name == "targets" and outcome["status"] not in ("ok", "absent"):
            self.untargeted = dict(outcome, reason="the interpreters to look at are not known: targets: %s" % outcome.get("reason", ""))
        elif planned.needs_targets and not self.targets and outcome["status"] == "not_recorded":
            outcome = dict(outcome, **self.untargeted)
        frame = {"frame": "probe", "probe": planned.name, "elapsed_s": round(elapsed_s, 3), "deadline_s": planned.deadline_s}
        self.emit(dict(frame, **outcome, **({"left_behind": left_behind} if left_behind else {})))

    def _drop_queue(self) -> None:
        for planned in self.queue:
            self._tell(planned, 0.0, {"status": "timeout", "reason": "not begun: the agent's own deadline came first"}, [])
        self.queue = []

