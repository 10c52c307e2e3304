from __future__ import annotations

import time

import pytest

from driftwatch.agent.log_errors import HINT, bare, failure_in, rank_of
from driftwatch.agent.server_args import parse_server_args
from driftwatch.agent.server_log import last_run, parse_log
from driftwatch.log_words import ERROR_WORDS

START = "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', mem_fraction_static=0.85, tp_size=2)\n"


def lines(template: str, *values: float) -> str:
    """Return one line for each rank TP0, TP1 …"""
    return "".join(f"[2026-02-26 10:20:11 TP{rank}] {template.format(value)}\n" for rank, value in enumerate(values))


def figures(text: str) -> dict[str, object]:
    return parse_log(START + text).figures


def test_arguments_are_python_values_whatever_brackets_and_quotes_they_hold():
    text = """ServerArgs(a='x, (y)', b=None, c=0.55, d=True, e=[1, [2, 'z']], f={'k': (1, 2)}, g=<Mode.NULL: 'null'>, h='it\\'s', """
    text += """i="q'", j=-3, k=torch.bfloat16, l=Fn(x=1), m='')\nmore"""
    assert parse_server_args(text) == {
        "a": "x, (y)",
        "b": None,
        "c": 0.55,
        "d": True,
        "e": [1, [2, "z"]],
        "f": {"k": [1, 2]},
        "g": "null",
        "h": "it's",
        "i": "q'",
        "j": -3,
        "k": "torch.bfloat16",
        "l": "Fn(x=1)",
        "m": "",
    }


def test_arguments_that_are_logged_as_a_dict_are_the_same():
    assert parse_server_args("{'model_path': '/m', 'tp_size': 8, 'mode': <Mode.A: 'a'>}") == {"model_path": "/m", "tp_size": 8, "mode": "a"}


def test_a_cut_line_tells_what_stands_whole_in_it():
    assert parse_server_args("ServerArgs(a=1, b='xy', c=[1, 2") == {"a": 1, "b": "xy"}
    assert parse_server_args("ServerArgs(a=1, b='x") == {"a": 1}


def test_no_digit_of_a_number_is_lost_where_json_would_round_it():
    assert parse_server_args("S(a=0.7714256, b=1e-06, c=0.125)") == {"a": "0.7714256", "b": "1e-06", "c": 0.125}


@pytest.mark.parametrize("text", ["", "nothing", "(", "ServerArgs", "S(" + "[" * 5000, "S(a=" + "(" * 3000 + ")" * 3000 + ")", "S(=,=)", "S(a=b=c)"])
def test_text_that_makes_no_sense_gives_no_arguments_and_no_failure(text):
    assert isinstance(parse_server_args(text), dict)


@pytest.mark.parametrize(
    "template",
    [
        "Load weight end. type=X, dtype=torch.bfloat16, avail mem={:.2f} GB",
        "Load weight end. type=X, dtype=torch.bfloat16, avail mem={:.2f} GB, mem usage=72.30 GB.",
        "Load weight end. elapsed=212.40 s, type=X, dtype=torch.bfloat16, avail mem={:.2f} GB, mem usage=72.30 GB.",
        "Load weight end. elapsed=9.1 s, type=X, quant=fp8, avail mem={:.2f} GB, mem usage=72.30 GB.",
    ],
)
def test_free_memory_around_loading_is_the_least_of_all_ranks_in_every_release(template):
    told = figures(lines("Load weight begin. avail mem={:.2f} GB", 94.5, 93.25) + lines(template, 21.9, 21.7))
    assert (told["free_before_load_gib"], told["free_after_load_gib"], told["ranks"]) == (93.25, 21.7, 2)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("KV Cache is allocated. K size: 3.50 GB, V size: 4.25 GB.", 7.75),
        ("KV Cache is allocated. #tokens: 118494, K size: 3.50 GB, V size: 4.25 GB", 7.75),
        ("KV Cache is allocated. #tokens: 118494, KV size: 7.75 GB", 7.75),
        ("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 118494, KV size: 7.75 GB", 7.75),
        ("Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 9, KV size: 7.75 GB, avail mem=3.00 GB", 7.75),
    ],
)
def test_the_kv_cache_is_told_in_every_release(line, size):
    assert figures(lines(line, 0, 0))["kv_cache_gib"] == size


