"""Finds in a server's log the one line that says why it failed, and which kind of failure that is. Pure text; knows general words, no incident.

Of several errors the most telling wins: one that names its kind, then an exception, then what only wraps or follows another error. Errors after
which the server served again do not count.
"""
from __future__ import annotations

import re

from .typed import List, NamedTuple, Optional, Regex, Tuple

LONGEST = 500
LINE = 8000
IDLE_WITHIN = 4000
EXCEPTION = 2.0
KINDS: Tuple[Tuple[str, "re.Pattern[str]"], ...] = (
    ("oom", Regex(
        r"not enough (?:\w+ )?memory|out of memory|OutOfMemory|OUT_OF_MEMORY|ALLOC_FAILED|leaves? no (?:GPU memory|room for)|cannot allocate memory"
        r"|std::bad_alloc|less than desired GPU memory utilization|no available memory for|oom-kill|killed process|HBM is free"
        r"|cannot fit one worst-case|state cache is too small|larger than the (?:available|maximum)[^.]*KV cache"
        r"|Failed to CUDA [cm]alloc|^Killed(?:\s\s.*)?$", re.IGNORECASE | re.MULTILINE)),
    ("import-error", Regex(
        r"\b(?:ImportError|ModuleNotFoundError)\b|undefined symbol|cannot open shared object|version `\w+' not found|cannot import name")),
    ("device-lost", Regex(
        r"driver/library version mismatch|NVMLError|NVML: |found no NVIDIA driver|communicate with the NVIDIA driver|no CUDA GPUs are available"
        r"|no CUDA-capable device|CUDA unknown error|CUDA_ERROR_(?:UNKNOWN|NO_DEVICE|NOT_INITIALIZED|SYSTEM)|\bError 8\d\d\b|GPU is lost"
        r"|CUDA driver version is insufficient|fallen off the bus|devices? (?:is|are) (?:busy or )?unavailable|system not yet initialized|\bXid\b"
        r"|cudaError(?:SystemNotReady|SystemDriverMismatch|NoDevice|DevicesUnavailable)", re.IGNORECASE)),
    ("hang", Regex(
        r"watchdog|^Timeout \(\d+:\d\d:\d\d\)!"
        r"|(?:RPC|collective|NCCL|all_?reduce|ProcessGroup\w*|barrier|heartbeat|scheduler|detokenizer)\b.*\btim(?:ed[ -]?out|eout)"
        r"|tim(?:ed[ -]?out|eout)\b.*\b(?:collective|NCCL|ProcessGroup\w*|barrier|heartbeat|RPC)|shared memory broadcast block|waiting to acquire lock"
        r"|Timed out after .{1,20} seconds waiting for|Health check failed\b.*couldn't get a response", re.IGNORECASE)),
)
READY = Regex(r"fired up and ready|Application startup complete|Uvicorn running|llama runner started")
_EXCEPTION = Regex(
    r"Exception: |(?:[A-Za-z_][\w.]*\.)?[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Fault|OOM|OfResources)(?:_\w+|[A-Z]\w*)?(?::|$)")
_ABRUPT = Regex(
    r"(?:Killed|Aborted)\b(?:\s\s|.{0,40}$)|Segmentation fault|Bus error|Illegal instruction|Floating point exception|terminate called|Fatal Python error"
    r"|Failed: Cuda error|CUDA (?:driver )?error|cuInit|NVIDIA-SMI has failed|\S*: (?:symbol lookup error|error while loading)"
    r"|.*\b(?:pthread_create|[Tt]hread creation|fork|clone)\b.{0,60}: Resource temporarily unavailable|.*\bNCCL WARN C(?:uda failure|all to \w+ failed)"
    r"|\S{1,300}(?:\(\d+\)|:\d+:\d+): (?:fatal |catastrophic )?error\b|.*\bundefined symbol"
    r"|.*\bKilled process|.*\bNVRM: Xid|thread '[^']{0,80}' panicked|nvidia-container-cli: .*\berror")
_LEVEL = Regex(r".*\b(?:ERROR|CRITICAL|FATAL)\b|.*\blevel=(?:error|fatal|ERROR|FATAL)|.*\bNCCL WARN\b|(?:\S+:? )?(?:fatal )?[Ee]rror\s*:"
    r"|(?:\S+: )?Error response from daemon")
