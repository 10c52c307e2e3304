"""Two tools call one thing by two names, and one thing must not look like two."""

from __future__ import annotations

import json

import pytest

from driftwatch.compare.aligned import aligned
from driftwatch.compare.pair import compare
from driftwatch.dumps.read import read_dump
from driftwatch.model import Known
from tests.explain.cases import package, snapshot

CHECK_ENV = """Python: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0]
CUDA available: True
GPU 0: NVIDIA H100 80GB HBM3
GPU 0 Compute Capability: 9.0
CUDA_HOME: /usr/local/cuda
PyTorch: 2.6.0+cu124
sglang: 0.4.6.post1
sgl_kernel: 0.1.0
flashinfer: 0.2.5
numpy: 2.2.5
zmq: 26.4.0
PIL: 11.2.0
multipart: 0.0.20
vllm: Module Not Found
ulimit soft: 1048576
"""
PIP_LIST = """$ pip list
Package           Version
----------------- -----------
flashinfer-python 0.2.5
numpy             2.2.5
pillow            11.2.0
python-multipart  0.0.20
pyzmq             26.4.0
sgl-kernel        0.1.0
sglang            0.4.6.post1
torch             2.6.0
"""
TABLE = """+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
|   0  NVIDIA H100 80G...             On  | 00000000:19:00.0 Off |                    0 |
| N/A   30C    P0              70W / 700W |      0MiB / 81559MiB |      0%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+
"""
CSV = """name, uuid, pci.bus_id, memory.total [MiB]
NVIDIA H100 80GB HBM3, GPU-11111111-2222-3333-4444-555555555555, 00000000:19:00.0, 81559 MiB
"""


def moved(good: str, bad: str) -> dict[str, str]:
    return {one.path: one.kind for one in compare(read_dump(good, "good"), read_dump(bad, "bad")) if not one.is_folded and one.kind != "unknown"}


@pytest.mark.parametrize("sides", [(CHECK_ENV, PIP_LIST), (PIP_LIST, CHECK_ENV)])
def test_a_module_is_neither_added_nor_removed_where_the_other_tool_tells_its_distribution(sides):
    assert moved(*sides) == {}


def test_a_distribution_that_moved_is_seen_behind_its_modules_name():
    assert moved(CHECK_ENV.replace("flashinfer: 0.2.5", "flashinfer: 0.2.3"), PIP_LIST) == {"packages/flashinfer-python/version": "changed"}


def test_a_name_that_one_tool_did_not_find_and_the_other_does_not_list_is_no_open_question():
    assert "packages/vllm/version" not in {one.path for one in compare(read_dump(CHECK_ENV, "good"), read_dump(PIP_LIST, "bad"))}


def test_a_gpu_told_by_index_is_the_one_told_by_uuid_where_both_tell_its_address():
    good, bad = read_dump(TABLE, "good"), read_dump(CSV, "bad")
    assert moved(TABLE, CSV) == {}
    assert aligned(good, bad)[0].get("gpus/GPU-11111111-2222-3333-4444-555555555555/memory_total_mib") == Known(81559)


def test_a_gpu_told_by_index_alone_is_not_compared():
    assert not [path for path in moved(CHECK_ENV, CSV) if path.startswith("gpus/")]


def test_snapshots_without_a_second_name_are_left_as_they_are():
    one = snapshot(package("torch", "2.9.1"))
    assert aligned(one, one) == (one, one)


@pytest.mark.parametrize(("path", "good", "bad", "is_same"), [
    ("git/sglang/head", "1a2b3c4", "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", True), ("git/sglang/head", "1a2b3c", "1a2b3c4d5e", False),
    ("git/sglang/head", "1a2b3c5", "1a2b3c4d5e6f", False), ("gpus/GPU-1/name", "NVIDIA H100 80G...", "NVIDIA H100 80GB HBM3", True),
    ("gpus/GPU-1/name", "NVIDIA H100 80G...", "NVIDIA H200", False), ("gpus/GPU-1/name", "NVIDIA H100", "NVIDIA H100 NVL", False),
])
def test_a_text_that_a_tool_shortened_is_the_one_that_it_begins(path, good, bad, is_same):
    assert (compare(snapshot({path: good}), snapshot({path: bad})) == ()) is is_same


def _collected(release: str, *variables: str) -> str:
    heads = ("System Info", "PyTorch Info", "Python Environment", "CUDA / GPU Info", "CPU Info", "Versions of relevant libraries", "vLLM Info",
             "Environment Variables")
    told = {"System Info": ["OS                           : Ubuntu 24.04.2 LTS (x86_64)"], "PyTorch Info": ["PyTorch version              : 2.9.1+cu129"],
            "Versions of relevant libraries": ["[pip3] torch==2.9.1"], "vLLM Info": [f"vLLM Version                 : {release}"],
            "Environment Variables": variables}
    return "".join(f"{'=' * 30}\n{head:^30}\n{'=' * 30}\n" + "".join(f"{line}\n" for line in told.get(head, ())) for head in heads)


@pytest.mark.parametrize(("release", "is_seen"), [("0.17.1", True), ("0.18.0", False)])
def test_a_variable_that_one_release_of_a_tool_prints_is_unset_where_the_same_release_does_not(release, is_seen):
    good, bad = (read_dump(text, name) for text, name in ((_collected("0.17.1", "HSA_X=1", "CUDA_Y=2"), "good"), (_collected(release, "CUDA_Y=2"), "bad")))
    changes = {one.path: one for one in compare(good, bad)}
    assert "env/HSA_X" not in good.probes[good.source].tells
    assert ("env/HSA_X" in changes and (changes["env/HSA_X"].good, changes["env/HSA_X"].bad) == (Known("1"), Known(None))) is is_seen


def _inspected(container: str, tag: str, *variables: str) -> str:
    told = {"Id": container, "Config": {"Image": f"lmsysorg/sglang:{tag}", "Env": ["PATH=/usr/bin", *variables]}, "HostConfig": {"ShmSize": 1}}
    return json.dumps([told], indent=1)


def test_the_one_container_of_two_pastes_is_one_whatever_its_id():
    good, bad = read_dump(_inspected("07fd5528ac91", "v0.5.8"), "good"), read_dump(_inspected("b1c29e04d1f7", "latest", "CUDA_X=1"), "bad")
    found = {one.path.partition("/")[2].partition("/")[2]: (one.good, one.bad) for one in compare(good, bad)}
    assert found["image"] == (Known("lmsysorg/sglang:v0.5.8"), Known("lmsysorg/sglang:latest"))
    assert found["env/CUDA_X"] == (Known(None), Known("1"))