@pytest.mark.parametrize(
    "line",
    [
        "Capture cuda graph end. Time elapsed: 12.34 s. mem usage=2.31 GB. avail mem=11.47 GB.",
        "Capture cuda graph end. Time elapsed: 12.34 s. avail mem=11.47 GB. mem usage=2.31 GB.",
        "Capture decode CUDA graph end. bs=[1, 2], elapsed=3.21 s, mem usage=2.31 GB, avail mem=11.47 GB.",
        "Capture piecewise CUDA graph end. Time elapsed: 1 s. mem usage=2.31 GB. avail mem=1.00 GB.",
        "Capture draft extend CUDA graph end. elapsed=1.00 s, mem usage=2.31 GB, avail mem=1.00 GB.",
    ],
)
def test_what_graphs_took_is_told_in_every_release(line):
    assert figures(lines(line, 0))["graph_gib"] == 2.31


def test_graphs_of_one_rank_add_up():
    assert (
        figures(lines("Capture cuda graph end. mem usage=2.00 GB.", 0, 0) + lines("Capture draft cuda graph end. mem usage=0.50 GB.", 0, 0))["graph_gib"] == 2.5
    )


def test_tokens_and_what_is_left_are_told():
    told = figures(lines("max_total_num_tokens=118494, chunked_prefill_size=8192, context_len=131072, available_gpu_mem=11.47 GB", 0))
    assert (told["tokens"], told["free_at_end_gib"]) == (118494, 11.47)


@pytest.mark.parametrize(
    "line",
    [
        "Init torch distributed ends. mem usage=1.42 GB",
        "Init torch distributed ends. elapsed=3.20 s, mem usage=1.42 GB",
        "Memory baseline taken. mem usage=1.42 GB",
    ],
)
def test_what_initialising_took_is_told_in_every_release(line):
    assert figures(lines(line, 0))["init_gib"] == 1.42


def test_a_draft_model_that_is_loaded_after_the_pool_does_not_count():
    text = lines("Load weight begin. avail mem={} GB", 94.5) + lines("Load weight end. avail mem={} GB", 21.9) + lines("Memory pool end. avail mem=9 GB", 0)
    later = lines("Load weight begin. avail mem={} GB", 9) + lines("Load weight end. avail mem={} GB", 6)
    told = figures(text + later)
    assert (told["free_before_load_gib"], told["free_after_load_gib"]) == (94.5, 21.9)


def test_uneven_memory_is_told_for_each_rank():
    assert figures(lines("Load weight begin. avail mem={} GB", 77.5, 49.75))["free_before_load_by_rank_gib"] == {"TP0": 77.5, "TP1": 49.75}


def test_only_the_last_run_in_a_log_counts():
    first = START + lines("Load weight begin. avail mem={} GB", 10.0) + "RuntimeError: Not enough memory.\n"
    told = parse_log(first + START.replace("0.85", "0.55") + lines("Load weight begin. avail mem={} GB", 90.0))
    assert told.args == {"model_path": "/m", "mem_fraction_static": 0.55, "tp_size": 2}
    assert told.figures["free_before_load_gib"] == 90.0
    assert "error" not in told.figures


def test_throughput_is_the_median_of_the_last_twenty():
    text = "".join(
        f"[2026-02-26 10:30:00 TP0] Decode batch. #running-req: 3, gen throughput (token/s): {speed}, #queue-req: 0\n"
        for speed in [1.0] * 50 + [0.0] * 5 + list(range(80, 100))
    )
    assert figures(text)["throughput_tok_s"] == 90.0


