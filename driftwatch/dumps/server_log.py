"""A server's log: SGLang's and vLLM's arguments, memory figures, versions and decisive error line, and what NCCL, Ray and torchrun say.

The paths are those of the servers collector (agent/collectors/servers.py), and its parser reads the text. Beside them:

| path | what |
|---|---|
| packages/vllm/version | as vLLM's own start-up line says it |
| nccl/version, nccl/from | of the library that was loaded, and which line told it |
| nccl/network | ``Socket``, ``IB`` …: what NCCL chose |
| cuda/driver | the newest CUDA that the driver serves, as NCCL was told it |
| shm/free_bytes | free space of /dev/shm, where Ray says that it is too small |
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from driftwatch.agent.collectors.nvml import cuda_version
from driftwatch.agent.collectors.servers import PROBES
from driftwatch.agent.log_errors import failure_in
from driftwatch.agent.probe import fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.agent.server_args import parse_server_args
from driftwatch.agent.server_log import Run, last_run, parse_log
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.model import Symptom
from driftwatch.symptom import classify

VOLATILE = tuple(glob for probe in PROBES for glob in probe.volatile)
ARGUMENTS = re.compile(r"server_args=(?:ServerArgs\(|\{)|non-default args: \{| args: Namespace\(")
_SGLANGS = re.compile(r"\] (?:Load weight (?:begin|end)|Memory pool end|Capture cuda graph (?:begin|end)|KV Cache is allocated)\. ")  # words of no other server
_ENGINE = re.compile(r"Initializing an? (?:V\d )?LLM engine(?: \(v?([\w.+!-]{1,80})\))? with config: ")
_LINE = re.compile(
    r"server_args=(?:ServerArgs\(|\{)|(?:[A-Za-z][\w ]{0,30}: ?)?vLLM API server version|non-default args: \{|Initializing an? (?:V\d )?LLM engine"
    r"|\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: [A-Z]{2,3}\d+)*\] \S"
    r"|(?:\([\w ]+ pid=\d+\S*\) )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d "
    r"|\((?:EngineCore|Worker|APIServer|RayWorkerWrapper|VllmWorker|Engine)\w*(?: pid=|=)\d+"
    r"|[\w.-]{1,80}:\d+:\d+ \[\d+\] (?:[\w./-]{1,80}:\d+ )?NCCL (?:INFO|WARN)|NCCL version \d"
    r"|(?:KV Cache is allocated\.|Load weight (?:begin|end)\.|Memory pool end\.|Capture cuda graph (?:begin|end)\.|Init torch distributed )"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\s+(?:INFO|WARNING|ERROR) \w+\.py:\d+ -- |W\d{4} \d\d:\d\d:\d\d\.\d+ .{0,40}torch/distributed/"
    r"|\[rank\d+\]:|Setting OMP_NUM_THREADS environment variable|.{0,80}\bvLLM is using nccl==")
_LOG = re.compile(rf"^(?:{_LINE.pattern})", re.MULTILINE)
_FAILED = re.compile(
    r"Traceback \(most recent call last\)|(?:[a-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)(?:: \S|\Z)|terminate called after throwing|Fatal Python error"
    r"|Segmentation fault|Bus error|Failed: Cuda error|Rank \d+ scheduler is dead|\s{0,4}(?:what\(\): |Killed\Z)")
_INSIDE = re.compile(r"\s+\S|During handling of the above|The above exception was|\s*\Z|\*{5,}|Downloading |[\w .()-]{0,60}:\s+\d{1,3}%|[\^~ ]+\Z")
_SERVED = re.compile(r"[\d.]+:\d+ - \"(?:GET|POST)|INFO:\s{2,}")
_NCCL = re.compile(r"NCCL version (\d+\.\d+\.\d+)(?:\+cuda([\d.]+))?|(vLLM|sglang) is using nccl==(\d+\.\d+\.\d+)")
_SET = re.compile(r"NCCL INFO (NCCL_[A-Z0-9_]{2,60}) set by environment to ([^\n]{1,300}?)\.?$", re.MULTILINE)
_DRIVER = re.compile(r"cudaDriverVersion (\d{5})\b")
_NETWORK = re.compile(r"NCCL INFO Using network (\w{1,40})\s*$", re.MULTILINE)
_THREADS = re.compile(r"Setting OMP_NUM_THREADS environment variable for each process to be (\d+)")
_SHM = re.compile(r"/dev/shm has only (\d+) bytes available")  # noqa: S108  # words of a log
_VERSION = re.compile(r"vLLM API server version (\d[\w.+!-]{0,80})")
_TOOL = re.compile(r"File \"[^\"\n]{0,300}(?:collect_env|check_env)\.py\"")
_LONGEST = 600


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the runs of log lines, with tracebacks, progress bars and what else stands between them in the same fence."""
    at = 0
    while at < len(lines):
        if not _starts(lines[at]):
            at += 1
            continue
        first, last = at, at
        is_strong = False
        while at < len(lines) and lines[at] != FENCE and (_starts(lines[at]) or _goes_on(lines, last, at)):
            short = lines[at][:_LONGEST]
            is_strong = is_strong or _LINE.match(short) is not None or _has_arguments(short)
            last = at if short.strip() else last
            at += 1
        yield Stretch(first, last + 1, 0.7 if is_strong else 0.35)


