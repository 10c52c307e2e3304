from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.explain.version_families import fits
from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import package, places, snapshot, suspect, told, unknown

START, IMPORT, SLOW = Symptom("startup-crash"), Symptom("import-error"), Symptom("slow")


def stack(**versions):
    return {path: value for name, version in versions.items() for path, value in package(name.replace("_", "-"), version).items()}


def first(found):
    return found.suspects[0].subject.name


def test_the_one_of_a_family_that_did_not_move_is_named_with_its_partner():
    good, bad = stack(flashinfer_python="0.6.13", flashinfer_cubin="0.6.13"), stack(flashinfer_python="0.6.14", flashinfer_cubin="0.6.13")
    found = told(snapshot(good), snapshot(bad), START)
    assert first(found) == "flashinfer-cubin"
    assert found.suspects[0].bad == "0.6.13 (with flashinfer-python 0.6.14)"


def test_what_a_server_of_texts_only_imports_does_not_make_it_slow():
    good, bad = (snapshot({**package("torch", torch), **package("torchaudio", "2.11.0")}) for torch in ("2.11.0", "2.13.0"))
    assert suspect(told(good, bad, Symptom("import-error", "OSError: undefined symbol")), "package", "torchaudio").strength == "strong"
    assert told(good, bad, Symptom("slow", "")).suspects[0].subject.name == "torch"


def test_a_family_that_never_fitted_is_not_told_as_broken():
    good = stack(flashinfer_python="0.6.13", flashinfer_cubin="0.6.12", torch="2.8.0")
    found = told(snapshot(good), snapshot({**good, **stack(torch="2.9.0")}), START)
    assert suspect(found, "package", "flashinfer-cubin") is None


@pytest.mark.parametrize(
    ("versions", "pair", "is_fit"),
    [
        ({"torch": "2.9.1", "torchvision": "0.24.1"}, ("torch", "torchvision"), True),
        ({"torch": "2.9.1", "torchvision": "0.23.0"}, ("torch", "torchvision"), False),
        ({"torch": "2.6.0+cu126", "torchaudio": "2.6.0+cu124"}, ("torch", "torchaudio"), False),
        ({"torch": "2.6.0+cu126", "torchaudio": "2.6.0"}, ("torch", "torchaudio"), True),
        ({"torch": "2.9.1", "triton": "3.6.0"}, ("torch", "triton"), False),
        ({"torch": "2.9.1", "nvidia-nccl-cu12": "2.29.0"}, ("torch", "nvidia-nccl-cu12"), True),
        ({"torch": "2.9.1", "nvidia-nccl-cu12": "2.27.3"}, ("torch", "nvidia-nccl-cu12"), False),
        ({"sglang": "0.5.9", "sgl-kernel": "0.3.20"}, ("sglang", "sgl-kernel"), False),
        ({"nvidia-cutlass-dsl": "4.5.0", "nvidia-cutlass-dsl-libs-cu13": "4.5.0"}, ("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-cu13"), True),
    ],
)
def test_what_belongs_together_is_judged_by_data(versions, pair, is_fit):
    assert {(one.leader, one.follower): one.fits for one in fits(versions)}[pair] is is_fit


def test_a_release_that_no_table_knows_is_not_judged():
    assert list(fits({"sglang": "0.5.9.dev3", "torch": "9.9", "triton": "1.0"})) == []


def test_a_wheel_built_for_the_torch_that_is_gone_leads_though_it_did_not_move():
    good = stack(torch="2.7.0", flash_attn="2.8.3+cu12torch2.7cxx11abiTRUE", aiohttp="3.1")
    found = told(snapshot(good), snapshot({**good, **stack(torch="2.10.0", aiohttp="3.2")}), IMPORT)
    assert first(found) == "flash-attn"


def test_a_wheel_name_tells_what_a_package_was_built_for():
    wheel = "https://host/kernels-1.0%2Bcu12torch2.7-cp310-linux_x86_64.whl"
    good = {**stack(torch="2.7.0"), **package("kernels", "1.0", direct_url=wheel)}
    assert first(told(snapshot(good), snapshot({**good, **stack(torch="2.9.0")}), IMPORT)) == "kernels"


