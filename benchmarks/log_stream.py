"""How fast a long server log is read: ``python benchmarks/log_stream.py [--mb 1000] [--rounds 3] [--work DIR]``.

The logs are made on the spot: a start, then lines of one kind, then a failure. The kinds: decoding and requests; lines alike that say nothing of serving;
prompts and requests, where hardly a line is like another; and words that are all unlike and say nothing of serving, the worst there is. Each is read as
``diff --log`` reads it, in a process of its own, and beside it in the same rounds by ``grep -c ERROR`` and ``wc -l``. Goals: at least 150 MB/s, at most
100 MiB.
"""

from __future__ import annotations

import argparse
import random
import statistics
import string
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from round_robin import Row, compare, compile_all, table

ROOT = Path(__file__).resolve().parent.parent
READ = """
import sys
from driftwatch.log_stream import condense
from driftwatch.store.log_file import log_chunks
from driftwatch.symptom import classify
found = classify(condense(log_chunks(sys.argv[1])).text)
sys.exit(found is None or found.klass != "runtime-crash")
"""
START = "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', tp_size=8)\n[2026-02-26 10:24:13] The server is fired up and ready to roll!\n"
FAILURE = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 2637, in run_scheduler_process
[2026-02-26 16:00:00 TP3] RuntimeError: CUDA error: an illegal memory access was encountered
[2026-02-26 16:00:00] Received sigquit from a child process. It usually means the child failed.
"""


def lines(number: int) -> str:
    """Return one line of decoding and one of a request."""
    clock = f"2026-02-26 15:{number // 60 % 60:02d}:{number % 60:02d}"
    return (f"[{clock} TP0] Decode batch. #running-req: {number % 9}, #token: {number * 7 % 90000}, "
            f"gen throughput (token/s): {80 + number % 9}.42, #queue-req: 0\n"
            f'[{clock}] INFO:     10.0.3.{number % 250}:{40000 + number % 20000} - "POST /generate HTTP/1.1" 200 OK\n')


def quiet_lines(number: int) -> str:
    """Return a line that says nothing of serving: after an error, each of them has to be looked at."""
    return f"[2026-02-26 15:{number // 60 % 60:02d}:{number % 60:02d} TP{number % 8}] Prefetch of block {number} kept for {number * 2654435761 % 2**32:08x}\n"


def prompt_lines(number: int) -> str:
    """Return a line with a prompt, like no other, and of every fourth request its end."""
    clock = f"INFO 02-26 15:{number // 60 % 60:02d}:{number % 60:02d}"
    line = f"{clock} [logger.py:39] Received request cmpl-{number * 2654435761 % 2**64:016x}: prompt: '{words(number, 30)}', params: SamplingParams(n=1)\n"
    return line if number % 4 else line + f'INFO:     10.0.3.{number % 250}:{40000 + number % 20000} - "POST /v1/completions HTTP/1.1" 200 OK\n'


def unlike_lines(number: int) -> str:
    """Return a line like no other that says nothing of serving."""
    return f"[2026-02-26 15:{number // 60 % 60:02d}:{number % 60:02d} TP{number % 8}] {words(number, 12)}\n"


def words(number: int, count: int) -> str:
    """Return words of small letters that a number stands for, no two numbers the same."""
    draw = random.Random(number)
    return " ".join("".join(draw.choices(string.ascii_lowercase, k=6)) for _ in range(count))


def write_log(path: Path, size: int, line: Callable[[int], str]) -> None:
    """Write a log of that many bytes."""
    body = "".join(map(line, range(100_000)))
    with path.open("w") as file:
        file.write(START)
        for _ in range(max(1, size // len(body))):
            file.write(body)
        file.write(FAILURE)


def main() -> None:
    """Make the logs, measure, print the table and the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    compile_all(ROOT / "driftwatch")
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        for name, line in (
            ("a log that served", lines), ("a log that says nothing of serving", quiet_lines), ("prompts and requests", prompt_lines),
            ("lines all unlike that say nothing of serving", unlike_lines)):
            measure(name, Path(folder) / "server.log", (given.mb * 1_000_000, line), given.rounds)


def measure(name: str, path: Path, made: tuple[int, Callable[[int], str]], rounds: int) -> None:
    """Print how fast one log is read."""
    write_log(path, *made)
    megabytes = path.stat().st_size / 1e6
    env = (("PYTHONPATH", str(ROOT)),)
    rows = [Row("driftwatch", (sys.executable, "-c", READ, str(path)), env, good_codes=(0,)), Row("grep -c ERROR", ("grep", "-c", "ERROR", str(path))),
            Row("wc -l", ("wc", "-l", str(path)))]
    costs = compare(rows, rounds)
    ours = costs["driftwatch"]
    print(f"\n{name}, {megabytes:.0f} MB: {megabytes / statistics.median(one.wall_s for one in ours):.0f} MB/s by the clock, "
          f"{megabytes / statistics.median(one.cpu_s for one in ours):.0f} MB/s of CPU, peak {max(one.peak_mib for one in ours):.0f} MiB\n")
    print(table(rows, costs, "driftwatch"))


if __name__ == "__main__":
    main()
