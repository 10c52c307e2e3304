"""Reads a server's log: the arguments, the memory figures and the end of its last run. Pure text; SGLang of every release since 0.3, and vLLM.

What SGLang prints as GB is GiB; so are all figures here. A figure is the least of all ranks unless its name says otherwise.
"""
from __future__ import annotations

import re

from .log_errors import READY, failure_in, rank_of
from .server_args import literal, parse_server_args
from .typed import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Regex, Tuple

RECENT = 20
LINE = 1 << 18
UNEVEN_GIB = 0.5
_NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
_FREE = Regex(r"avail mem=%s GB" % _NUMBER)
_USED = Regex(r"mem usage=%s GB" % _NUMBER)
_SIZES = Regex(r"\b(?:K|V|KV) size: %s GB" % _NUMBER)
_STATES = Regex(r"(?:conv_state|ssm_state|intermediate_\w+_cache) size: ?%s ?GB" % _NUMBER)
_TOKENS = Regex(r"(?<!\w)max_total_num_tokens=(\d+)")
_POOL_TOKENS = Regex(r"#tokens: (\d+)")
_LEFT = Regex(r"available_gpu_mem=%s GB" % _NUMBER)
_SPEED = Regex(r"(?:gen throughput \(token/s\): |Avg generation throughput: )%s" % _NUMBER)
_WHEN = Regex(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)")
_VLLM = (
    ("weights_gib", Regex(r"Model loading took %s Gi?B" % _NUMBER)),
    ("kv_cache_gib", Regex(r"Available KV cache memory: %s GiB" % _NUMBER)),
    ("graph_gib", Regex(r"Graph capturing finished.*took %s GiB" % _NUMBER)),
    ("free_before_load_gib", Regex(r"Free memory on device \S+ \(%s/" % _NUMBER)),
    ("tokens", Regex(r"GPU KV cache size: ([\d,]+) tokens")),
    ("version", Regex(r"API server version (\S+)")),
)
STARTS = {"sglang": ("server_args=ServerArgs(", "server_args={"), "vllm": ("vLLM API server version", "non-default args: {", " args: Namespace(")}


class Run(NamedTuple):
    """The last run that a log tells of: whose (sglang, vllm, ollama, "" if nothing says so), its arguments (None if not told), its figures by fact name."""

    framework: str
    args: Optional[Dict[str, Any]]
    figures: Dict[str, Any]


