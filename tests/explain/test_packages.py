from __future__ import annotations

import pytest

from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import OOM, package, places, snapshot, suspect, told, unknown

SLOW, IMPORT = Symptom("slow", None), Symptom("import-error", "ImportError: /opt/venv/lib/sgl_kernel/common_ops.abi3.so: undefined symbol")
STACK = {
    **package("torch", "2.9.1", text_version="2.9.1+cu128"),
    **package("sgl-kernel", "0.3.21", text_version="0.3.21"),
    **package("sglang", "0.5.9", requires=["sgl-kernel==0.3.21"]),
}


def test_a_kernel_package_whose_file_says_another_version_is_strong():
    found = told(snapshot(STACK), snapshot({**STACK, "packages/sgl-kernel/text_version": "0.3.20"}), SLOW)
    (one,) = found.suspects
    assert (one.subject.name, one.mark, one.good, one.bad, one.strength) == ("sgl-kernel", "!", "0.3.21 in the metadata", "0.3.20 in its files", "strong")


def test_a_plain_package_that_disagrees_with_itself_is_less_than_a_kernel_one():
    bad = snapshot({**package("six", "1.16.0", text_version="1.99.0"), **package("sgl-kernel", "1", text_version="2")})
    found = told(snapshot({**package("six", "1.16.0", text_version="1.16.0"), **package("sgl-kernel", "1", text_version="1")}), bad)
    assert [one.subject.name for one in found.suspects] == ["sgl-kernel", "six"]


def test_a_package_that_always_disagreed_is_not_blamed():
    snap = snapshot(package("x", "1", text_version="2"))
    assert told(snap, snapshot({**snap.facts, "os/id": "x"})).suspects == ()


def test_a_local_label_is_no_disagreement():
    assert told(snapshot(STACK), snapshot({**STACK, "os/id": "x"})).suspects == ()


def test_a_package_that_hung_is_not_checked_and_never_ruled_out():
    bad = snapshot({**STACK, "packages/sgl-kernel/text_version": unknown("timeout", "/opt/venv/lib/sgl_kernel: did not answer")})
    found = told(snapshot(STACK), bad, OOM)
    assert places(found, "sgl-kernel") == ["not_checked"]
    assert places(found, "torch") == ["ruled_out"]


def test_no_package_is_ruled_out_where_the_whole_probe_hung():
    assert told(snapshot(STACK), snapshot(packages=ProbeResult("timeout")), OOM).ruled_out == ()


@pytest.mark.parametrize(
    "fact", [{"packages/torch/record": "sha256:other"}, {"packages/torch/altered/torch%2Fa.py": {"size": 1}}, {"packages/torch/verified": unknown("timeout")}]
)
def test_an_equal_version_alone_rules_nothing_out(fact):
    assert "ruled_out" not in places(told(snapshot(STACK), snapshot({**STACK, **fact}), SLOW), "torch")


def test_an_unchanged_kernel_package_is_not_cleared_when_torch_moved():
    found = told(snapshot(STACK), snapshot({**STACK, **package("torch", "2.11.0", text_version="2.11.0")}), IMPORT)
    assert "ruled_out" not in places(found, "sgl-kernel")


def test_the_gpu_stack_leads_and_web_packages_are_left_under_changes():
    good = snapshot({**package("torch", "2.8.0"), **package("httpx", "0.28.1"), **package("pip", "24")})
    bad = snapshot({**package("torch", "2.9.0"), **package("httpx", "0.28.2"), **package("pip", "25")})
    assert [one.subject.name for one in told(good, bad, SLOW).suspects] == ["torch"]


def test_the_error_text_beats_the_layer():
    good = snapshot({**package("torch", "2.8.0"), **package("apache-tvm-ffi", "0.1.11"), **package("nvidia-nccl-cu12", "2.27.5")})
    bad = snapshot({**package("torch", "2.9.0"), **package("apache-tvm-ffi", "0.1.12"), **package("nvidia-nccl-cu12", "2.27.6")})
    found = told(good, bad, Symptom("startup-crash", "terminate called after throwing an instance of 'tvm::ffi::Error'"))
    assert found.suspects[0].subject.name == "apache-tvm-ffi"


