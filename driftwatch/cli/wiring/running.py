"""The loop that asks hosts: at most so many at once, each told as it ends, and none of them able to hold the end."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from driftwatch.cli.wiring.faults import own_failure
from driftwatch.cli.wiring.jobs import Job
from driftwatch.cli.wiring.stopping import Stop, StoppedByUser
from driftwatch.model import Snapshot

LAST_WORDS_S = 2.0
TURN_S = 0.1
WatchHost = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Done:
    """A job that ended, and how long it took."""

    host: str
    snapshot: Snapshot
    elapsed_s: float


def do_jobs(jobs: Sequence[Job], at_once: int, stop: Stop, watch: WatchHost) -> Iterator[Done]:
    """Yield each job as it ends. One job is done by this thread; of several, threads do at most so many at once, and none of them can hold the end."""
    with stop.listening():
        if len(jobs) == 1:
            yield _do(jobs[0], stop, watch)
        else:
            yield from _do_many(jobs, at_once, stop, watch)


def _do_many(jobs: Sequence[Job], at_once: int, stop: Stop, watch: WatchHost) -> Iterator[Done]:
    waiting = iter(jobs)
    lock = threading.Lock()
    ended: queue.SimpleQueue[Done | Exception] = queue.SimpleQueue()

    def work() -> None:
        while not stop.is_asked:
            with lock:
                job = next(waiting, None)
            if job is None:
                return
            ended.put(_attempt(job, stop, watch))

    for _ in range(min(at_once, len(jobs))):
        threading.Thread(target=work, daemon=True).start()
    yield from _collect(ended, len(jobs), stop)


def _attempt(job: Job, stop: Stop, watch: WatchHost) -> Done | Exception:
    try:
        return _do_or_lose(job, stop, watch)
    except Exception as failed:  # noqa: BLE001  # raised again by the thread that waits
        return failed


def _do_or_lose(job: Job, stop: Stop, watch: WatchHost) -> Done:
    """Do a job of several. Whatever fails in it is told of its host alone, as the reason why all its probes are lost."""
    began = time.monotonic()
    try:
        return _do(job, stop, watch)
    except StoppedByUser:
        raise
    except Exception as failed:  # noqa: BLE001  # one host never ends the others
        return Done(job.host, job.lost(own_failure(failed)), time.monotonic() - began)


def _collect(ended: queue.SimpleQueue[Done | Exception], count: int, stop: Stop) -> Iterator[Done]:
    """Yield what ended, until all did, or until a moment after Ctrl-C."""
    patience = LAST_WORDS_S
    while count and patience > 0:
        try:
            one = ended.get(timeout=TURN_S)
        except queue.Empty:
            patience -= TURN_S if stop.is_asked else 0
            continue
        count -= 1
        if isinstance(one, StoppedByUser):
            continue
        if isinstance(one, Exception):
            raise one
        yield one


def _do(job: Job, stop: Stop, watch: WatchHost) -> Done:
    began = time.monotonic()
    with stop.asking():
        snapshot = job.take(partial(watch, job.host))
    return Done(job.host, snapshot, time.monotonic() - began)
