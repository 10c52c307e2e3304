"""How a failure shows: its class and its decisive line, told from a server's log or from what a snapshot holds of one. Pure; opens nothing."""

from __future__ import annotations

import re

from driftwatch.agent.log_errors import bare, failure_in, kind_of
from driftwatch.agent.redact import Redactor
from driftwatch.agent.server_log import last_run
from driftwatch.agent.typed import Regex
from driftwatch.log_stream import CODE_FILE, LONGEST_FRAME
from driftwatch.model import Snapshot, Symptom

SYMPTOM_CLASSES = ("oom", "startup-crash", "import-error", "runtime-crash", "hang", "slow", "wrong-output", "accuracy", "device-lost")

# a fault of a kernel or of the machine: it stopped the program while it ran, be it during the start
_FAULT = Regex(
    r"illegal (?:instruction|memory access|address)|misaligned address|device-side assert|CUDNN_STATUS_|CUBLAS_STATUS_|Segmentation fault|Bus error|ECC error"
    r"|unspecified launch failure|launch timed out and was terminated",
    re.IGNORECASE)
_MOST_FRAMES = 60
_UNFINISHED = Regex(r"(?:(\d{1,2})%.*\|.*\[\d+:\d\d|\bbegin\b|\bWaiting for\b|\bInitializing\b)", re.IGNORECASE)


def class_of(line: str, *, was_ready: bool) -> str:
    """Return the class of a failure whose decisive line is this. ``was_ready``: the server had come to serve before."""
    kind = kind_of(line)
    if kind:
        return kind
    return "runtime-crash" if was_ready or _FAULT.search(line) else "startup-crash"


def trace_of(text: str) -> str:
    """Return the lines of the last run's tracebacks that name a file of code, the last ones, each without its prefix; empty where there is none."""
    lines = [bare(line[:LONGEST_FRAME]) for line in last_run(text).splitlines() if CODE_FILE.search(line[:LONGEST_FRAME])]
    return "\n".join(lines[-_MOST_FRAMES:])


def classify(text: str) -> Symptom | None:
    """Return the symptom that a log's last run shows, its line masked; None where it shows no failure.

    A log that ends in the middle of a step, with nothing after it, shows a hang.
    """
    run = last_run(text)
    failure = failure_in(run)
    if failure is not None:
        return Symptom(class_of(failure.line, was_ready=failure.was_ready), Redactor().text(failure.line), None)
    last = bare(run.rstrip().rpartition("\n")[2].rpartition("\r")[2])
    return Symptom("hang", Redactor().text(last)[:500], None) if _UNFINISHED.search(last) else None


def of_snapshot(snapshot: Snapshot) -> Symptom | None:
    """Return the symptom that the servers' logs in a snapshot show, None where none shows one: the first in the order of the servers' names."""
    for path, line in sorted(snapshot.facts.items()):
        if path.startswith("servers/") and path.endswith("/log/error") and isinstance(line, str):
            top = path[: -len("error")]
            log = snapshot.facts.get(top + "path")
            was_ready = snapshot.facts.get(top + "ready") is True
            return Symptom(class_of(line, was_ready=was_ready), line, log if isinstance(log, str) else None)
    return None
