"""A server's log that is too long for a dump, or packed, is a side of `diff` all the same."""

from __future__ import annotations

import gzip
import json

START = "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', tp_size=1, mem_fraction_static={})\n"
LOAD = "[2026-02-26 10:20:11 TP0] Load weight begin. avail mem=94.50 GB\n[2026-02-26 10:22:11 TP0] Load weight end. avail mem=21.70 GB\n"
DECODE = "[2026-02-26 15:12:35 TP0] Decode batch. #running-req: 3, gen throughput (token/s): 88.82, #queue-req: 0\n"
FAILED = "[2026-02-26 16:00:00 TP0] RuntimeError: CUDA error: an illegal memory access was encountered\n"


def test_a_log_of_many_megabytes_and_a_packed_one_are_compared(cli):
    long = cli.home / "bad.log"
    long.write_text(START.format(0.55) + LOAD + DECODE * 200_000 + FAILED)
    packed = cli.home / "good.log.gz"
    packed.write_bytes(gzip.compress((START.format(0.85) + LOAD + DECODE * 100).encode()))
    assert long.stat().st_size > 20_000_000
    told = json.loads(cli.run("diff", packed, long, "--json").stdout)
    assert told["suspects"][0]["subject"]["name"] == "mem_fraction_static"
    assert told["symptom"]["class"] == "runtime-crash"


def test_a_long_file_that_begins_like_no_log_is_refused_as_before(cli):
    path = cli.home / "long.txt"
    path.write_bytes(b"a line of something\n" * 2_000_000)
    ran = cli.run("diff", path, path)
    assert ran.returncode == 2
    assert "too large" in ran.stderr