def test_the_symptom_routes_the_same_changes():
    good = snapshot({**package("nvidia-nccl-cu12", "1"), **package("transformers", "1")})
    bad = snapshot({**package("nvidia-nccl-cu12", "2"), **package("transformers", "2")})
    first = {klass: told(good, bad, Symptom(klass, None)).suspects[0].subject.name for klass in ("hang", "accuracy")}
    assert first == {"hang": "nvidia-nccl-cu12", "accuracy": "transformers"}


def test_the_size_of_the_jump_does_not_weigh():
    good = snapshot({**package("flash-mla", "3.5.0"), **package("xformers", "0.1")})
    bad = snapshot({**package("flash-mla", "3.5.1"), **package("xformers", "9.0")})
    first, second = told(good, bad, SLOW).suspects
    assert first.confidence == second.confidence


@pytest.mark.parametrize(("moved", "first"), [
    ({"vllm": ("0.23.0", "0.25.1"), "nvidia-cudnn-frontend": ("1.25.0", "1.26.0"), "nvidia-nvjitlink-cu12": ("12.4.1", "12.4.99")}, "vllm"),
    ({"transformers": ("4.37.2", "4.38.2"), "peft": ("0.8.2", "0.9.0"), "nvidia-nvjitlink-cu12": ("12.4.1", "12.4.99")}, "transformers"),
])
def test_of_memory_the_server_answers_for_its_own_sum_and_what_holds_models_before_what_links(moved, first):
    good, bad = ({path: value for name, both in moved.items() for path, value in package(name, both[side]).items()} for side in (0, 1))
    good["packages/vllm/requires"] = bad["packages/vllm/requires"] = ["nvidia-cudnn-frontend"]
    assert told(snapshot(good), snapshot(bad), Symptom("oom")).suspects[0].subject.name == first


def test_where_it_is_slow_what_compiles_the_kernels_stands_below_its_leader_and_above_its_other_companions():
    moved = {"torch": ("2.11.0", "2.13.0"), "triton": ("3.6.0", "3.7.1"), "torchvision": ("0.26.0", "0.28.0"), "nvidia-nccl-cu13": ("2.28.9", "2.29.7")}
    good, bad = ({path: value for name, both in moved.items() for path, value in package(name, both[side]).items()} for side in (0, 1))
    assert [one.subject.name for one in told(snapshot(good), snapshot(bad), SLOW).suspects][:2] == ["torch", "triton"]


def test_a_dragged_package_names_its_carrier():
    good = snapshot({**package("vllm", "0.11.0", requires=["torch==2.8.0"]), **package("torch", "2.8.0")})
    bad = snapshot({**package("vllm", "0.11.2", requires=["torch==2.9.0"]), **package("torch", "2.9.0")})
    assert suspect(told(good, bad, SLOW), "package", "torch").carrier == "came with vllm 0.11.0 → 0.11.2"


def test_another_build_of_one_version_is_a_suspect():
    found = told(snapshot(package("torch", "2.6.0")), snapshot(package("torch", "2.6.0", record="sha256:another")), IMPORT)
    assert found.suspects[0].fact == "torch 2.6.0, RECORD"


def test_commands_use_the_serving_interpreter_and_its_installer():
    good, bad = (
        snapshot({"python/executable": "/opt/my venv/bin/python", **package("torch", "1")}),
        snapshot({"python/executable": "/opt/my venv/bin/python", **package("torch", "2", installer="uv")}),
    )
    assert [one.run for one in told(good, bad, SLOW).suspects[0].commands] == [
        "uv pip show --python '/opt/my venv/bin/python' torch",
        "uv pip install --python '/opt/my venv/bin/python' --no-deps torch==1",
        "uv pip install --python '/opt/my venv/bin/python' --no-deps torch==2",
    ]


def test_a_package_that_came_is_taken_back_by_uninstalling_it():
    one = suspect(told(snapshot(), snapshot(package("flash-attn", "2.8.3")), IMPORT), "package", "flash-attn")
    assert (one.mark, one.commands[1].run) == ("+", "python3 -m pip uninstall flash-attn")


