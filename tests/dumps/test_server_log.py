from driftwatch.dumps.read import read_dump
from driftwatch.dumps.server_log import FORMAT
from tests.dumps.reading import facts, parsed, stretches

SGLANG = """[2026-03-02 10:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=2, mem_fraction_static=0.55, api_key='sk-verysecret', port=30000)
[2026-03-02 10:00:20 TP0] Load weight begin. avail mem=93.45 GB
[2026-03-02 10:00:20 TP1] Load weight begin. avail mem=92.00 GB
[2026-03-02 10:02:20 TP0] Load weight end. type=X, dtype=torch.bfloat16, avail mem=21.70 GB, mem usage=72.3 GB.
[2026-03-02 10:02:20 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/python/sglang/srt/model_executor/model_runner.py", line 1, in init
    raise RuntimeError(
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
"""
VLLM = """INFO 06-07 20:32:34 [api_server.py:1289] vLLM API server version 0.9.1.dev230+g2d8476e46
INFO 06-07 20:32:34 [cli_args.py:309] non-default args: {'model': 'meta-llama/M', 'tensor_parallel_size': 4, 'enable_prefix_cach"""
OLD = ("INFO 09-21 09:59:40 llm_engine.py:72] Initializing an LLM engine with config: "
       "model='gpt2', dtype=torch.float16, download_dir=None, tensor_parallel_size=2, seed=0)")


def test_a_log_of_sglang_tells_arguments_memory_and_failure_by_the_collectors_paths():
    found = facts(FORMAT, SGLANG)
    assert (found["servers/sglang/args/mem_fraction_static"], found["servers/sglang/log/free_before_load_gib"]) == (0.55, 92.0)
    assert found["servers/sglang/log/error"].startswith("RuntimeError: Not enough memory")


def test_a_failure_in_a_log_is_the_symptom():
    (part,) = parsed(FORMAT, SGLANG)
    assert (part.symptom.klass, part.symptom.signature[:30]) == ("oom", "RuntimeError: Not enough memor")


def test_a_key_among_the_arguments_is_masked():
    assert "verysecret" not in str(facts(FORMAT, SGLANG))


def test_an_argument_that_was_cut_is_left_out():
    found = facts(FORMAT, VLLM)
    assert found["servers/vllm/args/tensor_parallel_size"] == 4
    assert not any("enable" in path for path in found)


def test_vllm_tells_its_own_version():
    assert facts(FORMAT, VLLM)["packages/vllm/version"] == "0.9.1.dev230+g2d8476e46"


def test_an_old_engine_line_tells_the_arguments():
    found = facts(FORMAT, OLD)
    assert (found["servers/vllm/args/dtype"], found["servers/vllm/args/seed"]) == ("torch.float16", 0)


def test_a_log_that_only_ends_shows_no_hang():
    (part,) = parsed(FORMAT, "\n".join(SGLANG.split("\n")[:3]))
    assert part.symptom is None
    assert "servers/sglang/log/ready" not in part.facts


def test_nccl_tells_what_was_loaded_and_what_it_chose():
    text = ("box-a:820398:820398 [0] NCCL INFO cudaDriverVersion 12050\nNCCL version 2.20.5+cuda12.4\n"
            "box-a:820398:820779 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory\n"
            "box-a:820398:820779 [0] NCCL INFO Using network Socket\n")
    assert facts(FORMAT, text) == {"nccl/version": "2.20.5", "nccl/from": "NCCL INFO", "nccl/cuda": "12.4", "cuda/driver": "12.5", "nccl/network": "Socket"}


def test_ray_and_torchrun_tell_of_the_host():
    text = ("2023-09-21 09:59:38,239\tWARNING services.py:1889 -- WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only "
            "67108864 bytes available.\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default\n")
    assert facts(FORMAT, text) == {"shm/free_bytes": 67108864, "servers/torchrun/env/OMP_NUM_THREADS": "1"}


def test_a_traceback_of_a_collecting_tool_is_no_symptom():
    text = 'Traceback (most recent call last):\n  File "/w/vllm/collect_env.py", line 16, in <module>\nModuleNotFoundError: No module named \'vllm.envs\'\n'
    (part,) = parsed(FORMAT, text)
    assert (part.symptom, dict(part.facts)) == (None, {})


def test_a_lone_error_line_is_a_symptom_and_no_fact_about_a_server():
    (part,) = parsed(FORMAT, "ImportError: .../flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E")
    assert (part.symptom.klass, dict(part.facts)) == ("import-error", {})


def test_prose_is_no_log():
    assert stretches(FORMAT, "The server is slow since we upgraded.\nPlease help.\n")[0] == []


def test_the_middle_of_a_log_is_known_by_the_words_that_only_its_server_writes():
    text = ("[2026-07-15 13:14:53] Load weight end. elapsed=19.09 s, type=X, avail mem=230.20 GB, mem usage=56.98 GB.\n"
            "[2026-07-15 13:14:54] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1669816, K size: 76.44 GB, V size: 76.44 GB\n")
    assert facts(FORMAT, text)["servers/sglang/log/free_after_load_gib"] == 230.2


ENGINE = ("INFO 08-05 17:10:29 [core.py:73] Initializing a V1 LLM engine (v0.10.2.dev2+gf5635d62e) with config: model='/mnt/m', tokenizer_mode=auto, "
          "dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, served_model_name=/mnt/m\n")
GIVEN = "INFO 08-05 17:09:58 [utils.py:326] non-default args: {'model': '/mnt/m', 'port': 8080, 'served_model_name': ['m']}\n"


def test_the_engine_s_line_adds_to_the_arguments_that_were_given_and_never_speaks_against_them():
    found = facts(FORMAT, GIVEN + ENGINE)
    assert found["packages/vllm/version"] == "0.10.2.dev2+gf5635d62e"
    assert [found[f"servers/vllm/args/{name}"] for name in ("dtype", "port", "served_model_name")] == ["torch.bfloat16", 8080, ["m"]]
    assert sorted(path for path in found if "/given/" in path) == [f"servers/vllm/given/{name}" for name in ("model", "port", "served_model_name")]


def test_the_engine_s_line_of_a_run_before_adds_nothing_to_the_last():
    assert "servers/vllm/args/dtype" not in facts(FORMAT, GIVEN + ENGINE + GIVEN)


def test_what_a_unit_logged_is_a_server_s_log_behind_the_journal_s_own_prefix():
    logged = (GIVEN, ENGINE, "INFO 08-05 17:10:30 a\n", "INFO 08-05 17:10:31 b\n")
    lines = "".join(f"Aug 19 18:30:11 gpu-7 vllm[8707]: (APIServer pid=8707) {line}" for line in logged)
    told = read_dump(f"root@gpu-7:~# journalctl -u vllm --no-pager | tail -n 4\n{lines}", "paste").facts
    assert (told["servers/vllm/args/port"], told["packages/vllm/version"]) == (8080, "0.10.2.dev2+gf5635d62e")
