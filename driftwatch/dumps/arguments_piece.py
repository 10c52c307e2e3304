"""A piece out of the middle of a server's arguments (``…, a=1, b='x', …``), whose head with the words that name it was not pasted.

Whose they are is known by fields that only one framework has. The first and the last of each line may be pieces themselves and are left out.

| path | what |
|---|---|
| servers/FRAMEWORK/args/ARG | as in server_log.py |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.agent.server_args import parse_server_args
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.server_log import ARGUMENTS

FEWEST_FIELDS = 6
FEWEST_OWN = 2
_LONGEST = 1 << 15
_FIELD = re.compile(r"(?:\A|, ?)([a-z_][a-z0-9_]{1,60})=")
_BETWEEN = re.compile(r", ?(?=[a-z_][a-z0-9_]{1,60}=)")
_SIGN = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|[()\[\]{}]")
_SGLANG = """
    disable_radix_cache mem_fraction_static chunked_prefill_size schedule_policy cuda_graph_max_bs disable_cuda_graph enable_dp_attention
    schedule_conservativeness enable_mixed_chunk triton_attention_num_kv_splits torch_compile_max_bs enable_torch_compile disable_overlap_schedule
    enable_nccl_nvls enable_symm_mem watchdog_timeout attention_backend sampling_backend grammar_backend tp_size dp_size nccl_port
"""
_VLLM = """
    gpu_memory_utilization max_num_seqs max_num_batched_tokens enforce_eager tensor_parallel_size pipeline_parallel_size enable_prefix_caching
    enable_chunked_prefill guided_decoding_backend swap_space distributed_executor_backend uvicorn_log_level disable_frontend_multiprocessing
    num_scheduler_steps preemption_mode worker_cls max_seq_len_to_capture max_logprobs kv_transfer_config compilation_config
"""
_OWN = {"sglang": frozenset(_SGLANG.split()), "vllm": frozenset(_VLLM.split())}


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of lines that are fields and nothing else, some of them of one framework only."""
    at = 0
    while at < len(lines):
        after = at
        while after < len(lines) and _is_piece(lines[after]):
            after += 1
        if after > at and _framework(" ".join(lines[at:after])):
            yield Stretch(at, after, 0.3)
        at = max(after, at + 1)


def _is_piece(line: str) -> bool:
    short = line[:_LONGEST]
    return line != FENCE and short.count("=") >= FEWEST_FIELDS and ARGUMENTS.search(short) is None and len(_FIELD.findall(short)) >= FEWEST_FIELDS


def _framework(text: str) -> str:
    """Return whose fields a text holds; "" where nothing or both sides say so."""
    names = set(_FIELD.findall(text))
    found = [framework for framework, own in _OWN.items() if len(names & own) >= FEWEST_OWN]
    return found[0] if len(found) == 1 else ""


def parse(text: str) -> Parsed:
    """Return the fields between the first and the last of each line."""
    facts: dict[str, Any] = {}
    framework, mask = _framework(" ".join(text.split("\n"))), Redactor()
    for line in text.split("\n") if framework else ():
        for name, value in parse_server_args(f"({_middle(line[:_LONGEST])})").items():
            facts[fact_path("servers", framework, "args", name)] = mask.argument(name, value)
    return Parsed(facts, notes=("a piece of the server's arguments: its head was not pasted",) if facts else ())


def _middle(line: str) -> str:
    """Return the whole fields of a line: behind the last bracket that closes what the cut opened, without the first and the last."""
    depth, start = 0, 0
    for sign in _SIGN.finditer(line):
        if len(sign.group()) == 1:
            depth += 1 if sign.group() in "([{" else -1
            start, depth = (sign.end(), 0) if depth < 0 else (start, depth)
    ends = list(_BETWEEN.finditer(line, start))
    return line[ends[0].end():ends[-1].start()] if len(ends) > 1 else ""


FORMAT = Format(
    name="server-log", find=find, parse=parse, knows_cuts=True, looks_like="a piece of a server's arguments",
    never_prints=("packages/*", "driver/*", "gpus/*", "env/*", "os/*", "kernel/*"),
)
