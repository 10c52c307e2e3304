"""What people typed into a thread: commands that start a server, with what stands around them, and exports."""

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump
from driftwatch.model import Unknown, is_unknown

SERVE = "python3 -m sglang.launch_server --model-path org/Model-70B --tp 16 --nccl-init-addr 192.0.2.82:20000 --nnodes 2 --node-rank"
CAUGHT = "INFO 05-10 15:51:55 api_server.py:913] args: Namespace(model='org/Model-32B', port=8000, reasoning_parser='deepseek_r1', skip_tok"


def read(text):
    return read_dump(text, "paste")


def below(text, start):
    return {path.removeprefix(start): value for path, value in read(text).facts.items() if path.startswith(start)}


def notes(text):
    return [note for probe in read(text).probes.values() for note in probe.notes]


def test_two_commands_of_one_length_in_two_fences_are_two_commands():
    told = below(f"```\nGLOO_SOCKET_IFNAME=eth0 {SERVE} 0\n```\n```\nGLOO_SOCKET_IFNAME=eth0 {SERVE} 1\n```\n", "servers/sglang/args/")
    assert told.keys() == {"model_path", "tp_size", "dist_init_addr", "nnodes", "node_rank"}
    assert is_unknown(told["node_rank"])
    assert told["nnodes"] == 2


def test_prose_below_a_long_command_is_no_part_of_it():
    assert below(f"```\n{SERVE} 0\n```\nand then it hangs for ever\n", "servers/sglang/given/")["node_rank"] == "0"


def test_the_model_behind_the_value_of_an_option_is_the_model():
    told = below("```\nvllm serve --max_model_len 16384 --enable-reasoning --reasoning-parser deepseek_r1 org/Model-32B\n```\n", "servers/vllm/args/")
    assert told == {"max_model_len": 16384, "enable_reasoning": True, "reasoning_parser": "deepseek_r1", "model": "org/Model-32B"}


@pytest.mark.parametrize("command", [
    'python3 -m sglang.launch_server --model-path", "org/Model-1B --host", "0.0.0.0 --trust-remote-code',
    "vllm serve org/Model-1B --served-model-name 'mine --port 8000",
])
def test_a_command_whose_quotes_do_not_pair_is_a_note_and_no_argument(command):
    text = f"```\n{command}\n```\nVersions:\nsglang 0.4.9\npython 3.10\ntorch 2.9.0\n"
    assert not below(text, "servers/")
    assert any("quotes" in note for note in notes(text))


def test_what_a_shell_would_have_put_in_is_unknown():
    told = below('vllm serve "$MODEL" --port 8000 --tensor-parallel-size ${TP}\n', "servers/vllm/args/")
    assert told["port"] == 8000
    assert [is_unknown(told[name]) for name in ("model", "tensor_parallel_size")] == [True, True]


def test_a_name_in_angle_brackets_is_a_placeholder_and_no_redirection():
    told = below("vllm serve <model_tag> --port 8000 --served-model-name <your name>\n", "servers/vllm/args/")
    assert [is_unknown(told[name]) for name in ("model", "served_model_name")] == [True, True]
    assert told["port"] == 8000


def test_a_secret_that_looks_like_a_variable_is_not_told_as_one():
    assert "word" not in str(read("vllm serve m --port 8000 --api-key 'pa$$word'\n").facts)


def test_exports_before_a_command_on_its_line_are_the_servers():
    told = below("export NCCL_DEBUG=INFO && cd /srv && python3 -m sglang.launch_server --model-path m --tp 2\n", "servers/sglang/")
    assert (told["env/NCCL_DEBUG"], told["args/tp_size"]) == ("INFO", 2)


def test_a_command_right_above_its_own_log_tells_what_the_log_was_cut_before():
    command = "vllm serve --gpu-memory-utilization=0.8 --reasoning-parser deepseek_r1 org/Model-32B"
    text = f"```\n{command}\nINFO 05-10 15:51:55 __init__.py:207] Automatically detected platform cuda.\n{CAUGHT}"
    told = below(text, "servers/vllm/args/")
    assert (told["gpu_memory_utilization"], told["port"]) == (0.8, 8000)


def test_variables_before_a_command_are_the_servers_also_quoted_ones():
    text = 'the start command is\uff1a\nGLOO_SOCKET_IFNAME=eth0  TP_SOCKET_IFNAME="eth1"  vllm serve /models  --tensor-parallel-size 16 \n'
    told = below(text, "servers/vllm/")
    assert (told["env/TP_SOCKET_IFNAME"], told["env/GLOO_SOCKET_IFNAME"], told["args/model"]) == ("eth1", "eth0", "/models")


def test_a_version_behind_a_label_with_a_wide_colon_is_read():
    text = "vllm version\uff1avLLM API server version 0.5.3.post1\n\nDEBUG 08-02 08:50:03 parallel_state.py:803] world_size=16\n"
    assert read(text).facts["packages/vllm/version"] == "0.5.3.post1"


