from __future__ import annotations

import shlex

import pytest

from driftwatch.agent.launch_args import any_given, parse_given, recognise, title_of


@pytest.mark.parametrize(
    ("line", "framework"),
    [
        ("/opt/venv/bin/python3 -m sglang.launch_server --model-path /m", "sglang"),
        ("python3.12 -u -X dev -m sglang.launch_server", "sglang"),
        ("/opt/venv/bin/python3 /opt/venv/bin/sglang serve --model-path /m", "sglang"),
        ("sglang serve --model-path /m", "sglang"),
        ("python /src/sglang/python/sglang/launch_server.py --model /m", "sglang"),
        ("/opt/venv/bin/python3 /opt/venv/bin/vllm serve /m --port 8000", "vllm"),
        ("vllm serve /m", "vllm"),
        ("python -m vllm.entrypoints.openai.api_server --model /m", "vllm"),
        ("python -m vllm.entrypoints.cli.main serve /m", "vllm"),
        ("python /v/bin/torchrun --nproc-per-node 4 serve.py", "torchrun"),
        ("python -m torch.distributed.run serve.py", "torchrun"),
        ("/usr/local/bin/ollama serve", "ollama"),
    ],
)
def test_a_launch_is_recognised_in_every_form(line, framework):
    launch = recognise(shlex.split(line))
    assert launch is not None
    assert launch.framework == framework


@pytest.mark.parametrize(
    "line",
    [
        "python -m sglang.bench_serving --model /m",
        "python -m sglang.check_env",
        "vllm bench serve",
        "vllm chat",
        "python serve.py",
        "python -c 'import sglang.launch_server'",
        "bash -c 'vllm serve'",
        "grep sglang.launch_server",
        "ollama runner --model x",
        "python -m pip install sglang",
        "uv run vllm serve /m",
        "python",
        "",
    ],
)
def test_what_only_looks_like_a_launch_is_none(line):
    assert recognise(shlex.split(line)) is None


def test_a_launch_process_that_retitled_itself_lost_its_command_line():
    launch = recognise(("sglang::http_server/tokenizer_manager",))
    assert launch is not None
    assert launch.arguments is None


def given(framework, line):
    return parse_given(framework, shlex.split(line))


def test_arguments_go_by_the_frameworks_own_field_names():
    line = "--model /m --tp 8 --dp-size=2 --ep 4 --nccl-init-addr h:1 --mem-fraction-static 0.55 --trust-remote-code --speculative-draft-model /d"
    assert given("sglang", line) == {
        "model_path": "/m",
        "tp_size": "8",
        "dp_size": "2",
        "ep_size": "4",
        "dist_init_addr": "h:1",
        "mem_fraction_static": "0.55",
        "trust_remote_code": True,
        "speculative_draft_model_path": "/d",
    }


def test_several_values_are_a_list_and_a_repeated_option_shows_all_of_them():
    assert given("sglang", "--lora-paths a=/a b=/b --cuda-graph-bs 1 2 4") == {"lora_paths": ["a=/a", "b=/b"], "cuda_graph_bs": ["1", "2", "4"]}
    assert given("sglang", "--port 1 --port 2") == {"port": ["1", "2"]}


def test_a_negative_number_is_a_value_and_no_option():
    assert given("sglang", "--random-seed -1 --x -.5 --flag") == {"random_seed": "-1", "x": "-.5", "flag": True}


def test_the_model_of_vllm_serve_may_stand_without_a_name_and_no_flags_are_false():
    line = "/m -tp 4 --no-enable-prefix-caching --compilation-config.level 3 -O3"
    assert given("vllm", line) == {
        "model": "/m",
        "tensor_parallel_size": "4",
        "enable_prefix_caching": False,
        "compilation_config.level": "3",
        "compilation_config": "3",
    }


@pytest.mark.parametrize(("line", "told"), [
    ("--tensor-parallel-size=2 --reasoning-parser deepseek_r1 org/Model-32B", {"tensor_parallel_size": "2", "reasoning_parser": "deepseek_r1"}),
    ("--enable-reasoning org/Model-32B", {"enable_reasoning": True}),
    ("--max-model-len 4096 org/Model-32B --enforce-eager", {"max_model_len": "4096", "enforce_eager": True}),
])
def test_the_model_behind_an_option_with_one_value_or_none_is_the_model(line, told):
    assert given("vllm", line) == {**told, "model": "org/Model-32B"}


@pytest.mark.parametrize(("line", "told"), [
    ("--served-model-name short org/Model", {"served_model_name": ["short", "org/Model"]}),
    ("/m --some-new-option a b/c", {"model": "/m", "some_new_option": ["a", "b/c"]}),
    ("--download-dir /data/models", {"download_dir": "/data/models"}),
    ("--lora-modules one=/a two=/b", {"lora_modules": ["one=/a", "two=/b"]}),
])
def test_a_word_with_a_slash_that_an_option_takes_is_no_model(line, told):
    assert given("vllm", line) == told


def test_values_with_equal_signs_and_json_stay_whole():
    assert given("sglang", """--json-model-override-args '{"a": "x=y"}' --x=a=b""") == {"json_model_override_args": '{"a": "x=y"}', "x": "a=b"}


def test_what_torchrun_starts_keeps_its_own_arguments():
    assert given("torchrun", "--standalone -m job --tp 4") == {"standalone": True, "m": True, "script": "job", "script_arguments": ["--tp", "4"]}
    assert given("torchrun", "--nproc-per-node 4 serve.py --tp 4") == {"nproc_per_node": "4", "script": "serve.py", "script_arguments": ["--tp", "4"]}


def test_any_other_program_tells_its_script_and_its_arguments():
    assert any_given(("python", "/srv/serve.py", "--api-key", "x", "--port", "1")) == {"script": "/srv/serve.py", "api_key": "x", "port": "1"}
    assert any_given(("python", "-c", "import time", "--a", "b")) == {"script": "-c", "positional": ["import time"], "a": "b"}


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("sglang::scheduler_TP0", ("sglang", "scheduler_TP0")),
        ("sglang::scheduler_DP1_TP3", ("sglang", "scheduler_DP1_TP3")),
        ("sglang::detokenizer", ("sglang", "detokenizer")),
        ("sglang::tokenizer_worker:4711", ("sglang", "tokenizer_worker")),
        ("VLLM::EngineCore", ("vllm", "EngineCore")),
        ("VLLM::Worker_TP7", ("vllm", "Worker_TP7")),
        ("sglang::schedul", ("sglang", "scheduler")),
        ("sglang::detoken", ("sglang", "detokenizer")),
        ("VLLM::EngineCor", ("vllm", "EngineCore")),
        ("ray::RayWorkerWrapper.execute_method", ("vllm", "RayWorker")),
        ("ray::IDLE", None),
        ("python3", None),
        ("a::b", None),
    ],
)
def test_a_title_tells_framework_and_role_even_where_it_was_cut(title, told):
    assert title_of(title) == told
