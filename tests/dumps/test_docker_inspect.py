import json

import pytest

from driftwatch.dumps.docker_inspect import FORMAT
from driftwatch.dumps.read import read_dump
from tests.dumps.reading import facts, parsed

CONTAINER = {
    "Id": "c" * 64, "Created": "2026-03-01T00:00:00Z", "Path": "python3", "Args": ["-m", "sglang.launch_server", "--tp", "2", "--api-key", "verysecret"],
    "State": {"Status": "running", "OOMKilled": False, "Pid": 5}, "Image": "sha256:" + "1" * 64, "Name": "/serve",
    "HostConfig": {"ShmSize": 67108864, "IpcMode": "private", "Runtime": "nvidia", "Privileged": False},
    "Config": {"Image": "lmsysorg/sglang:v0.5.9", "Env": ["NCCL_DEBUG=INFO", "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789", "HOME=/root"]},
}
IMAGE = {"Id": "sha256:" + "2" * 64, "RepoTags": ["vllm/vllm-openai:v0.9.1"], "RepoDigests": ["vllm/vllm-openai@sha256:" + "3" * 64], "RootFS": {}}


def test_a_container_is_told_as_the_collector_tells_it():
    found = facts(FORMAT, json.dumps([CONTAINER], indent=4))
    assert [found[f"containers/serve/{key}"] for key in ("image", "shm_bytes", "runtime")] == ["lmsysorg/sglang:v0.5.9", 67108864, "nvidia"]
    assert found["servers/sglang/given/tp_size"] == "2"


def test_no_secret_of_a_container_is_told():
    text = str(facts(FORMAT, json.dumps([CONTAINER], indent=4)))
    assert "verysecret" not in text
    assert "hf_abc" not in text
    assert "/root" not in text


def test_an_image_is_told_by_its_tag():
    found = facts(FORMAT, json.dumps([IMAGE], indent=4))
    assert found["images/vllm%2Fvllm-openai:v0.9.1/digest"] == "sha256:" + "3" * 64


def test_a_cut_container_tells_what_was_whole():
    text = json.dumps([CONTAINER], indent=4)
    (part,) = parsed(FORMAT, text[:text.index('"Config"')])
    assert part.facts["containers/serve/shm_bytes"] == 67108864
    assert part.notes == ("docker inspect: the text was cut",)


def test_other_json_is_left_alone():
    assert facts(FORMAT, json.dumps({"default-runtime": "nvidia", "runtimes": {"nvidia": {"args": []}}}, indent=4)) == {}


def test_json_of_the_wrong_kinds_gives_nothing_wrong():
    broken = [{"Id": 5, "Name": ["x"], "HostConfig": [], "Config": {"Env": 7}, "State": None}]
    assert not any("env" in path for path in facts(FORMAT, json.dumps(broken, indent=1)))


def test_the_arguments_of_a_container_count_where_no_log_tells_any():
    assert read_dump(json.dumps([CONTAINER], indent=4) + "\n", "paste").facts["servers/sglang/args/tp_size"] == 2


def test_the_arguments_of_a_container_do_not_count_against_a_log():
    log = "[2026-03-02 10:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=4, port=30000)\n"
    assert read_dump(json.dumps([CONTAINER], indent=4) + "\n\n" + log, "paste").facts["servers/sglang/args/tp_size"] == 4


def test_a_container_that_was_cut_before_its_settings_still_tells_what_it_runs():
    text = json.dumps([{key: CONTAINER[key] for key in ("Id", "Created", "Path", "Args", "State")}], indent=4).rpartition("}")[0].rpartition("}")[0]
    assert facts(FORMAT, text + '},\n        "ResolvConfPath": "/var')["servers/sglang/given/tp_size"] == "2"


def shown(template, *output, name="serve"):
    text = "\n".join([f"$ docker inspect {template} {name}", *output, "$ true", ""])
    return dict(read_dump(text, "x").facts)


@pytest.mark.parametrize(("template", "output", "path", "value"), [
    ("-f '{{.HostConfig.ShmSize}}'", ["67108864"], "containers/serve/shm_bytes", 67108864),
    ("--format '{{.State.OOMKilled}}'", ["true"], "containers/serve/oom_killed", True),
    ("--format='{{.Config.Image}}'", ["lmsysorg/sglang:v0.5.9"], "containers/serve/image", "lmsysorg/sglang:v0.5.9"),
    ("-f '{{json .Config.Env}}'", ['["NCCL_DEBUG=INFO","HOME=/root"]'], "containers/serve/env/NCCL_DEBUG", "INFO"),
    ("-f '{{range .Config.Env}}{{println .}}{{end}}'", ["NCCL_DEBUG=INFO", "HOME=/root", ""], "containers/serve/env/NCCL_DEBUG", "INFO"),
    ("-f '{{join .Args \" \"}}'", ["--model m --num-shard 2"], "containers/serve/command", ["--model", "m", "--num-shard", "2"]),
    ("-f '{{.Args}}'", ["[--model m]"], "containers/serve/command", ["--model", "m"]),
])
def test_a_template_of_one_field_tells_what_the_whole_object_would(template, output, path, value):
    assert shown(template, *output)[path] == value


def test_the_words_of_a_container_that_is_called_after_its_server_are_what_that_was_given():
    found = shown("-f '{{join .Args \" \"}}'", "--model m --enable-lora --api-key verysecret", name="vllm-a1")
    assert (found["servers/vllm/given/enable_lora"], found["servers/vllm/given/model"]) == (True, "m")
    assert "verysecret" not in str(found)


@pytest.mark.parametrize("template", ["-f '{{.HostConfig.ShmSize}} {{.State.Status}}'", "-f '{{json .Config.Env}}'"])
def test_output_of_a_template_that_is_not_understood_is_kept_by_its_lines(template):
    found = shown(template, "67108864 running")
    assert found == {"transcript/docker inspect/67108864 running": True}


@pytest.mark.parametrize("command", ["inspect -f '{{.Id}}' vllm/vllm:v0.9.1", "image inspect -f '{{.Id}}' serve", "inspect -f '{{.Id}}' one other"])
def test_an_image_and_several_containers_are_no_one_container(command):
    found = dict(read_dump(f"$ docker {command}\nrunning\n$ true\n", "x").facts)
    assert not [path for path in found if path.startswith("containers/")]


def test_an_image_is_read_where_somebody_left_its_id_out():
    told = read_dump(json.dumps([{key: value for key, value in IMAGE.items() if key != "Id"}], indent=4), "paste")
    assert told.facts["images/vllm%2Fvllm-openai:v0.9.1/digest"] == "sha256:" + "3" * 64