_ERRNO = Regex(
    r"No space left on device|Too many open files|Permission denied|Operation not permitted|Invalid argument|Device or resource busy"
    r"|Input/output error|Stale file handle|Transport endpoint|Resource temporarily unavailable|[Aa]ddress already in use|No such device")
_WRAPPER = Regex(
    r"see root cause|Received sigquit|EngineDead|Failed to infer device type|unhandled (?:system|cuda) error|^ncclUnhandledCudaError: Call to|ChildFailedError"
    r"|Engine (?:core|process)\b.*failed|WorkerProc initialization failed|KeyboardInterrupt|SystemExit|CancelledError|BrokenPipe"
    r"|Connection(?:Reset|Refused|Aborted)Error|closed by (?:remote )?peer|remote process exited|EOFError|raised during graph capture"
    r"|^Aborted|Fatal Python error: Aborted|Task exception was never retrieved|is dead|died unexpectedly|exit code"
    r"|hit an exception: Traceback|Background loop|Ninja build failed|Error building extension|ninja: build stopped", re.IGNORECASE)
_ADVICE = Regex(r"lease (?:re)?install|pip3? install|(?:not|or \w+ is) installed")  # what an import failed of stands in the error before it
_ARGUMENTS = Regex(r"server_args=|\bNamespace\(|non-default args")  # what a server was given: names of limits and timeouts, no error
_NEVER_SERVED = Regex("warmup error")  # SGLang listens before it asks itself for the first time
_IDLE = Regex(r"Exception ignored (?:in|from|while)\b|Error in (?:atexit|sys\.excepthook)\b")  # what only goes wrong while the program ends
_CHAIN = Regex(r"was the direct cause of|another exception occurred")
SERVED = Regex(
    r"Decode batch|Prefill batch|fired up and ready|Avg (?:prompt|generation) throughput|HTTP/1\.1\\?\" 200|Application startup complete"
    r"|Uvicorn running|llama runner started")
PROGRESS = Regex(
    r"Load weight (?:begin|end)|KV Cache is allocated|Memory pool end|Capture .{0,200}(?:begin|end)|Init (?:torch distributed|parallel)"
    r"|Model loading took|GPU KV cache size")
HINT = Regex(
    r"rror|ERROR|xception|Exit|Interrupt|imeout|ault|illed|FATAL|CRITICAL|WARN|terminate called|what\(\)|undefined symbol|cuInit|failed|Aborted"
    r"|Illegal|OOM|Xid|atchdog|evel=|was the direct cause|panicked|roadcast block|ROADCAST BLOCK|imed|IMED|IMEOUT|ATCHDOG"
    r"|acquire lock")
_GOES_ON = Regex(r"[ \t]+(?!what\(\):|File \"|\^|~|at 0x|#\d)[^\s#].*[ :\d]")
_COLOUR = Regex(r"\x1b\[[0-9;]*[A-Za-z]")
_BEFORE = Regex(
    r"\s*(?:\(\w[^()]*?(?:pid|ip)=[^()]*\)\s*|\[\d{4}-\d\d-\d\d[^\]]*\]\s*|\[(?:rank)?\d+\]:\s*"
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+\d\d-\d\d [\d:.,]+ (?:\[[^\]]*\]\s*)?"
    r"|\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\s+(?:std(?:out|err) [FP]\s)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:]+:\s"
    r"|[\w.-]{1,80}\s{1,40}\|\s|\[[\w.-]{1,60}/[\w./-]{1,120}\]\s|[IWEF]\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\]\s"
    r"|\|\s*(?:ERROR|CRITICAL)\s*\|\s*[\w.<>]+:[\w.<>]+:\d+\s-\s|-\s(?:[\w.]+\s-\s)?(?:ERROR|CRITICAL)\s-\s"
    r"|(?:ERROR|CRITICAL):\s+|E\s{2,}|\S{1,200}: line \d+:\s+\d+ (?=[A-Z]))")
_JSON = Regex(r"\s*\{.{0,2000}?\"(?:log|message|msg|event|text)\"\s*:\s*\"((?:[^\"\\]|\\.)*)")
_ESCAPED = Regex(r"\\(.)")
_RANK = Regex(r"\[(?:\d{4}-\d\d-\d\d[T ][\d:.,]+Z?)?((?: ?[A-Z]{2,3}\d+)+)\]")


class Failure(NamedTuple):
    """The decisive line without its prefix, its kind (of KINDS, or "" for any other), the ranks that failed, and whether the server had been ready."""

    line: str
    kind: str
    ranks: Tuple[str, ...]
    was_ready: bool