def test_a_log_of_vllm_tells_its_own_figures():
    told = parse_log(
        "INFO 09-05 08:57:23 [api_server.py:1130] vLLM API server version 0.11.0\n"
        "INFO 09-05 08:57:23 [utils.py:233] non-default args: {'model': '/m', 'tensor_parallel_size': 4, 'api_key': ['x']}\n"
        "INFO 09-05 08:58:33 [gpu_model_runner.py:2602] Model loading took 9.8113 GiB and 41.2 seconds\n"
        "INFO 09-05 08:58:40 [gpu_worker.py:298] Available KV cache memory: 23.18 GiB\n"
        "INFO 09-05 08:59:03 [kv_cache_utils.py:1087] GPU KV cache size: 141,920 tokens\nINFO:     Application startup complete.\n"
        "INFO 09-05 09:23:23 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 203.8 tokens/s, Running: 4 reqs\n"
    )
    assert told.framework == "vllm"
    assert told.args == {"model": "/m", "tensor_parallel_size": 4, "api_key": ["x"]}
    assert told.figures == {"ready": True, "weights_gib": 9.811, "kv_cache_gib": 23.18, "tokens": 141920, "version": "0.11.0", "throughput_tok_s": 203.8}


def test_older_vllm_logs_a_namespace():
    told = parse_log(
        "INFO 07-01 10:00:00 api_server.py:177] vLLM API server version 0.5.0\n"
        "INFO 07-01 10:00:00 api_server.py:178] args: Namespace(model='/m', api_key=None, lora=[1])\n"
    )
    assert told.args == {"model": "/m", "api_key": None, "lora": [1]}


def test_the_arguments_in_an_error_text_do_not_begin_a_run():
    text = START + "RuntimeError: Not enough memory. Current value: self.server_args.mem_fraction_static=0.55\n"
    assert last_run(text) == text


def test_a_log_that_tells_nothing_has_no_arguments():
    assert parse_log("hello\n").args is None
    assert parse_log("").figures == {"ready": False}


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("[2026-03-02 12:23:08 TP0] RuntimeError: x", "RuntimeError: x"),
        ("ERROR 09-05 08:57:48 [core.py:708] RuntimeError: x", "RuntimeError: x"),
        ("(EngineCore_DP0 pid=12) ERROR 09-05 08:57:48 [core.py:708] RuntimeError: x", "RuntimeError: x"),
        ("\x1b[31mERROR\x1b[0m 09-05 08:57:48 [core.py:708] RuntimeError: x", "RuntimeError: x"),
        ("2026-03-02T12:23:08.123456Z stderr F [2026-03-02 12:23:08 DP0 TP1] RuntimeError: x", "RuntimeError: x"),
        ("Mar 02 12:23:08 host sglang[77]: RuntimeError: x", "RuntimeError: x"),
        ("[rank0]: RuntimeError: x", "RuntimeError: x"),
        ("RuntimeError: x", "RuntimeError: x"),
    ],
)
def test_a_line_is_told_without_what_stands_before_it(raw, line):
    assert bare(raw) == line


def test_the_rank_is_read_from_the_prefix():
    assert rank_of("[2026-03-02 12:23:08 DP0 TP1 EP1] x") == "DP0_TP1_EP1"
    assert rank_of("[2026-03-02 12:23:08] x") == ""


def failing(*errors: str) -> str:
    failure = failure_in("\n".join(errors) + "\n")
    return failure.line if failure else ""


def test_the_error_that_names_its_kind_wins_over_what_wraps_it_and_follows_from_it():
    assert failing(
        "RuntimeError: Failed to infer device type",
        "pynvml.NVMLError_X: Driver/library version mismatch",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    ).startswith("pynvml")
    assert failing(
        "torch.OutOfMemoryError: CUDA out of memory.", "[rank1] Watchdog caught collective operation timeout", "Received sigquit from a child process."
    ).startswith("torch.OutOf")
    assert failing("x.h:28 NCCL WARN Call to posix_fallocate failed: No space left on device", "RuntimeError: NCCL error: unhandled system error").startswith(
        "x.h:28"
    )


def test_of_equal_errors_the_last_counts_but_a_wrapper_in_its_chain_does_not():
    assert failing("ValueError: first", "KeyError: 'last'") == "KeyError: 'last'"
    chain = "The above exception was the direct cause of the following exception:"
    assert failing("ValueError: the cause", chain, "RuntimeError: the wrapper") == "ValueError: the cause"


def test_what_terminated_a_program_is_told_with_what_it_said():
    assert failing(
        "terminate called after throwing an instance of 'tvm::ffi::Error'", "  what():  TypeAttr is already registered", "Fatal Python error: Aborted"
    ) == ("terminate called after throwing an instance of 'tvm::ffi::Error' what():  TypeAttr is already registered")


