"""The served model's own files, a unit's variables, the interpreter below an environment, NVIDIA's multi-process service."""

from __future__ import annotations

import pytest

from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import package, snapshot, suspect, told

MODEL = {"models/org%2Fmodel/folder": "/models/org/model", "models/org%2Fmodel/revision": "aaa"}
TELLS = {name: ProbeResult("ok", tells=(f"{name}/*",)) for name in ("models", "services", "holders")}
NOISE = package("rich", "14.0"), package("rich", "14.1")


def sides(good, bad):
    return snapshot({**NOISE[0], **good}, **TELLS), snapshot({**NOISE[1], **bad}, **TELLS)


def test_a_settings_file_of_the_model_that_is_another_is_a_suspect_by_its_place():
    good, bad = ({**MODEL, "models/org%2Fmodel/settings/generation_config.json": f"sha256:{digest} 117"} for digest in ("aa", "bb"))
    found = told(*sides(good, bad), Symptom("wrong-output"))
    assert (found.suspects[0].subject.kind, found.suspects[0].subject.name) == ("file", "/models/org/model/generation_config.json")


def test_weights_of_so_few_bytes_are_none():
    good, bad, other = ({**MODEL, "models/org%2Fmodel/weights/adapter_model.safetensors": size} for size in (1_066_336, 132, 2_000_000))
    found = told(*sides(good, bad), Symptom("startup-crash")).suspects[0]
    assert (found.subject.name, found.strength) == ("/models/org/model/adapter_model.safetensors", "strong")
    assert told(*sides(good, other), Symptom("startup-crash")).suspects[0].confidence < found.confidence


def test_another_revision_is_one_suspect_with_the_files_that_came_with_it():
    code = "models/org%2Fmodel/remote_code/modeling.py"
    good, bad = ({**MODEL, "models/org%2Fmodel/revision": revision, code: f"sha256:{revision} 9"} for revision in ("aaa", "bbb"))
    found = told(*sides(good, bad), Symptom("startup-crash", "AttributeError: no such thing (modeling.py)"))
    assert [one.subject.name for one in found.suspects if one.subject.kind == "file"] == ["org/model"]
    assert any("modeling.py" in term.says for term in found.suspects[0].because)


def test_a_variable_that_a_unit_lost_is_a_suspect_though_no_server_runs():
    error = Symptom("startup-crash", "OSError: couldn't connect to 'https://huggingface.co' to load the files")
    found = told(*sides({"services/vllm/env/HF_HUB_OFFLINE": "1"}, {}), error)
    assert (found.suspects[0].subject.kind, found.suspects[0].subject.name) == ("env-var", "HF_HUB_OFFLINE")


def test_another_python_below_an_environment_is_a_suspect():
    found = told(*sides({"python/base": "/usr/bin/python3.10"}, {"python/base": "/usr/bin/python3.12"}), Symptom("import-error", "No module named 'sglang'"))
    assert found.suspects[0].subject.kind == "python"


@pytest.mark.parametrize(("text", "strength"), [("CUDA initialization: Error 805: MPS client failed to connect", "likely"), ("RuntimeError: other", "weak")])
def test_the_multi_process_service_that_came_is_a_suspect(text, strength):
    found = told(*sides({}, {"holders/nvidia-cuda-mps-server/count": 1}), Symptom("startup-crash", text))
    assert suspect(found, "gpu-process", "nvidia-cuda-mps-server").strength == strength


def test_a_process_that_came_to_a_gpu_clears_no_other_processes_though_it_holds_little():
    gpu = {"gpus/GPU-1/unattributed_mib": 3, "gpus/GPU-1/index": 0, "gpus/GPU-1/holders/Xorg": {"count": 1, "used_mib": 4}}
    small = {"gpus/GPU-1/holders/other-daemon": {"count": 1, "used_mib": 30}}
    cleared = [any(one.subject.name == "other GPU processes" for one in told(*sides(gpu, bad), Symptom("hang")).ruled_out) for bad in (gpu, {**gpu, **small})]
    assert cleared == [True, False]


def test_weights_that_are_missing_are_a_suspect_by_the_models_folder():
    found = told(*sides(MODEL, {**MODEL, "models/org%2Fmodel/weights_missing": ["model-2.safetensors"]}), Symptom("startup-crash"))
    assert (found.suspects[0].subject.kind, found.suspects[0].subject.name) == ("file", "/models/org/model")
    assert "model-2.safetensors" in found.suspects[0].because[0].says


def test_a_tuning_of_a_switch_stands_behind_it():
    given = {"servers/sglang/running": True, "servers/sglang/args/enable_torch_compile": False, "servers/sglang/args/torch_compile_max_bs": 32}
    bad = {**given, "servers/sglang/args/enable_torch_compile": True, "servers/sglang/args/torch_compile_max_bs": 8}
    found = told(*sides(given, bad), Symptom("wrong-output"))
    assert [one.subject.name for one in found.suspects][:2] == ["enable_torch_compile", "torch_compile_max_bs"]
    assert found.suspects[0].confidence > found.suspects[1].confidence
