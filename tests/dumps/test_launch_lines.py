import pytest

from driftwatch.dumps import launch_beside_log, launch_lines
from driftwatch.dumps.given_counts import with_given
from driftwatch.dumps.read import read_dump
from tests.dumps.reading import facts

LOG = "server_args=ServerArgs(model_path='m', max_prefill_tokens=4096)\n"


def read(text):
    return {**facts(launch_lines.FORMAT, text), **facts(launch_beside_log.FORMAT, text)}


def test_a_command_over_several_lines_gives_the_arguments_and_they_count():
    found = read("python3 -m vllm.entrypoints.openai.api_server \\\n--model m \\\n-tp 8 \\\n--enforce-eager \\\n--gpu-memory-utilization 0.8\n")
    assert (found["servers/vllm/given/tensor_parallel_size"], found["servers/vllm/args/tensor_parallel_size"]) == ("8", 8)
    assert (found["servers/vllm/args/enforce_eager"], found["servers/vllm/args/gpu_memory_utilization"]) == (True, 0.8)


def test_advice_beside_a_log_with_arguments_is_passed_over():
    assert read("```\npython -m sglang.launch_server --model-path m --max-prefill 8192\n```\n" + LOG) == {}


def test_a_prompted_command_beside_a_log_tells_what_was_given_and_not_what_counts():
    assert read("$ python -m sglang.launch_server --model-path m\n" + LOG) == {"servers/sglang/given/model_path": "m"}


def test_a_trace_tells_exports_and_the_launch():
    found = read("++ PATH=/opt/venv/bin:/usr/bin\n++ export PATH\n++ PS1='(venv) '\n+ python3 -m sglang.launch_server --tp 2 2>&1\n")
    assert found == {
        "env/PATH": "/opt/venv/bin:/usr/bin", "servers/sglang/given/tp_size": "2", "servers/sglang/args/tp_size": 2, "servers/sglang/typed_args/tp": "2"}


def test_variables_of_a_container_are_the_servers():
    found = read("docker run --gpus all -e NCCL_DEBUG=INFO --shm-size 32g vllm/vllm-openai:v0.9.1 --model m\n")
    assert (found["servers/vllm/env/NCCL_DEBUG"], found["servers/vllm/given/model"]) == ("INFO", "m")


def test_variables_before_a_command_may_stand_on_lines_of_their_own():
    found = read("HIP_HEAD_REDUCE=2 \\\nNCCL_DEBUG=INFO \\\npython -m sglang.launch_server \\\n--tp-size 4\n")
    assert (found["servers/sglang/env/NCCL_DEBUG"], found["servers/sglang/env/HIP_HEAD_REDUCE"], found["servers/sglang/args/tp_size"]) == ("INFO", "2", 4)


def test_a_key_on_the_command_line_is_masked():
    assert "verysecret" not in str(read("vllm serve m --api-key verysecret\n"))


def test_a_sentence_that_names_a_command_is_none():
    assert read("I ran python -m sglang.launch_server --tp 2 and it failed\n") == {}


def test_what_was_given_counts_where_the_log_agrees_and_does_not_tell_it():
    told = {"servers/vllm/args/tensor_parallel_size": 4, "servers/vllm/given/tensor_parallel_size": "4", "servers/vllm/given/max_num_seqs": "32"}
    assert with_given(told)["servers/vllm/args/max_num_seqs"] == 32


def test_what_was_given_in_another_run_than_the_logs_does_not_count():
    told = {"servers/vllm/args/tensor_parallel_size": 8, "servers/vllm/given/tensor_parallel_size": "4", "servers/vllm/given/max_num_seqs": "32"}
    assert with_given(told) == told


def test_a_backslash_whose_line_end_was_lost_is_no_argument():
    assert "servers/vllm/given/positional" not in read("vllm serve m \\    --port 9000 \\  --dtype half\n")


@pytest.mark.parametrize("end", ["--max-num-seqs 1", "--max-num-seqs", "--max-n", "--", "-", "--max-num-seqs=1"])
def test_an_option_that_a_cut_text_ends_in_is_left_out(end):
    found = read_dump(f"Command:\n```\nvllm serve m --port 9000 {end}", "paste").facts
    assert {path: value for path, value in found.items() if "/args/" in path} == {"servers/vllm/args/model": "m", "servers/vllm/args/port": 9000}


def test_one_line_that_was_copied_is_a_whole_command():
    assert read_dump("vllm serve m --max-num-seqs 16", "paste").facts["servers/vllm/args/max_num_seqs"] == 16


def test_a_model_that_a_cut_text_ends_in_is_left_out():
    found = read_dump("Command:\n```\nvllm serve --port 9000 --dtype half org/Mod", "paste").facts
    assert {path: value for path, value in found.items() if "/args/" in path} == {"servers/vllm/args/port": 9000, "servers/vllm/args/dtype": "half"}


def test_a_command_that_a_terminal_broke_within_a_word_goes_on_below():
    line = "root@box:~/llm# CUDA_VISIBLE_DEVICES=1,2,3  vllm serve /root/llm/org/a-model-03-2025 -tp=2 --gpu-memory-utilization 0.95 --sw"
    found = read(f"{line}\nap-space 8 --max-num-seqs=1 \nINFO 04-17 19:48:20 Automatically detected platform cuda.\n")
    given = {path.rpartition("/")[2]: value for path, value in found.items() if "/args/" in path}
    assert given == {"model": "/root/llm/org/a-model-03-2025", "tensor_parallel_size": 2, "gpu_memory_utilization": 0.95, "swap_space": 8, "max_num_seqs": 1}


@pytest.mark.parametrize("below", ["Loading --help texts now", "usage: vllm serve --model", "--port 9000 is taken", "ap-space 8"])
def test_what_a_command_prints_below_itself_is_no_part_of_it(below):
    assert "swap_space" not in str(read(f"$ vllm serve {'m' * 80} --sw\n{below}\n"))


def test_a_short_command_ends_where_its_line_ends():
    assert "servers/vllm/args/port" not in read("$ vllm serve m --dtype half\n --port 9000\n")