def begins_log(line: str) -> bool:
    """Tell whether a line is one that a server, Ray or NCCL logs, and no mere error."""
    return _LINE.match(line[:_LONGEST]) is not None


def _starts(line: str) -> bool:
    short = line[:_LONGEST]
    return _LINE.match(short) is not None or _FAILED.match(short) is not None or _has_arguments(short)


def _has_arguments(short: str) -> bool:
    return "args" in short and ARGUMENTS.search(short) is not None


def _goes_on(lines: Sequence[str], last: int, at: int) -> bool:
    """Tell whether a line that begins no log line may stand in a log: few in a row, and of a kind that does."""
    short = lines[at][:_LONGEST]
    return at - last <= 3 if not short.strip() else _INSIDE.match(short) is not None or _SERVED.match(short) is not None


def parse(text: str) -> Parsed:
    """Return what a log tells: of its last run all figures, else the failure alone."""
    run = parse_log(text)
    facts: dict[str, Any] = dict(_of_libraries(text))
    latest = last_run(text)
    given = run.args if "non-default args: {" in latest else None
    engine = list(_ENGINE.finditer(latest))
    if engine and run.framework in ("vllm", "") and run.args is given:
        run = Run("vllm", {**_engine_arguments(latest, engine[-1]), **(given or {})}, run.figures)
    if not run.framework and run.args is None and _SGLANGS.search(text):
        run = Run("sglang", None, run.figures)
    if run.framework and (run.args is not None or (_tells(run) and _LOG.search(text))):
        facts.update(_of_run(run, given or {}))
    version = _VERSION.findall(text) or [told for told in _ENGINE.findall(text) if told]
    if version:
        facts["packages/vllm/version"] = version[-1]
    return Parsed(facts, volatile=VOLATILE, symptom=_symptom(text))


def _symptom(text: str) -> Symptom | None:
    """Return the failure that a log shows; none where it only ends, since a paste ends anywhere, nor where it was a tool that failed."""
    is_tool = _TOOL.search(text) is not None and not _LOG.search(text)
    return classify(text) if not is_tool and failure_in(last_run(text)) else None


def _engine_arguments(text: str, found: re.Match[str]) -> dict[str, Any]:
    """Return the fields of ``config: model='x', …``, which older releases close with a bracket that they never opened."""
    line, end, _ = text[found.end():found.end() + (1 << 16)].partition("\n")
    return parse_server_args("(" + line.rstrip().removesuffix(")") + (")" if end or line.rstrip().endswith(")") else "")) if line else {}


def _tells(run: Run) -> bool:
    return any(name not in ("ready", "began") for name in run.figures) or run.figures.get("ready") is True


def _of_run(run: Run, given: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield what a run tells. ``given``: those of its arguments that a line names as no defaults."""
    mask = Redactor()
    top = fact_path("servers", run.framework)
    ended = run.figures["ready"] or "error" in run.figures  # else the paste may end before it came to serve
    yield from ((f"{top}/{fact_path('log', name)}", value) for name, value in run.figures.items() if name != "ready" or ended)
    for name, value in (run.args or {}).items():
        yield f"{top}/{fact_path('args', name)}", mask.argument(name, value)
        if name in given:
            yield f"{top}/{fact_path('given', name)}", mask.argument(name, value)


def _of_libraries(text: str) -> Iterator[tuple[str, Any]]:
    """Yield what NCCL, Ray and torchrun tell of the host."""
    nccl, driver, network = _NCCL.search(text), _DRIVER.search(text), _NETWORK.search(text)
    threads, shm = _THREADS.search(text), _SHM.search(text)
    if nccl:
        yield "nccl/version", nccl.group(1) or nccl.group(4)
        yield "nccl/from", nccl.group(3) or "NCCL INFO"
        if nccl.group(2):
            yield "nccl/cuda", nccl.group(2)
    if driver:
        yield "cuda/driver", cuda_version(int(driver.group(1)))
    if network:
        yield "nccl/network", network.group(1)
    yield from ((fact_path("servers", "nccl", "env", name), value) for name, value in _SET.findall(text))
    if threads:
        yield "servers/torchrun/env/OMP_NUM_THREADS", threads.group(1)
    if shm:
        yield "shm/free_bytes", int(shm.group(1))


FORMAT = Format(
    name="server-log", find=find, parse=parse, looks_like="a log of SGLang, vLLM or NCCL",
    never_prints=("packages/*", "driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "servers/*/env/*", "servers/*/libraries/*", "git/*", "sources/*"),
)