@pytest.mark.parametrize("text", [
    f"```bash\nexport NCCL_IB_DISABLE=0\n{SERVE} 1\n```\n",
    "started with\nexport NCCL_IB_DISABLE=\u201c0\u201d\nexport NCCL_DEBUG=\u2018INFO\u2019\n",
    "user@gpu-7:~$ export NCCL_IB_DISABLE='0'  # as told\n",
    "$ export NCCL_DEBUG=INFO; export NCCL_IB_DISABLE=0\n",
    "> Set variables\n> \n> export NCCL_IB_DISABLE=0 export NCCL_DEBUG=TRACE export NCCL_NET=Socket step2: python3 -m sglang.launch_server --model-path m\n",
])
def test_few_exports_are_read_however_they_stand_there(text):
    assert below(text, "env/")["NCCL_IB_DISABLE"] == "0"


def test_exports_and_a_command_that_were_joined_into_one_line_are_cut_apart():
    told = read(f"> export NCCL_DEBUG=TRACE export NCCL_NET=Socket step2: {SERVE} 0\n> \n> \n").facts
    assert (told["env/NCCL_NET"], told["servers/sglang/args/node_rank"]) == ("Socket", 0)


def test_a_variable_that_holds_another_is_unknown():
    assert is_unknown(below("export NCCL_DEBUG=INFO\nexport LD_LIBRARY_PATH=/opt/nccl:$LD_LIBRARY_PATH\n", "env/")["LD_LIBRARY_PATH"])


def test_typed_exports_are_never_all_variables():
    text = "".join(f"export NCCL_{letter}=1\n" for letter in "ABCDEFGHIJ") + "export PATH=/opt/bin\n"
    assert isinstance(read(text).get("env/NCCL_DEBUG"), Unknown)


def test_an_export_that_is_commented_out_is_none():
    text = "export NCCL_DEBUG=INFO\n# export NCCL_P2P_DISABLE=1\nexport NCCL_IB_DISABLE=1  # was 0\n"
    assert below(text, "env/") == {"NCCL_DEBUG": "INFO", "NCCL_IB_DISABLE": "1"}


def test_one_export_in_a_sentence_is_none():
    assert "env/NCCL_P2P_DISABLE" not in read("torch 2.6.0\npython 3.10\nsglang 0.4.6\nyou can\nexport NCCL_P2P_DISABLE=1\nand look again\n").facts


def test_variables_that_are_left_out_are_counted_in_a_note():
    text = "NV_LIBNCCL_DEV_PACKAGE=libnccl-dev=2.20.3-1+cuda12.3\nKMP_WARNINGS=0\nSOMETHING_OF_MINE=1\nHOSTNAME=00aa6915c408\n"
    assert below(text, "env/") == {"NV_LIBNCCL_DEV_PACKAGE": "libnccl-dev=2.20.3-1+cuda12.3", "KMP_WARNINGS": "0"}
    assert read(text).facts["env_left_out"] == ["HOSTNAME", "SOMETHING_OF_MINE"]
    assert notes(text) == ["variables left out, since their names are not among those that are shown: 2"]


def test_the_middle_of_a_containers_variables_is_read_as_a_containers():
    text = '   "KUBERNETES_PORT=tcp://192.0.2.1:443",\n   "CUDA_VERSION=8.0.61",\n   "LIBRARY_PATH=/usr/local/cuda/lib64/stubs:"\n  ],\n  "cwd": "/"\n'
    assert below(text, "") == {
        "containers/unnamed/env/CUDA_VERSION": "8.0.61", "containers/unnamed/env/LIBRARY_PATH": "/usr/local/cuda/lib64/stubs:",
        "containers/unnamed/env_left_out": ["KUBERNETES_PORT"],
    }


FORM = """- GPU: 8x NVIDIA H100 80GB HBM3, driver 550.54.15, CUDA 13.0
- OS: Ubuntu 24.04.3
- torch==2.11.0+cu130 (cuda 13.0, nccl 2.28.9)
- mbridge==0.15.1   (note: `megatron-bridge` NOT installed)
- sglang==0.5.12, sglang-router==0.3.2, sgl-kernel present
- megatron-core==0.18.0 fails, 0.17.0 works
"""


def test_bullets_of_pinned_versions_among_labels_are_packages_and_remarks_are_none():
    told = read_dump(FORM, "paste").facts
    assert {path.split("/")[1]: value for path, value in told.items() if path.startswith("packages/")} == {
        "torch": "2.11.0+cu130", "mbridge": "0.15.1", "sglang": "0.5.12", "sglang-router": "0.3.2"}
    assert (told["torch/version"], told["driver/version"]) == ("2.11.0+cu130", "550.54.15")


def test_a_table_names_a_component_with_what_it_is_for():
    rows = "| Component | Version |\n|---|---|\n| Python | 3.10 |\n| PyTorch | 2.3.1+cu121 |\n| vLLM backend | 0.5.3.post1 |\n| SGLang | 0.2.6 |\n"
    assert read_dump(rows, "paste").facts["packages/vllm/version"] == "0.5.3.post1"


def test_a_bullet_that_names_python_s_version_beside_another_is_read_and_alone_is_not():
    assert read_dump("- OS: `registry.example/image:1.2`\n- Python version: 3.12.3\n", "paste").facts == {"python/version": "3.12.3"}
    with pytest.raises(NoDump):
        read_dump("You need\n\n- Python version: 3.12.3\n\nto run it.\n", "paste")
