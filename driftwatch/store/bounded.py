"""A call that comes back in time, whatever the library below it does. A call that does not is left behind in a daemon thread. Knows nothing of stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def within(seconds: float, call: Callable[..., Answer], *words: Any, **named: Any) -> Answer:
    """Return what a call returns, or raise what it raises. Raises TimeoutError when it did neither in so many seconds."""
    told: Future[Answer] = Future()

    def work() -> None:
        try:
            told.set_result(call(*words, **named))
        except BaseException as failed:  # noqa: BLE001  # raised again by the thread that waits
            told.set_exception(failed)

    threading.Thread(target=work, daemon=True).start()
    try:
        return told.result(seconds)
    except NotInTime:
        if told.done():
            raise
        raise TimeoutError(f"no answer in {seconds:g} s") from None


def all_of(call: Callable[[Any], Answer], each: Sequence[Any], at_once: int) -> list[Answer]:
    """Return what a call returns for each, in their order, at most so many at once. The first failure is raised, and none is begun after it.

    The call must come back in time by itself.
    """
    answers: dict[int, Answer] = {}
    failures: list[BaseException] = []
    waiting = iter(enumerate(each))
    lock = threading.Lock()

    def work() -> None:
        while not failures:
            with lock:
                place, one = next(waiting, (-1, None))
            if place < 0:
                return
            try:
                answers[place] = call(one)
            except BaseException as failed:  # noqa: BLE001  # raised again below
                failures.append(failed)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, len(each)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [answers[place] for place in range(len(each))]
