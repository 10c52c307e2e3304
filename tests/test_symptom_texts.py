"""Errors as the programs of an inference host word them, and what stands around them in logs."""

from __future__ import annotations

import pytest

from driftwatch.symptom import classify

WORDED = {
    "oom": (
        "RuntimeError: CUDA error: out of memory", "OSError: [Errno 12] Cannot allocate memory", "torch.cuda.OutOfMemoryError: HIP out of memory. Tried",
        "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: rmm", "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on",
        "ValueError: To serve at least one request (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.83 GiB).",
        "[ 1234.5] Out of memory: Killed process 1234 (python3) total-vm:1kB"),
    "import-error": (
        "ImportError: cannot import name 'is_flash_attn' from 'transformers.utils' (/opt/x/__init__.py)", "ModuleNotFoundError: No module named 'sgl_kernel'",
        "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /opt/x.so)"),
    "startup-crash": (
        "ValueError: The checkpoint has model type `qwen3_next` but Transformers does not recognize this architecture.",
        "huggingface_hub.errors.GatedRepoError: 403 Client Error.", "OSError: We couldn't connect to 'https://huggingface.co' to load the files",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig", "launch_server.py: error: unrecognized arguments: --enable-foo",
        "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use", "safetensors_rust.SafetensorError: header",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 114688, Hardware limit: 101376.",
        "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error", "RuntimeError: NVCC compilation failed: 1",
        "thread '<unnamed>' panicked at src/lib.rs:12:5: called `Result::unwrap()` on an `Err` value", "RuntimeError: Ninja build failed. Ninja output:",
        "docker: Error response from daemon: could not select device driver", "RuntimeError: operator torchvision::nms does not exist",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device", "OSError: [Errno 28] No space left on device: '/tmp/x'",
        "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 64: Resource temporarily unavailable",
        "libgomp: Thread creation failed: Resource temporarily unavailable"),
    "device-lost": (
        "pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded", "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
        "NVRM: Xid (PCI:0000:19:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
    "runtime-crash": (
        "RuntimeError: CUDA error: device-side assert triggered", "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
        "CUDA error: unspecified launch failure", "RuntimeError: CUDA error: the launch timed out and was terminated"),
    "hang": (
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
        "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:10:10."),
}
AROUND = {
    "a line of Docker's JSON": '{"log":"ValueError: bad thing\\n","stream":"stderr","time":"2026-02-26T10:10:10Z"}\n',
    "a structured log": '{"level":"error","ts":"2026-02-26T10:10:10Z","message":"ValueError: bad thing"}\n{"level":"info","message":"bye"}\n',
    "compose": "server-1  | Traceback (most recent call last):\nserver-1  | ValueError: bad thing\n",
    "a pod": "[pod/sglang-0/server] ValueError: bad thing\n", "a container runtime": "2026-02-26T10:10:10.123456789Z stderr F ValueError: bad thing\n",
    "the journal": "Feb 26 10:10:10 a sglang[1]: ValueError: bad thing\n",
    "loguru": "2026-02-26 10:10:10.123 | ERROR    | sglang.x:run:12 - ValueError: bad thing\n",
    "logging": "2026-02-26 10:10:10,123 - sglang.x - ERROR - ValueError: bad thing\n",
    "a module that is left out": "ValueError: bad thing\n[2026-02-26 10:10:11] Ignore import error when loading sglang.srt.models.x: No module named 'y'\n",
    "warnings of imports":
        "WARNING 02-26 10:10:11 [interface.py:1] Failed to import from vllm._C with ImportError('libx.so.1: cannot open')\nValueError: bad thing\n",
    "a destructor at the end": (
        "ValueError: bad thing\nException ignored in: <function X.__del__ at 0x7>\nTraceback (most recent call last):\n"
        "  File \"b.py\", line 1, in __del__\nAttributeError: 'NoneType' object has no attribute 'x'\n"),
    "a wrapper that follows": (
        "ValueError: bad thing\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
        "RuntimeError: wrapper says failed\n"),
    "other ranks that lost their peer": (
        "[rank1]: Traceback (most recent call last):\n[rank0]: torch.distributed.DistBackendError: NCCL error: remote process exited or there was an error\n"
        "[rank1]: ValueError: bad thing\n[rank0]:[W1] ProcessGroupNCCL.cpp: Warning: process group has NOT been destroyed\n"),
}


@pytest.mark.parametrize(("klass", "line"), [(klass, line) for klass, lines in WORDED.items() for line in lines])
def test_a_worded_error_has_its_class(klass, line):
    symptom = classify(line + "\n")
    assert symptom is not None
    assert (symptom.klass, symptom.signature[:60]) == (klass, line[:60])


@pytest.mark.parametrize("what", AROUND)
def test_the_decisive_line_is_found_in_its_surroundings(what):
    symptom = classify(AROUND[what])
    assert symptom is not None
    assert symptom.signature == "ValueError: bad thing"


def test_an_error_long_after_an_ignored_one_counts():
    assert classify("Exception ignored in: <x>\n" + "all is well\n" * 1000 + "ValueError: bad thing\n").signature == "ValueError: bad thing"


def test_a_request_that_was_served_is_seen_in_escaped_json_too():
    assert classify('ValueError: bad request\n{"log":"INFO: 10.0.0.1:1 - \\"POST /generate HTTP/1.1\\" 200 OK\\n","stream":"stderr"}\n') is None


def test_what_nccl_warned_of_tells_more_than_what_follows_it():
    log = (
        "[0] transport/nvls.cc:301 NCCL WARN Cuda failure 1 'invalid argument'\nTraceback (most recent call last):\n"
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error\nncclUnhandledCudaError: Call to CUDA function failed.\n")
    assert "Cuda failure 1 'invalid argument'" in classify(log).signature