def test_an_error_after_which_the_server_served_is_no_failure():
    assert failing("ValueError: bad request", "[2026-02-26 10:30:00 TP0] Decode batch. #running-req: 1") == ""
    assert failing("[2026-02-26 10:30:00 TP0] Decode batch. #running-req: 1", "ValueError: the end") == "ValueError: the end"


def test_an_error_that_did_not_stop_the_start_gives_way_to_the_one_that_did():
    assert (
        failing("ImportError: deep_gemm is not there", "[2026-02-26 10:20:11 TP0] Load weight end. avail mem=1 GB", "ValueError: the end")
        == "ValueError: the end"
    )


def test_hints_and_help_texts_are_no_errors():
    assert (
        failing(
            "INFO 09-05 08:57:23 [x.py:1] If you run out of memory, lower the fraction.",
            "[2026-02-26 10:20:11] WARNING: timeout of 300 s is set",
            "0 errors, (no error)",
        )
        == ""
    )


def test_a_long_log_is_read_in_reasonable_time_and_gives_the_same():
    filler = "[2026-02-26 10:30:00 TP0] Decode batch. #running-req: 3, #token: 10569, gen throughput (token/s): 88.82, #queue-req: 0\n" * 40_000
    told = parse_log(
        START + lines("Load weight begin. avail mem={} GB", 94.5) + filler + "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )
    assert told.figures["free_before_load_gib"] == 94.5
    assert str(told.figures["error"]).startswith("RuntimeError: CUDA error")


@pytest.mark.parametrize(
    "piece",
    [
        "RPC ",
        "RPC timed",
        "NCCL timeout ",
        "Capture ",
        "ERROR ",
        "(a pid=",
        "[2026-01-01",
        "server_args={",
        "server_args=ServerArgs(a=(",
        "KV size: ",
        "x.Error",
        "what()",
    ],
)
def test_a_hostile_log_is_read_in_bounded_time(piece):
    started = time.monotonic()
    parse_log(piece * (1_000_000 // len(piece)))
    parse_log("\n".join([piece * 5] * 20_000))
    assert time.monotonic() - started < 10


def test_what_a_shell_says_of_a_program_that_was_killed_is_read():
    line = "./entrypoint.sh: line 28:     7 Killed                  vllm serve /models/Qwen3-8B --port 8000"
    failure = failure_in(f"INFO 06-01 14:38:03 [api_server.py:1130] vLLM API server version 0.22.1\n{line}\n")
    assert (failure.kind, failure.line.split()[0]) == ("oom", "Killed")


@pytest.mark.parametrize("line", [
    "INFO 07-17 12:48:37 [shm_broadcast.py:542] No available shared memory broadcast block found in 60 seconds.",
    "Still waiting to acquire lock on /models/m/.cache/huggingface/.gitignore.lock (elapsed: 10.0 seconds)",
])
def test_a_hang_that_is_told_at_the_level_of_information_is_read(line):
    assert failure_in(f"{line}\n").kind == "hang"


@pytest.mark.parametrize("word", ERROR_WORDS)
def test_every_word_that_a_long_log_is_searched_for_is_one_that_lines_are_weighed_by(word):
    assert HINT.search(word.decode())


@pytest.mark.parametrize("line", [
    '/flashinfer/3rdparty/cutlass/include/cute/atom/copy_atom.hpp(194): error: name followed by "::" must be a class or namespace name',
    "/root/.cache/x/kernel.cu:12:10: fatal error: cuda_fp8.h: No such file or directory",
])
def test_what_a_compiler_says_stands_before_who_called_it(line):
    assert failing(line, "ninja: build stopped: subcommand failed.", "RuntimeError: Ninja build failed. Ninja output:") == line


def test_a_message_of_several_lines_is_told_with_the_next_ones_and_no_frame_is_one():
    said = ["Exception: Capture cuda graph failed: Error in function 'run' at", "  /workspace/csrc/trtllm_batched_gemm_runner.cu:276:", "  Error occurred: 3"]
    assert failing(*said, "INFO: bye") == " ".join(map(str.strip, said))
    assert failing("ValueError: first", '  File "/a/b.py", line 3, in f', "    return 1") == "ValueError: first"
