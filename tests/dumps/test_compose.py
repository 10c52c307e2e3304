"""Services of a Docker Compose file: the container that they ask for, and the server in it. What Compose fills in from elsewhere stays unknown."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Symptom, Unknown, is_unknown
from tests.explain.cases import told

SERVICE = """services:
  serve:
    image: lmsysorg/sglang:v0.5.5-cu129  # pinned
    container_name: sglang
    runtime: nvidia
    ipc: host
    shm_size: "32gb"
    ulimits:
      memlock: -1
      nofile:
        soft: 65536
        hard: 1048576
    devices:
      - /dev/infiniband:/dev/infiniband
    volumes:
      - /data/models:/models:ro
      - {type: bind, source: /tmp, target: /scratch}
    environment:
      - NCCL_DEBUG=INFO
      - NCCL_SOCKET_IFNAME=${IFNAME:-eth0}
      - HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz
    entrypoint: python3 -m sglang.launch_server
    command:
      - --model-path=/models/llama
      - --tp
      - "2"
      # - --enable-metrics
      - --mem-fraction-static=0.85
    deploy:
      resources:
        limits:
          memory: 200g
        reservations:
          devices:
            - driver: nvidia
              device_ids: ['0', '1']
              capabilities: [gpu]
volumes:
  cache:
"""
ARGS = "servers/sglang/args/"


def facts(text):
    return read_dump(text, "paste").facts


def image(name, **settings):
    """Return a service with an image and a few more settings, each as it stands in a file."""
    return f"  {name}:\n" + "".join(f"    {key}: {value}\n" for key, value in settings.items())


def test_a_service_is_told_by_the_paths_of_a_container():
    told = facts(SERVICE)
    assert (told["containers/sglang/image"], told["containers/sglang/shm_bytes"]) == ("lmsysorg/sglang:v0.5.5-cu129", 32 << 30)
    assert (told["containers/sglang/ipc_mode"], told["containers/sglang/runtime"], told["containers/sglang/memory_bytes"]) == ("host", "nvidia", 200 << 30)
    assert told["containers/sglang/ulimits"] == {"memlock": {"soft": -1, "hard": -1}, "nofile": {"soft": 65536, "hard": 1048576}}
    assert told["containers/sglang/devices"] == ["/dev/infiniband"]
    assert told["containers/sglang/mounts"] == ["/models: /data/models (read only)", "/scratch: /tmp"]


def test_the_gpus_that_a_service_asks_for_are_told_as_docker_inspect_does():
    [request] = facts(SERVICE)["containers/sglang/device_requests"]
    assert (request["Driver"], request["Count"], request["DeviceIDs"], request["Capabilities"]) == ("nvidia", 0, ["0", "1"], [["gpu"]])


def test_the_server_s_arguments_count_where_no_log_tells_them():
    told = facts(SERVICE)
    assert (told[f"{ARGS}model_path"], told[f"{ARGS}tp_size"], told[f"{ARGS}mem_fraction_static"]) == ("/models/llama", 2, 0.85)
    assert told["servers/sglang/env/NCCL_DEBUG"] == told["containers/sglang/env/NCCL_DEBUG"] == "INFO"


def test_an_argument_behind_a_comment_s_sign_is_not_given():
    assert f"{ARGS}enable_metrics" not in facts(SERVICE)


def test_beside_a_log_that_tells_arguments_a_service_s_are_given_only():
    log = "[2025-11-20 10:00:00] server_args=ServerArgs(model_path='/models/llama', tp_size=4, mem_fraction_static=0.9)\n"
    told = facts(SERVICE + "\n" + log)
    assert (told[f"{ARGS}tp_size"], told["servers/sglang/given/tp_size"]) == (4, "2")


def test_what_compose_fills_in_is_unknown_and_names_the_variable():
    told = facts(SERVICE)["servers/sglang/env/NCCL_SOCKET_IFNAME"]
    assert is_unknown(told)
    assert "IFNAME" in told["reason"]


def test_no_secret_of_a_service_is_told():
    assert "hf_abc" not in str(read_dump(SERVICE, "paste"))


def test_vllm_s_image_runs_its_server_without_being_told_so():
    told = facts(image("llm", image="vllm/vllm-openai:v0.11.0", command='["--model", "m/x", "--max-model-len", "8192"]', gpus="all"))
    assert (told["servers/vllm/args/model"], told["servers/vllm/args/max_model_len"]) == ("m/x", 8192)
    assert told["containers/llm/device_requests"][0]["Count"] == -1


@pytest.mark.parametrize("command", [
    ">-\n      --model m/x\n      --max-model-len 8192", "--model m/x\n      --max-model-len 8192", "'--model m/x --max-model-len 8192'",
    "\n      [\n      '--model', 'm/x',\n      '--max-model-len', '8192',\n      ]", "|\n      --model m/x \\\n      --max-model-len 8192",
])
def test_a_command_is_read_in_every_way_that_yaml_writes_it(command):
    told = facts(image("llm", image="vllm/vllm-openai:v0.11.0", command=command, ipc="host"))
    assert (told["servers/vllm/args/model"], told["servers/vllm/args/max_model_len"], told["containers/llm/ipc_mode"]) == ("m/x", 8192, "host")


def test_a_shell_s_script_is_read_as_the_commands_that_it_holds():
    told = facts(image("llm", image="local/build", command='bash -c "pip install x && vllm serve m/x --dtype half"', restart="always"))
    assert (told["servers/vllm/args/model"], told["servers/vllm/args/dtype"]) == ("m/x", "half")


def test_a_service_that_runs_no_server_tells_its_container_alone():
    told = facts(image("cache", image="redis:7", restart="always"))
    assert set(told) == {"containers/cache/image"}


def test_a_pod_is_no_service():
    pod = "spec:\n  containers:\n  - name: a\n    image: redis:7\n    command: [redis-server]\n    ports:\n    - containerPort: 1\n"
    assert read_dump(pod, "paste").source == "kubernetes-manifest"


def test_a_last_line_that_was_cut_is_left_out_with_the_option_before_it_whose_values_may_go_on():
    told = facts(SERVICE.partition("-static=0.8")[0])
    assert {path for path in told if path.startswith(ARGS)} == {f"{ARGS}model_path"}


def test_a_setting_that_the_cut_ends_is_not_told_as_if_it_were_whole():
    told = facts(SERVICE.partition(" 1048576")[0])
    assert "containers/sglang/ulimits" not in told
    assert is_unknown(facts(SERVICE.partition("=0.85")[0])["containers/sglang/command"])
    assert "device_requests" not in str(facts(SERVICE.partition("device_ids")[0] + "\n"))


def test_a_list_that_is_never_closed_tells_no_arguments():
    told = facts(image("llm", image="vllm/vllm-openai:v0.11.0", restart="always", command='["--model", "m/x", "--max-mod'))
    assert not [path for path in told if path.startswith("servers/")]


def test_two_services_are_two_containers():
    told = facts("services:\n" + image("a", image="redis:6", restart="no") + image("b", image="redis:7", restart="no"))
    assert (told["containers/a/image"], told["containers/b/image"]) == ("redis:6", "redis:7")


@pytest.mark.parametrize("mess", [
    lambda text: "".join(f"> {line}\n" for line in text.split("\n")), lambda text: text.replace("\n", "\r\n"), lambda text: f"```yaml\n{text}```\n",
    lambda text: "user@host:~/x$ cat docker-compose.yml\n" + text, lambda text: text.replace("services:\n", ""),
])
def test_no_mess_of_a_paste_changes_a_service(mess):
    assert facts(mess(SERVICE)) == facts(SERVICE)


def test_a_compose_file_says_nothing_of_packages():
    assert isinstance(read_dump(SERVICE, "paste").get("packages/torch/version"), Unknown)


def test_a_variable_that_only_one_file_orders_is_a_suspect():
    own = "      - NCCL_DEBUG=INFO\n"
    good, bad = (read_dump(SERVICE.replace(own, own + more), "compose.yaml") for more in ("", "      - NCCL_P2P_DISABLE=1\n"))
    found = told(good, bad, Symptom("slow", None)).suspects[0]
    assert (found.subject.name, found.good, found.bad) == ("NCCL_P2P_DISABLE", None, "1")