def test_an_altered_file_is_named_by_its_path():
    bad = snapshot({**STACK, "packages/sgl-kernel/altered/sgl_kernel%2Fgemm.py": {"size": 9, "recorded_size": 8, "sha256": "a"}})
    one = suspect(told(snapshot(STACK), bad, IMPORT), "file", "/opt/venv/lib/sgl_kernel/gemm.py")
    assert (one.mark, one.bad, one.strength != "weak") == ("!", "9 bytes, 8 in the RECORD", True)


def test_many_altered_files_are_told_as_their_package():
    bad = snapshot({**STACK, **{f"packages/torch/missing/torch%2F{number}.py": True for number in range(9)}})
    assert suspect(told(snapshot(STACK), bad, IMPORT), "package", "torch").bad == "9 files not as its RECORD says"


def test_a_file_that_was_altered_before_is_not_blamed():
    snap = snapshot({**STACK, "packages/torch/altered/torch%2Fa.py": {"size": 1}})
    assert told(snap, snapshot({**snap.facts, "os/id": "x"}), IMPORT).suspects == ()


def test_what_came_with_one_part_of_a_module_is_blamed_for_another_part_that_is_missed():
    good = snapshot({**package("quack-kernels", "0.3.1"), **package("vllm", "0.15.0")})
    bad = snapshot({**package("quack-kernels", "0.3.2"), **package("vllm", "0.15.0"), **package("flash-attn-4", "4.0.0b4")})
    found = told(good, bad, Symptom("startup-crash", "ModuleNotFoundError: No module named 'flash_attn.ops'"))
    assert found.suspects[0].subject.name == "flash-attn-4"


def test_the_interpreter_whose_version_the_error_quotes_stands_before_what_did_not_move():
    both = {**package("ray", "2.43.0")}
    good, bad = (snapshot({**both, "python/version": version}) for version in ("3.11.11", "3.11.13"))
    text = "RuntimeError: Version mismatch: The cluster was started with: Ray: 2.43.0 Python: 3.11.11"
    found = told(good, bad, Symptom("startup-crash", text)).suspects
    assert [(one.subject.kind, one.subject.name) for one in found] == [("python", "python")]


@pytest.mark.parametrize(("moved", "text", "first"), [
    ({"torch": ("2.9.0+cpu", "2.10.0+cpu"), "torchvision": ("0.24.0+cpu", "0.25.0+cpu"), "certifi": ("2025.11.12", "2026.1.4")},
     'File "/v/site-packages/sgl_kernel/load_utils.py", line 188, in _load\nImportError: could not load any common_ops library', "torch"),
    ({"sglang": ("0.5.12", "0.5.13"), "sgl-kernel": ("0.4.2", "0.4.3"), "flashinfer-python": ("0.6.11", "0.6.12")},
     "httpx.InvalidURL: Invalid port: ':'", "sglang"),
    ({"accelerate": ("1.8.0", "1.8.1"), "transformers": ("4.52.4", "4.53.0"), "ray": ("2.46.0", "2.47.1")},
     "TypeError: XVLProcessor.__init__() got multiple values for argument 'image_processor'", "transformers"),
])
def test_what_the_error_is_of_leads_whoever_else_moved(moved, text, first):
    stays = {"sgl-kernel-cpu": ("0.3.20",) * 2, "torchaudio": ("2.9.0+cpu",) * 2, "httpx": ("0.28.1",) * 2}
    good, bad = (snapshot({path: value for name, both in {**stays, **moved}.items() for path, value in package(name, both[side]).items()}) for side in (0, 1))
    assert told(good, bad, Symptom("startup-crash", text)).suspects[0].subject.name == first


def test_a_program_that_is_not_found_is_looked_for_along_path():
    good = {"env/PATH": "/venv/bin:/usr/bin", "env/CUDA_HOME": "/usr/local/cuda"}
    bad = {"env/PATH": "/usr/bin", "env/CUDA_HOME": "/usr/local/cuda-12"}
    text = "FileNotFoundError: [Errno 2] No such file or directory: 'ninja'"
    assert told(snapshot(good), snapshot(bad), Symptom("runtime-crash", text)).suspects[0].subject.name == "PATH"
