from __future__ import annotations

import pytest

from driftwatch.model import Snapshot
from driftwatch.symptom import SYMPTOM_CLASSES, class_of, classify, of_snapshot

START = "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', mem_fraction_static=0.85)\n"
READY = "[2026-02-26 10:24:13] The server is fired up and ready to roll!\n"


@pytest.mark.parametrize(
    ("line", "klass"),
    [
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.55", "oom"),
        ("ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.5.", "oom"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "oom"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "oom"),
        ("Killed", "oom"),
        ("ValueError: Free memory on device cuda:0 (22.52/44.4 GiB) on startup is less than desired GPU memory utilization (0.85, 37.74 GiB).", "oom"),
        ("ValueError: No available memory for the cache blocks.", "oom"),
        ("RuntimeError: NCCL error: ... ncclUnhandledCudaError: out of memory", "oom"),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory", "import-error"),
        ("ModuleNotFoundError: No module named 'numpy.lib.function_base'", "import-error"),
        ("ImportError: x.so: undefined symbol: _ZN3c105ErrorC2E", "import-error"),
        ("python: symbol lookup error: x.so: undefined symbol: foo", "import-error"),
        ("pynvml.NVMLError_LibRmVersionMismatch: Driver/library version mismatch", "device-lost"),
        ("RuntimeError: No CUDA GPUs are available", "device-lost"),
        ("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", "device-lost"),
        ("RuntimeError: CUDA unknown error - this may be due to an environment", "device-lost"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "device-lost"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "device-lost"),
        ("[rank0]: torch.distributed.DistBackendError: [1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)", "hang"),
        ("TimeoutError: RPC call to sample_tokens timed out.", "hang"),
        ("[2026-03-02 12:23:08 TP0] Watchdog timeout (self.watchdog_timeout=300)", "hang"),
        ("ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.", "startup-crash"),
        ("OSError: [Errno 24] Too many open files", "startup-crash"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "runtime-crash"),
        ("RuntimeError: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "runtime-crash"),
    ],
)
def test_a_failure_is_classed_by_what_its_decisive_line_says(line, klass):
    symptom = classify(START + line + "\nReceived sigquit from a child process. It usually means the child failed.\n")
    assert symptom is not None
    assert symptom.klass == klass
    assert klass in SYMPTOM_CLASSES


def test_an_error_before_the_server_was_ready_is_a_crash_of_the_start_and_one_after_a_crash_of_the_run():
    error = "AttributeError: 'Router' object has no attribute 'path'\n"
    assert classify(START + error).klass == "startup-crash"
    assert classify(START + READY + error).klass == "runtime-crash"


def test_an_error_of_an_earlier_run_does_not_count():
    assert classify(START + "RuntimeError: Not enough memory.\n" + START + READY) is None


def test_a_log_without_failure_has_no_symptom():
    assert classify(START + READY + "[2026-02-26 15:12:35 TP0] Decode batch. #running-req: 3, gen throughput (token/s): 88.82, #queue-req: 0\n") is None
    assert classify("") is None


def test_a_log_that_ends_in_the_middle_of_loading_shows_a_hang():
    symptom = classify(START + "Loading safetensors checkpoint shards:   0% Completed | 0/5 [00:00<?, ?it/s]\n")
    assert symptom.klass == "hang"
    assert symptom.signature.startswith("Loading safetensors")
    assert classify(START + "[2026-02-26 10:20:11 TP0] Load weight begin. avail mem=94.50 GB\n").klass == "hang"


def test_what_a_server_was_given_is_no_error():
    assert classify("server_args=ServerArgs(model_path='m', watchdog_timeout=300, soft_watchdog_timeout=None)\n") is None
    given = "INFO 02-12 10:31:07 api_server.py:839] args: Namespace(model='m', watchdog_timeout=300)\n"
    assert classify(given + "ValueError: no such model\n").signature == "ValueError: no such model"


def test_who_is_killed_after_he_told_why_was_ended_for_that():
    listens = START + "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)\n"
    error = "AssertionError: res=<Response [502]>, res.text=''"
    symptom = classify(f"{listens}[2026-02-26 15:12:35] Initialization failed. warmup error: Traceback (most recent call last):\n{error}\n\nKilled\n")
    assert (symptom.klass, symptom.signature) == ("startup-crash", error)
    assert classify(START + "Killed\n").klass == "oom"


def test_the_stacks_that_faulthandler_writes_after_a_time_show_a_hang():
    assert classify('Timeout (0:02:00)!\n  File ".../torch/utils/file_baton.py", line 50 in wait\n').klass == "hang"


def test_one_line_that_a_user_pastes_is_enough():
    assert classify("RuntimeError: Not enough memory").klass == "oom"


def test_the_decisive_line_stands_without_time_and_rank_and_without_secrets():
    secret = "hf_" + "aB3" * 12
    symptom = classify(START + f"[2026-03-02 12:23:08 TP0] RuntimeError: no access with {secret}\n")
    assert symptom.signature == "RuntimeError: no access with [masked]"


def test_the_same_line_is_classed_by_whether_the_server_had_been_ready():
    assert class_of("KeyError: 'x'", was_ready=False) == "startup-crash"
    assert class_of("KeyError: 'x'", was_ready=True) == "runtime-crash"


def snapshot(**facts):
    return Snapshot(host="h", taken_at=None, facts={path.replace("__", "/"): value for path, value in facts.items()})


def test_a_snapshot_tells_the_symptom_of_its_servers_log():
    symptom = of_snapshot(
        snapshot(servers__sglang__log__error="RuntimeError: Not enough memory.", servers__sglang__log__path="/var/log/s.log", servers__sglang__log__ready=False)
    )
    assert (symptom.klass, symptom.signature, symptom.log) == ("oom", "RuntimeError: Not enough memory.", "/var/log/s.log")


def test_a_snapshot_whose_log_could_not_be_read_has_no_symptom():
    assert of_snapshot(snapshot(servers__sglang__log={"unknown": "not_recorded", "reason": "no log"})) is None
    assert of_snapshot(snapshot(servers__sglang__log__error={"unknown": "error", "reason": "x"})) is None


def test_a_crash_after_serving_is_a_crash_of_the_run_in_a_snapshot_too():
    assert of_snapshot(snapshot(servers__vllm__log__error="KeyError: 'x'", servers__vllm__log__ready=True)).klass == "runtime-crash"