def test_a_wheel_of_another_cuda_than_torch_is_of_is_named():
    good = {**stack(torch="2.9.1", deep_gemm="2.1+cu12"), "torch/cuda": "12.8"}
    found = told(snapshot(good), snapshot({**good, "torch/cuda": "13.0", "packages/torch/record": "sha256:other"}), IMPORT)
    assert suspect(found, "package", "deep-gemm").mark == "!"


def test_the_library_that_misses_a_symbol_of_a_moved_torch_is_a_suspect_without_moving():
    error = "ImportError: /x/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"
    good = stack(torch="2.6.0+cu124", flash_attn="2.7.4", numpy="1.26.4")
    found = told(snapshot(good), snapshot({**good, **stack(torch="2.6.0+cu126")}), Symptom("import-error", error))
    assert {one.subject.name for one in found.suspects[:2]} == {"torch", "flash-attn"}


def test_objects_that_look_for_another_cuda_than_torch_is_of_are_named():
    path = "objects/sgl-kernel/sgl_kernel%2Fcommon_ops.abi3.so/needed"
    good = {**stack(torch="2.9.1", sgl_kernel="0.3.21"), "torch/cuda": "12.8", path: ["libcudart.so.12", "libc10.so"]}
    found = told(snapshot(good), snapshot({**good, **stack(torch="2.11.0"), "torch/cuda": "13.0"}), IMPORT)
    assert first(found) == "sgl-kernel"


def test_two_distributions_of_one_folder_side_by_side_are_a_finding():
    good = stack(sgl_kernel="0.3.21", sglang="0.5.9.post1")
    found = told(snapshot(good), snapshot({**good, **stack(sglang_kernel="0.4.1", sglang="0.5.10.post1")}), START)
    assert first(found) == "sglang-kernel"
    assert "both bring sgl_kernel" in found.verdict


def test_names_of_torch_that_came_unresolved_are_strong():
    good = {**stack(sgl_kernel="0.3.21"), "objects/sgl-kernel/a.so/needed": ["libc10.so"]}
    found = told(snapshot(good), snapshot({**good, "objects/sgl-kernel/a.so/unresolved": {"count": 2, "some": ["_ZN3c10x"]}}), IMPORT)
    assert suspect(found, "package", "sgl-kernel").confidence > 0.8


def test_a_requirement_that_broke_names_who_wants_and_who_does_not_fit():
    good = {**package("sglang", "0.5.8.post9", requires=["torch==2.9.1"]), **package("torch", "2.9.1", requires=[])}
    bad = {**good, **package("torch", "2.10.0", requires=[])}
    found = told(snapshot(good), snapshot(bad), START)
    assert first(found) == "torch"
    assert "requires torch==2.9.1" in found.verdict


def test_a_requirement_that_was_never_met_is_no_finding():
    good = {**package("a", "1", requires=["numpy<2"]), **package("numpy", "2.0", requires=[]), **package("torch", "2.8.0", requires=[])}
    found = told(snapshot(good), snapshot({**good, **package("torch", "2.9.0", requires=[])}), START)
    assert suspect(found, "package", "numpy") is None


def test_a_requirement_on_a_package_that_is_not_known_is_not_judged():
    good = {**package("a", "1", requires=["torch==2.9.1"]), **package("torch", "2.9.1")}
    bad = {**good, "packages/torch/version": unknown("timeout"), **package("a", "2", requires=["torch==2.9.1"])}
    assert suspect(told(snapshot(good), snapshot(bad), START), "package", "torch") is None


def test_an_unmoved_package_whose_version_the_error_refuses_leads():
    error = "Exception: sgl-kernel is installed with version 0.3.20, which is less than the minimum required version 0.3.21."
    good = stack(sglang="0.5.7.post1", sgl_kernel="0.3.20", torch="2.9.1")
    found = told(snapshot(good), snapshot({**good, **stack(sglang="0.5.7.post2")}), Symptom("startup-crash", error))
    assert first(found) == "sgl-kernel"


