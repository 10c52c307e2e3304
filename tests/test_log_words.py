"""However a log is looked through, by shapes, by words or line by line, the same lines decide."""

from __future__ import annotations

import random
import string

import pytest

from driftwatch.agent.log_errors import _CHAIN, HINT, LINE, SERVED, _weight, bare, failure_in
from driftwatch.agent.server_log import last_run, parse_log
from driftwatch.log_stream import BLOCK, Sieve
from driftwatch.log_words import ERROR_WORDS, SERVED_WORDS, last_lines_with, last_served, lines_with, numbered
from driftwatch.symptom import classify, trace_of

WORDS = ["".join(random.Random(at).choices(string.ascii_lowercase, k=3 + at % 8)) for at in range(3000)]
TELLING = (
    "[2026-02-26 15:12:01 TP0] Decode batch. #running-req: 3, gen throughput (token/s): 81.5, #queue-req: 0",
    'INFO:     10.0.0.1:4000 - "POST /generate HTTP/1.1" 200 OK', 'INFO:     10.0.0.1:4000 - "GET /health HTTP/1.1" 503 Service Unavailable',
    "INFO 02-26 15:12:01 [loggers.py:118] Engine 000: Avg prompt throughput: 9.1 tokens/s, Avg generation throughput: 7.2 tokens/s",
    "[2026-02-26 10:24:13] The server is fired up and ready to roll!", "[2026-02-26 10:21:11 TP0] Load weight begin. avail mem=94.0 GB",
    "[2026-02-26 10:22:11 TP1] Capture cuda graph end. Time elapsed: 3 s. mem usage=1.2 GB. avail mem=5.0 GB.",
    "[2026-02-26 16:00:00 TP1] RuntimeError: CUDA error: an illegal memory access was encountered", "torch.OutOfMemoryError: CUDA out of memory.",
    "Traceback (most recent call last):", '  File "/opt/venv/lib/python3.12/site-packages/torch/_ops.py", line 12, in f',
    "/opt/lib/libx.so: undefined symbol: _ZN2at", "The above exception was the direct cause of the following exception:", "KeyError: 'x'", "Killed",
    "[rank0]: Watchdog caught collective operation timeout", "WARNING retry failed", "ERROR 02-26 15:12:01 [core.py:1] EngineCore failed to start.",
    "RuntimeError: Engine core initialization failed. See root cause above.", "terminate called after throwing an instance of 'c10::Error'", "  what():  CUDA",
    "node:1:2 [0] NCCL WARN Call to connect timed out", "level=fatal msg=gone", "NVRM: Xid (PCI:0000:19:00): 79", "Fatal Python error: Segmentation fault",
    "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', tp_size=2)",
)


def written(seed, size=BLOCK + 300_000):
    """Return a log of lines that are all unlike, with telling lines here and there, from a few to many."""
    draw = random.Random(seed)
    often, likely = draw.choice((0.0001, 0.001, 0.02)), draw.sample(TELLING, draw.randint(3, len(TELLING)))
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(draw.choice(likely) if draw.random() < often else f"{' '.join(draw.choices(WORDS, k=14))} {draw.random()}")
        length += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"


def kept(text, unlike_blocks):
    sieve = Sieve(unlike_blocks)
    data = text.encode()
    at = 0
    while at < len(data):
        end = data.find(b"\n", min(at + 300_000, len(data) - 1)) + 1
        sieve.take(data[at:end])
        at = end
    return sieve.text()


@pytest.mark.parametrize("seed", range(8))
def test_a_log_of_lines_all_unlike_shows_what_its_whole_text_shows(seed):
    text = written(seed)
    for unlike_blocks in (0, 1_000):
        found = kept(text, unlike_blocks)
        assert len(found) < len(text)
        assert classify(found) == classify(text)
        assert trace_of(found) == trace_of(text)
        assert {**parse_log(found).figures, "error_ranks": None} == {**parse_log(text).figures, "error_ranks": None}


@pytest.mark.parametrize("line", TELLING)
def test_every_line_that_a_rule_weighs_holds_one_of_the_words(line):
    raw = line.encode()
    weighs = HINT.search(line) is not None and (_weight(line, bare(line)) > 0 or _CHAIN.search(line) is not None)
    assert weighs <= any(word in raw for word in ERROR_WORDS)
    assert (SERVED.search(line) is not None) == any(word in raw for word in SERVED_WORDS)


def test_whole_blocks_are_searched_as_each_line_would_be():
    draw = random.Random(5)
    for _ in range(40):
        lines = [draw.choice(TELLING) if draw.random() < 0.2 else " ".join(draw.choices(WORDS, k=draw.randint(0, 900))) for _ in range(60)]
        block = "".join(line + "\n" for line in lines).encode()
        plain = [at for at, line in enumerate(lines) if any(word in line.encode()[:LINE] for word in ERROR_WORDS)]
        assert [number for number, _ in numbered(block, lines_with(block, ERROR_WORDS, 0, LINE), 0, LINE)] == plain
        served = [at for at, line in enumerate(lines) if SERVED.search(line)]
        found = last_served(block, LINE)
        assert ([number for number, _ in numbered(block, [found], 0, LINE)] if found >= 0 else []) == served[-1:]
        speeds = [at for at, line in enumerate(lines) if "throughput" in line]
        assert [number for number, _ in numbered(block, last_lines_with(block, b"throughput", 3, LINE), 0, LINE)] == speeds[-3:]


def test_what_came_before_the_last_sign_of_serving_is_not_the_failure():
    text = written(3) + TELLING[7] + "\n" + written(4).replace("rror", "").replace("server_args", "") + TELLING[0] + "\n"
    assert failure_in(last_run(kept(text, 1_000))) == failure_in(last_run(text))
