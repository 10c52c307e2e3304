"""Containers of a Kubernetes manifest: told as those of a Compose file. What a secret or a field gives is not told, nor is what was cut."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown

POD = """spec:
  containers:
  - name: llm
    image: registry.example.com/mirror/vllm-openai:v0.9.1
    args: ["--model", "org/Model-7B", "--max-model-len", "4096"]
    env:
    - name: NCCL_DEBUG
      value: INFO
    - name: HF_TOKEN
      valueFrom:
        secretKeyRef:
          name: hf
          key: token
    resources:
      limits:
        nvidia.com/gpu: "2"
    volumeMounts:
    - name: shm
      mountPath: /dev/shm
  volumes:
  - name: shm
    emptyDir:
      medium: Memory
"""
COMMAND = """  containers:
  - name: llm
    image: vllm/vllm-openai:v0.9.1
    command:
    - "python3 -m vllm.entrypoints.openai.api_server --model m --port 8080"
"""
LOG = "INFO 05-10 15:51:55 api_server.py:913] args: Namespace(model='org/Other', port=8000)\n"


def facts(text):
    return read_dump(text, "paste").facts


def test_a_container_s_arguments_and_variables_are_read_and_no_volume_is_one():
    told = facts(POD)
    assert (told["servers/vllm/args/max_model_len"], told["servers/vllm/env/NCCL_DEBUG"]) == (4096, "INFO")
    assert {path for path in told if "/env/" in path} == {"containers/llm/env/NCCL_DEBUG", "servers/vllm/env/NCCL_DEBUG"}
    assert not [path for path in told if path.startswith("gpus")]


def test_a_whole_command_line_in_one_word_of_a_list_is_read_as_its_words():
    assert facts(COMMAND)["servers/vllm/args/port"] == 8080


def test_a_container_that_runs_no_server_tells_itself_alone():
    told = facts("spec:\n  containers:\n  - name: a\n    image: redis:7\n    command: [redis-server]\n    ports:\n    - containerPort: 1\n")
    assert told == {"containers/a/image": "redis:7", "containers/a/command": ["redis-server"]}


def test_beside_a_log_with_arguments_what_was_written_is_given_and_does_not_count():
    told = facts(f"```\n{COMMAND}```\n```\n{LOG}```\n")
    assert (told["servers/vllm/given/port"], told["servers/vllm/args/port"]) == ("8080", 8000)


@pytest.mark.parametrize("args", ['args: ["--model", "m", "--max-model-len", "40', 'args:\n    - --model\n    - m\n    - --max-model-len\n    - "40'])
def test_an_argument_that_was_cut_is_left_out(args):
    told = facts(f"  containers:\n  - name: llm\n    image: vllm/vllm-openai\n    env:\n    - name: NCCL_DEBUG\n      value: INFO\n    {args}")
    assert told["containers/llm/env/NCCL_DEBUG"] == "INFO"
    assert "servers/vllm/args/max_model_len" not in told
    assert not isinstance(told.get("containers/llm/command"), list)


def test_a_container_of_a_piece_without_its_name_goes_by_its_image():
    told = facts("spec:\n  containers:\n    - command:\n        - vllm\n        - serve\n        - m\n      image: vllm/vllm-openai:v0.10.0\n")
    assert (told["containers/vllm-openai/image"], told["servers/vllm/args/model"]) == ("vllm/vllm-openai:v0.10.0", "m")


SCRIPT = """      containers:
      - name: llm
        image: registry.example.com/sglang:v0.5.2
        command: ["/bin/bash", "-c"]
        args:
        - |
          export INDEX=$(hostname)
          python3 -m sglang.launch_server \\
          --model /models/m \\
          --node-rank $INDEX \\
          --tp 16
"""


def test_a_script_that_a_shell_is_given_is_read_line_by_line():
    told = facts(SCRIPT)
    assert (told["servers/sglang/args/model_path"], told["servers/sglang/args/tp_size"]) == ("/models/m", 16)
    assert told["containers/llm/image"] == "registry.example.com/sglang:v0.5.2"
    assert is_unknown(told["servers/sglang/args/node_rank"])