class _Candidate(NamedTuple):
    weight: float
    place: int
    line: str


def bare(line: str) -> str:
    """Return a log line without colours, time, level, file and rank before it; of a line of JSON, its message."""
    line = _COLOUR.sub("", line).rstrip()
    wrapped = _JSON.match(line) if line.lstrip()[:1] == "{" else None
    if wrapped:
        line = _ESCAPED.sub(lambda found: {"n": " ", "t": " "}.get(found.group(1), found.group(1)), wrapped.group(1)).strip()
    while True:
        found = _BEFORE.match(line)
        if found is None or found.end() == 0:
            return line.strip()
        line = line[found.end():]


def rank_of(line: str) -> str:
    """Return the rank that wrote a line of SGLang's, as ``TP0`` or ``DP0_TP0``; "" where none is named."""
    found = _RANK.search(line[:120])
    return "_".join(found.group(1).split()) if found else ""


def kind_of(line: str) -> str:
    """Return the kind of failure that a line names, or ""."""
    return next((kind for kind, pattern in KINDS if pattern.search(line)), "")


def failure_in(text: str) -> Optional[Failure]:
    """Return why the run that a log tells of failed, or None where it tells of no failure after which nothing was served."""
    was_ready = READY.search(text) is not None and _NEVER_SERVED.search(text) is None
    served = max((found.end() for found in SERVED.finditer(text)), default=0)
    candidates, ranks = _candidates(text[served:], max((found.start() for found in PROGRESS.finditer(text, served)), default=served) - served)
    if not candidates:
        return None
    best = max(candidates, key=lambda one: (one.weight, one.place))
    line = best.line + _rest(text[served + best.place:served + best.place + LINE])
    return Failure(line[:LONGEST], kind_of(line), tuple(sorted(set(ranks))), was_ready)


def _rest(text: str) -> str:
    """Return the next lines of a message of several lines, at most three: they stand indented right below its first, and are no frames or code."""
    rest = ""
    for line in [one for one in text.splitlines() if one][1:4]:
        if not _GOES_ON.match(line):
            break
        rest += " " + line.strip()
    return rest


def _candidates(text: str, progressed: int) -> Tuple[List[_Candidate], List[str]]:
    """Return the lines that may be decisive, and the ranks that wrote an error. Errors before ``progressed`` did not stop the start."""
    found: List[_Candidate] = []
    ranks: List[str] = []
    place = idle_until = 0
    is_chained = had_told = False  # who is killed after he told why was ended for that
    for whole in text.splitlines(keepends=True):
        if HINT.search(whole):
            raw = whole[:LINE]
            line = bare(raw)
            if line.startswith("what():") and found and found[-1].line.startswith("terminate called"):
                found[-1] = found[-1]._replace(line=found[-1].line + " " + line)
            is_chained = is_chained or _CHAIN.search(line) is not None
            idle_until = place + IDLE_WITHIN if _IDLE.match(line) else idle_until
            weight = min(_weight(raw, line), 1.0 if line == "Killed" and had_told else 3.0) - (1.5 if place < progressed else 0)
            had_told = had_told or weight >= EXCEPTION
            is_idle = weight > 0 and place < idle_until
            if weight > 0 and not is_idle and not (is_chained and found and weight <= found[-1].weight):
                found.append(_Candidate(weight, place, line))
                is_chained = False
            idle_until = 0 if is_idle else idle_until
            if weight > 0 and rank_of(raw):
                ranks.append(rank_of(raw))
        place += len(whole)
    return found, ranks


def _weight(raw: str, line: str) -> float:
    """Return how telling a line is: 3 names its kind, 2.5 a hang (often what follows another failure) or advice, 2 an exception, 1 a wrapper, 0 no error."""
    is_exception = _EXCEPTION.match(line) is not None or _ABRUPT.match(line) is not None
    if not is_exception and _ARGUMENTS.search(raw):
        return 0.0
    if not is_exception and not _LEVEL.match(raw) and not (_ERRNO.search(line) and "rror" in line) and kind_of(line) != "hang":
        return 0.0
    if _WRAPPER.search(line):
        return 1.0
    kind = kind_of(line)
    if kind:
        return 2.5 if kind == "hang" or (kind == "import-error" and _ADVICE.search(line)) else 3.0
    return EXCEPTION if is_exception or _ERRNO.search(line) else 0.5