def parse_log(text: str) -> Run:
    """Return the last run in a log."""
    framework, text, args = _last_run(text)
    figures: Dict[str, Any] = {"ready": READY.search(text) is not None}
    when = _WHEN.search(text[:200])
    figures.update({"began": when.group(1)} if when else {})
    figures.update(_vllm_figures(text) if framework == "vllm" else _sglang_figures(text))
    told = [float(one) for line in _lines_with(text, "throughput") for one in _SPEED.findall(line)]
    speeds = sorted([speed for speed in told if speed > 0][-RECENT:])
    figures.update({"throughput_tok_s": speeds[len(speeds) // 2]} if speeds else {})
    failure = failure_in(text)
    if failure:
        figures.update({"error": failure.line, "error_ranks": list(failure.ranks)} if failure.ranks else {"error": failure.line})
    return Run(framework, args, {name: round(value, 3) if isinstance(value, float) else value for name, value in figures.items()})


def last_run(text: str) -> str:
    """Return the part of a log that tells of its last run: from the last line on that a server begins with."""
    return _last_run(text)[1]


def _last_run(text: str) -> Tuple[str, str, Optional[Dict[str, Any]]]:
    place, framework = max((text.rfind(mark), framework) for framework, marks in STARTS.items() for mark in marks)
    if place < 0:
        return _guess(text), text, None
    return framework, text[_beginning(text, framework, place):], _arguments(text, framework, place)


def _beginning(text: str, framework: str, place: int) -> int:
    """Return where the line of the last run's first mark begins: vLLM tells its version just before its arguments."""
    if framework == "vllm":
        version = text.rfind("vLLM API server version", 0, place)
        place = version if version >= 0 and place - version < 4096 else place
    return text.rfind("\n", 0, place) + 1


def _arguments(text: str, framework: str, place: int) -> Optional[Dict[str, Any]]:
    """Return the arguments told at or just behind a mark."""
    end = text.find("\n", place)
    line = text[place:min(end if end >= 0 else len(text), place + LINE)]
    if framework == "sglang":
        return parse_server_args(line[len("server_args="):])
    for mark in ("non-default args: ", " args: "):
        if mark in line:
            told = line.partition(mark)[2]
            return literal(told) if told.startswith("{") and isinstance(literal(told), dict) else parse_server_args(told)
    return None


def _guess(text: str) -> str:
    if "sglang" in text or "Load weight begin" in text or "Decode batch" in text:
        return "sglang"
    if "vllm" in text.lower() or "Avg generation throughput" in text:
        return "vllm"
    return "ollama" if "llama runner" in text else ""


def _lines_with(text: str, words: str) -> Iterator[str]:
    """Yield the lines that hold some words, in order."""
    at = text.find(words)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[text.rfind("\n", 0, at) + 1:end]
        at = text.find(words, end)


def _by_rank(lines: Iterator[str], pattern: "re.Pattern[str]", join: Callable[[List[float]], float]) -> Dict[str, float]:
    """Return for each rank what its lines tell, its several numbers joined to one."""
    found: Dict[str, List[float]] = {}
    for line in lines:
        numbers = [float(one) for one in pattern.findall(line)]
        if numbers:
            found.setdefault(rank_of(line), []).extend(numbers)
    return {rank: join(numbers) for rank, numbers in found.items()}


def _first(numbers: List[float]) -> float:
    return numbers[0]


def _last(numbers: List[float]) -> float:
    return numbers[-1]


def _sglang_figures(text: str) -> Dict[str, Any]:
    """Return the memory figures of SGLang's start-up lines. Weights that are loaded after the pool (a draft model's) do not count."""
    pools = [at for at in (text.find("KV Cache is allocated"), text.find("Memory pool end")) if at >= 0]
    loading = text[:min(pools)] if pools else text
    before = _by_rank(_lines_with(loading, "Load weight begin"), _FREE, _first)
    least = {
        "free_before_load_gib": before,
        "free_after_load_gib": _by_rank(_lines_with(loading, "Load weight end"), _FREE, _last),
        "kv_cache_gib": _by_rank(_lines_with(text, "KV Cache is allocated"), _SIZES, sum)
        or _by_rank(_lines_with(text, "KV cache allocated."), _SIZES, sum),
        "state_cache_gib": _by_rank(_lines_with(text, "Mamba Cache is allocated"), _STATES, sum),
        "tokens": _by_rank(_lines_with(text, "max_total_num_tokens="), _TOKENS, _first)
        or _by_rank(_lines_with(text, "#tokens: "), _POOL_TOKENS, _first),
        "free_at_end_gib": _by_rank(_lines_with(text, "available_gpu_mem="), _LEFT, _last),
    }
    most = {
        "init_gib": _by_rank(_lines_with(text, "Init torch distributed ends"), _USED, _first)
        or _by_rank(_lines_with(text, "Memory baseline taken"), _USED, _first),
        "weights_gib": _by_rank(_lines_with(loading, "Load weight end"), _USED, sum),
        "graph_gib": _by_rank((line for line in _lines_with(text, " end") if "Capture " in line), _USED, sum),
    }
    figures: Dict[str, Any] = {name: min(ranks.values()) for name, ranks in least.items() if ranks}
    figures.update((name, max(ranks.values())) for name, ranks in most.items() if ranks)
    figures.update({"tokens": int(figures["tokens"])} if "tokens" in figures else {})
    figures.update({"ranks": len(before)} if before else {})
    if before and max(before.values()) - min(before.values()) > UNEVEN_GIB:
        figures["free_before_load_by_rank_gib"] = dict(sorted(before.items()))
    return figures


def _vllm_figures(text: str) -> Dict[str, Any]:
    """Return what vLLM tells of memory and of itself: the least that any rank tells."""
    figures: Dict[str, Any] = {}
    for name, pattern in _VLLM:
        told = [found.group(1).replace(",", "") for found in pattern.finditer(text)]
        if told:
            figures[name] = told[-1] if name == "version" else min(map(int, told)) if name == "tokens" else min(map(float, told))
    return figures
