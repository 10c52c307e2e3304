"""A log without a failure that is known: what it tells in passing, the stack somebody took, a cut traceback, a warning, a speed."""

from __future__ import annotations

import pytest

from driftwatch.log_remarks import remarked
from driftwatch.symptom import classify

SLOW = "INFO 10-17 06:52:10 [loggers.py:127] Engine 000: Avg prompt throughput: 51.2 tokens/s, Avg generation throughput: {} tokens/s, Running: 4 reqs"
CUT = """  File "/srv/sglang/python/sglang/srt/managers/scheduler.py", line 47, in <module>
    from sglang.srt.disaggregation.manager import (
  File "/srv/sglang/python/sglang/srt/disaggregation/manager.py", line 7, in <module>
    from sglang import ServerArgs
"""
STACK = """Process 71: python -m sglang.launch_server
Thread 130 (active): "MainThread"
    sched_yield (libc.so.6)
    ncclLaunchKernelBefore_NoUncapturedCuda (enqueue.cc:968)
"""


@pytest.mark.parametrize(("log", "klass", "quoted"), [
    ("CUDA_ERROR_NOT_INITIALIZED: initialization error\ncuda driver library init failure: 3\n", "device-lost", "CUDA_ERROR_NOT_INITIALIZED"),
    ("[12/40] nvcc -c fused_moe.cu\nFAILED: [code=137] fused_moe_120\n", "oom", "code=137"),
    ('!!!!!!! Segfault encountered !!!!!!!\n  File "<unknown>", line 0, in TVMFFIEnvRegisterCAPI\n', "runtime-crash", "TVMFFIEnvRegisterCAPI"),
    ("      configuration error: `project.license` must be valid exactly by one definition\n", "startup-crash", "project.license"),
    (CUT, "import-error", "from sglang import ServerArgs"), (STACK, "hang", "ncclLaunchKernelBefore"),
    ("[2026-08-26 19:23:31 TP0] sglang is using nccl==2.28.9\n", "hang", "nccl==2.28.9"), (SLOW.format("0.0"), "hang", "throughput: 0.0"),
    (SLOW.format("9.8"), "slow", "9.8 tokens/s"), ("n:1:1 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n", "slow", "NCCL_P2P_LEVEL"),
    ("Using 'FLASHINFER_CUTLASS_MXFP4_BF16' Mxfp4 MoE backend.\n", None, "MXFP4_BF16"),
    ("UserWarning: \n  CuPy may not function correctly: cupy-cuda12x, cupy-cuda13x\n", None, "cupy-cuda12x"),
])
def test_a_log_without_a_known_failure_is_quoted_all_the_same(log, klass, quoted):
    assert classify(log) is None
    found = remarked(log)
    assert found is not None
    assert (found.klass, quoted in found.signature) == (klass, True)


@pytest.mark.parametrize("log", ["", "\n\n", "[2026-08-10 10:01:12] The server is fired up and ready to roll!\n", "Load model end. avail mem=9.10 GB\n"])
def test_a_log_that_remarks_nothing_shows_nothing(log):
    assert remarked(log) is None


def test_a_fault_before_the_last_sign_of_serving_did_not_end_it():
    assert remarked("CUDA_ERROR_NOT_INITIALIZED: initialization error\n" + SLOW.format("9.8")).klass == "slow"


def test_a_secret_in_a_remark_is_masked():
    assert "hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567" not in remarked("WARNING: cannot log in with hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567\n").signature


def test_of_a_long_run_its_beginning_and_its_end_are_looked_at():
    lines = "got a prompt\n" * 40_000
    assert "NCCL_P2P_LEVEL" in remarked("NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n" + lines).signature
    assert remarked(lines + SLOW.format("0.0")).klass == "hang"
