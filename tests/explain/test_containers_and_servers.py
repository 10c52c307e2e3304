from __future__ import annotations

import pytest

from tests.explain.below import host, symptom
from tests.explain.cases import suspect, told, unknown

LACKS = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
MADE = {"containers/llm/image": "llm:1", "container_runtime/docker/default-runtime": "nvidia", "loader/picks/libcuda.so.1": "/usr/lib/libcuda.so.560.35.03"}


def engine(runtime, release="2.1.1-1", **more):
    return host({**MADE, "containers/llm/runtime": runtime, "os_packages/containerd.io/version": release, **more})


def test_a_container_that_was_made_without_gpus_is_the_cause_and_the_hosts_library_its_victim():
    bad = engine("runc", "2.1.1-2", **{"container_runtime/docker/default-runtime": None})
    found = told(engine("nvidia"), bad, symptom("import-error", LACKS))
    assert (found.suspects[0].subject.kind, found.suspects[0].subject.name, found.suspects[0].strength) == ("container", "llm", "strong")
    assert found.suspects[0].carrier.startswith("the engine's default-runtime moved, nvidia → absent")
    assert all(one.strength == "weak" for one in found.suspects[1:])


@pytest.mark.parametrize("asks", [["driver=nvidia count=-1"], unknown("denied", "docker")])
def test_a_container_that_asks_for_devices_otherwise_or_may_do_so_was_not_made_without(asks):
    bad = engine("runc", **{"containers/llm/device_requests": asks})
    one = suspect(told(engine("nvidia"), bad, symptom("startup-crash")), "container", "llm")
    assert one is None or "made without GPUs" not in one.verdict


def test_a_release_that_was_only_packed_anew_weighs_less_than_another_release():
    packed, other = (told(engine("nvidia"), engine("nvidia", release), symptom("startup-crash")).suspects[0].confidence for release in ("2.1.1-2", "2.2.0-1"))
    assert packed < other


def test_a_library_that_the_hosts_loader_lacks_is_still_named():
    bad = engine("nvidia", **{"loader/picks/libcuda.so.1": None})
    assert suspect(told(engine("nvidia"), bad, symptom("import-error", LACKS)), "library", "libcuda.so.1").confidence >= 0.5


TRACKER, LAUNCH = "the resource tracker beside the ranks: what the launch process had", "the launch process: without what the server set itself later"


def server(told_by, own=None, **variables):
    env = {f"servers/vllm/env/{name}": value for name, value in variables.items()}
    return host({"servers/vllm/running": True, "servers/vllm/env_from": told_by, "servers/vllm/env_set_at_run_time": own, **env})


def test_a_variable_that_the_server_sets_itself_is_no_suspect_where_only_its_launch_process_is_left():
    good, bad = server(TRACKER, ["NCCL_CUMEM_ENABLE"], NCCL_CUMEM_ENABLE="0", LANG="C"), server(LAUNCH, LANG="C")
    assert told(good, bad, symptom("startup-crash")).suspects == ()
    assert told(bad, good, symptom("startup-crash")).suspects == ()


@pytest.mark.parametrize(("own", "bad"), [
    (["NCCL_CUMEM_ENABLE"], {"NCCL_CUMEM_ENABLE": "1"}),  # somebody gave it to the launch process
    ([], {}),  # the server had not set it: somebody had
])
def test_a_variable_that_somebody_set_is_one_still(own, bad):
    found = told(server(TRACKER, own, NCCL_CUMEM_ENABLE="0"), server(LAUNCH, **bad), symptom("hang"))
    assert [one.subject.name for one in found.suspects] == ["NCCL_CUMEM_ENABLE"]


def test_a_switch_of_llama_cpp_is_one_of_the_framework_and_an_address_to_listen_on_is_none():
    found = told(server(LAUNCH), server(LAUNCH, GGML_CUDA_FORCE_MMQ="0", OLLAMA_HOST="0.0.0.0"), symptom("wrong-output"))
    assert found.suspects[0].subject.name == "GGML_CUDA_FORCE_MMQ"
    assert all(one.strength == "weak" for one in found.suspects[1:])


