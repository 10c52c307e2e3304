"""The inside of a probe's child: runs one collector and tells its facts, one JSON line each, through its own pipe.

Standard input and output are /dev/null here, so that nothing that a library prints can enter the stream. This is the one place where a
refusal or a failure of a collector becomes a status.
"""
from __future__ import annotations

import json
import os
import resource
import signal

from . import processes
from .fact_lines import fact_line
from .host import Host
from .probe import Refusal
from .typed import Any, Dict, NoReturn, Tuple


def run_probe(planned: Any, work: Any, targets: Tuple[Any, ...], channel: Tuple[int, Any]) -> NoReturn:
    """Run a planned probe in this process, tell facts and outcome, and leave. ``channel`` is (descriptor to tell on, mapped page for the question)."""
    writer, asking = channel
    try:
        _become_quiet()
        host = Host(work.root, work.settings, _noting(asking))
        host.mask = work.mask
        host.targets = targets
        outcome = _collect(planned, host, writer)
        if host.notes:
            outcome["notes"] = host.notes[:20]
        _tell(writer, work.mask.line(json.dumps(outcome)))
    finally:
        os._exit(0)


def _become_quiet() -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    processes.become_subreaper()


def _noting(asking: Any) -> Any:
    size = len(asking)

    def note(text: str) -> None:
        data = text.encode("utf-8", "replace")[: size - 1] + b"\0"
        asking[: len(data)] = data

    return note


def _collect(planned: Any, host: Host, writer: int) -> Dict[str, Any]:
    try:
        module = __import__("driftwatch.agent.collectors." + planned.module, fromlist=["PROBES"])
        probe = next(one for one in module.PROBES if one.name == planned.name)
        for path, value in probe.collect(host):
            _tell(writer, host.mask.line(fact_line(path, value)))
    except Refusal as refusal:
        return {"status": refusal.status, "reason": str(refusal)}
    except ValueError as unreadable:
        return {"status": "error", "reason": "unreadable answer: %s" % unreadable}
    except BaseException as ours:  # a failure of ours must not take the other probes with it
        return {"status": "error", "reason": "our fault: %s: %s (%s)" % (type(ours).__name__, ours, _place_of(ours))}
    return {"status": "ok"}


def _place_of(ours: BaseException) -> str:
    """Return the file and line where a failure began."""
    trace = ours.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno) if trace is not None else "?"


def _tell(writer: int, line: str) -> None:
    view = memoryview(line.encode("ascii") + b"\n")
    while view:
        view = view[os.write(writer, view):]
