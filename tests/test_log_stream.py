"""A long log is read as a stream and says what its whole text says."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import pytest

from driftwatch.agent.server_log import parse_log
from driftwatch.log_stream import BLOCK, WHOLE, condense
from driftwatch.store.errors import StoreError
from driftwatch.store.log_file import log_chunks
from driftwatch.symptom import classify, trace_of

PASTES = Path(__file__).parent / "dumps/pastes"
START = "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', tp_size=2, mem_fraction_static=0.85)\n"
LOAD = "".join(f"[2026-02-26 10:2{at}:11 TP{rank}] Load weight {what}. avail mem={free}.{rank} GB\n"
               for at, what, free in ((1, "begin", 94), (2, "end", 21)) for rank in (0, 1))
READY = "[2026-02-26 10:24:13] The server is fired up and ready to roll!\n"
DECODE = "[2026-02-26 15:12:{:02d} TP0] Decode batch. #running-req: 3, gen throughput (token/s): 8{}.82, #queue-req: 0\n"
QUIET = "[2026-02-26 15:12:{:02d} TP0] Prefetch of block {} kept.\n"
TRACE = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 2637, in run_scheduler_process
    scheduler.event_loop()
[2026-02-26 16:00:00 TP1] RuntimeError: CUDA error: an illegal memory access was encountered
[2026-02-26 16:00:00] Received sigquit from a child process. It usually means the child failed.
"""
LINES = 12_000


def filled(line, count=LINES):
    return "".join(line.format(number % 60, number % 10) for number in range(count))


LONG = {
    "served, then failed": START + LOAD + READY + filled(DECODE) + TRACE,
    "failed, then quiet for long": START + LOAD + READY + TRACE + filled(QUIET),
    "failed, then served": START + LOAD + READY + TRACE + filled(DECODE),
    "failed after serving, then quiet": START + LOAD + READY + filled(DECODE, 4_000) + filled(QUIET, 4_000) + TRACE + filled(QUIET),
    "an earlier run failed": START + TRACE + filled(QUIET) + START + LOAD + READY + filled(QUIET),
    "an earlier run served": START + READY + filled(DECODE) + START + LOAD + "RuntimeError: Not enough memory.\n" + filled(QUIET),
    "ends in the middle of loading": filled(QUIET) + START + "[2026-02-26 10:20:11 TP0] Load weight begin. avail mem=94.50 GB\n",
    "errors without end": START + READY + "torch.OutOfMemoryError: CUDA out of memory.\n" + filled("[2026-02-26 15:12:{:02d} TP0] ERROR: request {} failed\n"),
    "in Windows line ends": (START + LOAD + READY + filled(DECODE) + TRACE).replace("\n", "\r\n"),
    "with progress bars": START + LOAD + filled("Loading: {}% Completed | {}/5\r") + "\n" + TRACE + filled(QUIET),
    "no run begins": filled(QUIET) + TRACE + filled(QUIET),
}


def chunks_of(text, size=BLOCK):
    data = text.encode()
    return (data[at:at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("name", LONG)
def test_a_long_log_shows_what_its_whole_text_shows(name):
    text = LONG[name]
    kept = condense(chunks_of(text, 777_777), whole=1000)
    assert (kept.is_whole, len(kept.text) < 2 << 20) == (False, True)
    assert classify(kept.text) == classify(text)
    assert trace_of(kept.text) == trace_of(text)
    assert parse_log(kept.text) == parse_log(text.replace("\r\n", "\n"))


@pytest.mark.parametrize("paste", sorted(path.name for path in PASTES.iterdir()))
@pytest.mark.parametrize("whole", [0, WHOLE])
def test_a_short_log_shows_the_same_either_way(paste, whole):
    for path in (PASTES / paste).glob("*.txt"):
        data = path.read_bytes()
        text = data.decode("utf-8", "replace")
        assert classify(condense([data], whole).text) == classify(text)


def test_zero_bytes_and_control_characters_in_a_log_are_fine():
    noise = "\0" * (1 << 20) + "\x1b[2J\x07\x08" * 1000 + "\n"
    assert classify(condense(chunks_of(START + noise * 6 + TRACE)).text).klass == "runtime-crash"


def test_an_endless_line_is_not_kept():
    kept = condense(b"x" * BLOCK for _ in range(64))
    assert len(kept.text) < 1 << 20


def test_an_error_behind_an_endless_line_is_found():
    assert classify(condense([START.encode(), *(b"x" * BLOCK for _ in range(8)), b"\n", TRACE.encode()]).text).klass == "runtime-crash"


def test_a_packed_log_is_unpacked_as_it_is_read(tmp_path):
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(LONG["served, then failed"].encode()) + gzip.compress(b"the end\n"))
    assert b"".join(log_chunks(path)).decode() == LONG["served, then failed"] + "the end\n"
    assert max(map(len, log_chunks(path))) <= 1 << 20


def test_a_packed_log_that_is_cut_gives_what_there_is_and_a_damaged_one_is_refused(tmp_path):
    whole = gzip.compress(LONG["served, then failed"].encode())
    path = tmp_path / "cut.log.gz"
    path.write_bytes(whole[:len(whole) // 2])
    assert b"".join(log_chunks(path)).decode().startswith(START)
    path.write_bytes(whole[:10] + b"\xff" * 200)
    with pytest.raises(StoreError, match="cannot be unpacked"):
        list(log_chunks(path))


def test_a_gzip_of_almost_nothing_takes_little_memory(tmp_path):
    path = tmp_path / "bomb.gz"
    packer = zlib.compressobj(wbits=31)
    path.write_bytes(b"".join(packer.compress(bytes(BLOCK)) for _ in range(100)) + packer.flush())
    assert max(map(len, log_chunks(path))) <= BLOCK


@pytest.mark.parametrize("what", ["a FIFO", "a folder", "/dev/zero", "nothing"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, what):
    path = tmp_path / "log"
    if what == "a FIFO":
        os.mkfifo(path)
    elif what == "a folder":
        path.mkdir()
    with pytest.raises(StoreError):
        next(log_chunks("/dev/zero" if what == "/dev/zero" else path))


def test_every_word_that_a_rule_looks_for_makes_a_line_count():
    words = ["KeyError: 'x'", "torch.OutOfMemoryError: CUDA out of memory.", "Killed", "Segmentation fault (core dumped)", "[rank0]: Watchdog caught timeout"]
    for word in words:
        assert word in condense([START.encode(), *(b"x y z\n" * 100_000 for _ in range(2)), word.encode(), b"\n" * 2, *(b"x y z\n" * 100_000,)], whole=0).text