def test_the_dependency_of_an_unmoved_raiser_beats_the_layer():
    good = {**package("outlines", "0.1", requires=["interegular"]), **stack(interegular="0.3.2", torch="2.8.0")}
    error = Symptom("import-error", "ImportError: cannot import name 'x' from 'outlines.fsm'")
    assert first(told(snapshot(good), snapshot({**good, **stack(interegular="0.3.3", torch="2.9.0")}), error)) == "interegular"


def test_what_goes_with_torch_stands_below_it():
    good, bad = stack(torch="2.8.0", triton="3.4.0", torchvision="0.23.0"), stack(torch="2.9.0", triton="3.5.0", torchvision="0.24.0")
    assert first(told(snapshot(good), snapshot(bad), SLOW)) == "torch"


def test_a_server_that_brought_the_kernels_stands_below_them():
    good = {**package("sglang", "0.5.7", requires=["flashinfer-python"]), **stack(flashinfer_python="0.5.3")}
    bad = {**package("sglang", "0.5.8", requires=["flashinfer-python"]), **stack(flashinfer_python="0.6.1")}
    found = told(snapshot(good), snapshot(bad), SLOW)
    assert first(found) == "flashinfer-python"
    assert found.suspects[0].carrier == "came with sglang 0.5.7 → 0.5.8"


def test_the_only_difference_is_likelier_than_one_among_many():
    many = {f"p{number}": "1" for number in range(12)}
    alone = told(snapshot(stack(torch="2.8.0")), snapshot(stack(torch="2.9.0")), SLOW)
    crowd = told(snapshot(stack(torch="2.8.0", **many)), snapshot(stack(torch="2.9.0", **dict.fromkeys(many, "2"))), SLOW)
    assert alone.suspects[0].confidence > crowd.suspects[0].confidence


def test_the_only_difference_counts_less_where_a_whole_probe_is_open():
    good, bad = snapshot(stack(torch="2.8.0")), stack(torch="2.9.0")
    whole, holed = told(good, snapshot(bad), SLOW), told(good, snapshot(bad, nvml=ProbeResult("timeout")), SLOW)
    assert whole.suspects[0].confidence > holed.suspects[0].confidence


def test_a_named_package_that_no_layout_prints_is_not_checked_and_keeps_the_verdict_open():
    probe = {"pip-list": ProbeResult("ok", tells=("packages/torch/version", "packages/transformers/version"))}
    good, bad = ({"packages/transformers/version": version, "packages/torch/version": "2.9.1"} for version in ("5.1", "5.2"))
    sides = [snapshot(facts, packages=ProbeResult("not_recorded", tells=("packages/*",)), **probe) for facts in (good, bad)]
    found = told(*sides, Symptom("startup-crash", "terminate called after throwing an instance of 'tvm::ffi::Error'"))
    assert (places(found, "apache-tvm-ffi"), found.word) == (["not_checked"], "UNKNOWN")


def test_a_good_side_that_is_newer_is_pointed_out():
    good = snapshot(stack(torch="2.9.0"))
    newer = replace(good, taken_at="2026-03-09T10:00:00Z")
    assert "the good side is the newer one" in told(newer, snapshot(stack(torch="2.8.0")), SLOW).verdict


def test_a_second_folder_of_metadata_of_one_name_is_a_suspect():
    good = snapshot({**package("torch", "2.8.0"), **package("regex", "2025.11.3")})
    bad = snapshot({**package("torch", "2.8.0"), **package("regex", "2025.11.4"),
                    "packages/torch/others": [{"folder": "torch-2.7.1.dist-info", "version": "2.7.1"}]})
    error = Symptom("import-error", "TypeError: expected string or bytes-like object, got 'NoneType'")
    one = told(good, bad, error).suspects[0]
    assert (one.subject.name, one.bad, one.mark) == ("torch", "torch-2.7.1.dist-info", "!")
    assert told(bad, bad, error).suspects == ()
