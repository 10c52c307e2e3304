"""What the log of a run tells that shows no failure which is known -> a symptom all the same: what it remarks, and the class that goes with it. Pure text.

A server that is slow, hangs or answers nonsense logs no error. It warns, tells what it chose and how fast it went, and that is what people quote. These
lines are weaker than an error: the class is a guess, which a reader's own word replaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from driftwatch.agent.log_errors import KINDS, SERVED, bare
from driftwatch.agent.redact import Redactor
from driftwatch.agent.typed import Regex
from driftwatch.model import Symptom

_MOST_LINES, _LONGEST, _MOST_TEXT = 4, 300, 1000
_LINE, _HALF = 2000, 1 << 17  # of a run that is longer, its beginning and its end are looked at
_KINDS = tuple((kind, pattern) for kind, pattern in KINDS if kind != "hang")
_NO_FAULT = Regex(r"server_args=|\bNamespace\(|non-default args|\bINFO\b|\bDEBUG\b")
_KILLED = Regex(r"\bcode[= ]137\b|exit(?:ed with)? (?:code|status) 137")
_FAULT = Regex(r"\bSegfault\b|core dumped|SIGSEGV|SIGBUS|SIGILL")
_ERROR = Regex(r"(?:[\w.-]+ ){0,3}[Ee]rror(?: \w+){0,3}: |(?:[\w.-]+ ){1,5}failed[;:,] |(?:[a-z_]\w*\.)+[A-Z]\w+: ")
_FRAME = Regex(r'\s*File "[^"]+", line \d+')
_IMPORT = Regex(r"\s*(?:from [\w.]+ import\b|import [\w.]+)")
_STUCK = Regex(r"\bthroughput: 0\.0+ tokens/s, Running: [1-9]|\bis using nccl==|\bInit COMPLETE\b|[Cc]ustomAllreduce is disabled")
_STACK = Regex(r"\s*Thread (?:\d+|0x[0-9a-f]+) \(|Thread 0x[0-9a-f]+ \(most recent call first\)|\(gdb\) bt")
_SPEED = Regex(
    r"throughput|\b(?:tok(?:en)?s?|it|req(?:uest)?s?)/s(?:ec)?\b|\b(?:TTFT|TPOT|ITL|latency)\b|\bms per token|sub-?optimal"
    r"|[Pp]erformance (?:may|might|will|could)|\bslow(?:er|ly|down)?\b|NET/Socket|layers to GPU|layers\.offload|\bhit (?:rate|tokens): 0\b"
    r"|set by environment to")
_REMARK = Regex(
    r"\bWARN(?:ING)?\b|Warning:|[Ff]ailed to\b|[Uu]nable to\b|[Cc]ould not\b|[Cc]annot\b|\bnot (?:found|available|installed|supported|enabled|in available)\b"
    r"|[Ff]all(?:s|ing)? ?back|\bdisabled\b|sub-?optimal|set by environment|[Dd]efault|\bUsing\b|->|make sure|recommend")


def remarked(run: str) -> Symptom | None:
    """Return how a run shows that tells of no failure which is known: a fault that it names in passing, else a guess; masked. None where it remarks nothing."""
    ends = (run,) if len(run) <= 2 * _HALF else (run[:_HALF], run[-_HALF:])
    lines = [line[:_LINE] for end in ends for line in end.splitlines() if line.strip()]
    found = _found(lines)
    return None if found is None else replace(found, signature=Redactor().text(found.signature or "") or None)


def _found(lines: Sequence[str]) -> Symptom | None:
    return _in_passing(lines[_served(lines):]) or _stack(lines) or _cut_trace(lines) or _guess(lines)


def _served(lines: Sequence[str]) -> int:
    """Return the place of the first line after the last sign of serving."""
    return next((at + 1 for at in reversed(range(len(lines))) if SERVED.search(lines[at])), 0)


def _in_passing(lines: Sequence[str]) -> Symptom | None:
    """Return the fault that the last lines name without the form of an error."""
    told = [bare(line) for line in lines if not _NO_FAULT.search(line)]
    for at in reversed(range(len(told))):
        kind = _kind(told[at])
        if kind:
            return Symptom(kind, _with_next(told, at) if kind == "runtime-crash" else told[at][:_LONGEST])
    wrong = next((line for line in reversed(told) if _ERROR.match(line)), "")
    return Symptom("startup-crash", wrong[:_LONGEST]) if wrong else None


def _kind(line: str) -> str:
    named = next((kind for kind, pattern in _KINDS if pattern.search(line)), "")
    return named or ("oom" if _KILLED.search(line) else "runtime-crash" if _FAULT.search(line) else "")


def _with_next(lines: Sequence[str], at: int) -> str:
    """Return a line with those below it, which say what it speaks of."""
    return "\n".join(line.strip()[:_LONGEST] for line in lines[at:at + _MOST_LINES])[:_MOST_TEXT]


def _stack(lines: Sequence[str]) -> Symptom | None:
    """Return the hang of which somebody took the stack: what stands still, the innermost calls first."""
    at = next((at for at, line in enumerate(lines) if _STACK.match(line)), None)
    return None if at is None else Symptom("hang", _with_next(lines, at + 1))


def _cut_trace(lines: Sequence[str]) -> Symptom | None:
    """Return the symptom of a traceback that was cut before its exception: code that ends in an import failed there."""
    frames = [at for at in range(len(lines)) if _FRAME.match(lines[at])]
    if not frames or frames[-1] < len(lines) - 2:
        return None
    code = next((lines[at + 1] for at in reversed(frames) if at + 1 < len(lines) and not _FRAME.match(lines[at + 1])), "")
    return Symptom("import-error" if _IMPORT.match(code) else "startup-crash", code.strip()[:_LONGEST])


def _guess(lines: Sequence[str]) -> Symptom | None:
    last = lines[-1] if lines else ""
    told = list(islice(_remarks(lines), _MOST_LINES))
    klass = "hang" if _STUCK.search(last) else "slow" if _SPEED.search(last) or any(_SPEED.search(line) for line in told) else None
    return Symptom(klass, "\n".join(reversed(told))[:_MOST_TEXT] or bare(last)[:_LONGEST]) if klass or told else None


def _remarks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that remark something, each once, the last one first."""
    seen = set()
    for at in reversed(range(len(lines))):
        line = bare(lines[at])[:_LONGEST]
        if _REMARK.search(line) and line not in seen:
            seen.add(line)
            yield _with_next(lines, at) if line.endswith(":") else line
