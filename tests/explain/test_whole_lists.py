"""What a list that is whole by its nature proves: a container's variables and the arguments that are no defaults. And limits that did not move."""

from __future__ import annotations

import json

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Symptom
from tests.explain.cases import package, snapshot, suspect, told


def inspected(*variables, shm=10 << 30):
    host = {"ShmSize": shm, "NetworkMode": "host"}
    one = {"Id": "ab" * 32, "Name": "/server", "Config": {"Image": "serve:1", "Env": list(variables)}, "HostConfig": host, "Path": "serve", "Args": []}
    return read_dump(f"$ docker inspect server\n{json.dumps([one], indent=4)}\n", "paste")


def test_a_variable_that_a_container_lost_is_a_suspect():
    found = told(inspected("PATH=/bin", "NCCL_P2P_LEVEL=NVL"), inspected("PATH=/bin"), Symptom("hang", "watchdog timeout"))
    lost = suspect(found, "env-var", "NCCL_P2P_LEVEL")
    assert (lost.good, lost.bad) == ("NVL", None)


def test_shared_memory_that_a_container_lost_is_a_suspect():
    text = "RuntimeError: unable to open shared memory object </torch_1> in /dev/shm: No space left on device"
    found = told(inspected("PATH=/bin"), inspected("PATH=/bin", shm=64 << 20), Symptom("startup-crash", text))
    assert (found.suspects[0].subject.kind, found.suspects[0].good, found.suspects[0].bad) == ("limit", "10 GiB", "64 MiB")


def vllm(more):
    given = "{'model': 'org/model', 'max_model_len': 4096" + more + "}"
    return read_dump("INFO 10-08 07:00:08 [api_server.py:1839] vLLM API server version 0.11.0\n"
                     f"INFO 10-08 07:00:08 [utils.py:233] non-default args: {given}\nINFO 10-08 07:00:19 [model.py:547] Resolved architecture: X\n", "paste")


def test_an_argument_that_only_one_side_set_off_its_default_is_a_suspect():
    found = told(vllm(""), vllm(", 'enforce_eager': True"), Symptom("slow"))
    assert [one.subject.name for one in found.suspects] == ["enforce_eager"]


FILES = "OSError: [Errno 24] Too many open files"


@pytest.mark.parametrize(("limit", "is_first"), [(1024, True), (65_536, False)])
def test_a_limit_that_is_the_same_on_both_sides_and_not_little_needs_something_new(limit, is_first):
    facts = {"servers/vllm/running": True, "servers/vllm/limits/open_files": {"soft": limit, "hard": limit}}
    found = told(snapshot({**facts, **package("vllm", "0.5.3")}), snapshot({**facts, **package("vllm", "0.5.4")}), Symptom("runtime-crash", FILES))
    limit_of = suspect(found, "limit", "open files limit (nofile)")
    assert (limit_of.confidence > 0.7) is is_first


def test_the_long_version_of_python_is_read():
    told_by = read_dump("$ python3 -VV\nPython 3.11.11 (main, Dec  4 2024, 08:55:07) [GCC 11.4.0]\n", "paste")
    assert told_by.get("python/version") == Known("3.11.11")


def quickstart(*files):
    rows = "".join(f"-rw-r--r-- 1 root root {size} 2023-07-16 15:20 {name}\n" for name, size in files)
    return read_dump(f"$ ls -l --time-style=long-iso\ntotal 16\n{rows}$ pwd\n/root\n$ pip list\nPackage Version\n------- -------\nvllm    0.1.2\n", "paste")


def test_a_new_file_by_the_name_of_a_module_is_imported_in_its_place():
    before = (("offline_inference.py", 642), ("prompts.txt", 187))
    good, bad = quickstart(*before), quickstart(("batch_eval.py", 1129), *before, ("vllm.py", 655))
    found = told(good, bad, Symptom("import-error", "ImportError: cannot import name 'LLM' from partially initialized module 'vllm'"))
    assert (found.suspects[0].subject.name, found.suspects[0].good, found.suspects[0].strength) == ("vllm.py", "absent", "strong")
    assert suspect(found, "file", "batch_eval.py").confidence < found.suspects[0].confidence
    assert "in place of vllm" not in str(told(good, bad, Symptom("slow")).suspects)