def test_a_variable_without_a_value_is_told_where_the_error_names_it():
    text = "KeyError: LICENSE_SERVER_URL is not a number"
    good, bad = (host({"servers/vllm/running": True, "servers/vllm/env_left_out": names}) for names in (["HOME"], ["HOME", "LICENSE_SERVER_URL"]))
    one = told(good, bad, symptom("startup-crash", text)).suspects[0]
    assert (one.subject.name, one.good, one.bad) == ("LICENSE_SERVER_URL", None, "set")
    assert told(good, bad, symptom("startup-crash")).suspects == ()
    assert told(host({"servers/vllm/running": True, "servers/vllm/env_kept_back": 1}), bad, symptom("startup-crash", text)).suspects == ()


@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY"])
def test_a_proxy_of_the_servers_own_environment_fits_an_error_of_a_gateway(name):
    found = told(server(LAUNCH), server(LAUNCH, **{name: "http://proxy:3128"}), symptom("startup-crash", "AssertionError: res=<Response [502]>"))
    assert (found.suspects[0].subject.name, found.suspects[0].strength) == (name, "strong")


def test_the_toolkit_that_went_with_the_engines_upgrade_stands_before_the_engine():
    names = {"docker-ce": "5:27.5.1-1", "containerd.io": "1.7.25-1", "nvidia-container-toolkit": "1.19.0-1", "libnvidia-container1": "1.19.0-1"}
    good = host({**MADE, **{f"os_packages/{name}/version": version for name, version in names.items()}})
    bad = host({**MADE, "os_packages/docker-ce/version": "5:28.3.3-1", "os_packages/containerd.io/version": "1.7.27-1"})
    text = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    assert told(good, bad, symptom("startup-crash", text)).suspects[0].subject.name == "nvidia-container-toolkit"


def test_a_module_that_a_container_of_another_image_lacks_is_the_images_before_a_variable_that_came_with_it():
    made = {"containers/llm/image": "tgi:2.2.0-rocm", "containers/llm/devices": ["/dev/kfd", "/dev/dri"]}
    good = host(made)
    bad = host({**made, "containers/llm/image": "tgi:latest-rocm", "containers/llm/env/PYTHONPATH": "/opt/conda/lib/python3.11/site-packages"})
    found = told(good, bad, symptom("import-error", "ModuleNotFoundError: No module named 'flashinfer'"))
    assert [(one.subject.kind, one.subject.name) for one in found.suspects] == [("container", "llm"), ("env-var", "PYTHONPATH")]
    assert (found.suspects[0].good, found.suspects[0].bad) == ("tgi:2.2.0-rocm", "tgi:latest-rocm")


def test_a_tag_that_stands_for_another_image_is_a_suspect_and_names_the_one_before():
    top = "images/vllm%2Fvllm-openai:recipe"
    good, bad = (host({f"{top}/digest": f"sha256:{digit * 64}", f"{top}/created_at": f"2026-0{digit}-01T00:00:00Z"}) for digit in "89")
    one = told(good, bad, symptom("startup-crash")).suspects[0]
    assert (one.subject.kind, one.subject.name) == ("container", "vllm/vllm-openai:recipe")
    assert any(f"vllm/vllm-openai@sha256:{'8' * 64}" in command.run for command in one.commands)


def test_what_a_server_sets_for_its_ranks_is_no_change_where_none_of_them_runs():
    launch = {"servers/torchrun/env/PATH": "/usr/bin", "servers/torchrun/running": True}
    good = host({**launch, "servers/torchrun/worker/env/LOCAL_RANK": ["0", "1"], "servers/torchrun/worker/env/NCCL_P2P_LEVEL": "LOC"})
    assert told(good, host(launch), symptom("startup-crash")).suspects == ()
    bad = host({**launch, "servers/torchrun/worker/env/LOCAL_RANK": ["0", "1"]})
    assert suspect(told(good, bad, symptom("startup-crash")), "env-var", "NCCL_P2P_LEVEL") is not None
