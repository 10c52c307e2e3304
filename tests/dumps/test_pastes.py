"""Real pastes (pastes/README.md), read as a person reads them."""

import re

import pytest

from driftwatch.model import Unknown, is_unknown
from tests.dumps.judging import CASES, expected, judge, read


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_read_wrong_and_nothing_is_invented(case):
    judged = judge(case)
    assert (judged.wrong, judged.invented) == ([], [])


def test_nearly_everything_that_is_printed_is_read():
    judged = {case: judge(case) for case in CASES}
    right = sum(one.right for one in judged.values())
    missing = {case: one.missing for case, one in judged.items() if one.missing}
    assert right / (right + sum(map(len, missing.values()))) >= 0.98, missing


@pytest.mark.parametrize("case", [case for case in CASES if "sglang" in case and expected(case).get("module_not_found")])
def test_module_not_found_is_no_proof_of_absence(case):
    snapshot = read(case)
    found = [snapshot.get(f"packages/{name}/version") for name in expected(case)["module_not_found"]]
    assert all(isinstance(one, Unknown) for one in found)


def test_what_a_layout_never_prints_is_not_recorded():
    told = read("09-sglang-053post1-h20-pynvml").get("packages/nvidia-nccl-cu12/version")
    assert isinstance(told, Unknown)
    assert told.status == "not_recorded"


def test_a_dump_without_cuda_home_says_nothing_of_the_driver():
    assert isinstance(read("89-sglang-tail-only").get("driver/version"), Unknown)


def test_torch_that_could_not_be_imported_is_unknown_and_not_absent():
    assert isinstance(read("19-vllm-torch-not-importable").get("torch/version"), Unknown)


def test_gpus_that_could_not_be_collected_are_unknown_and_not_none():
    assert isinstance(read("31-vllm-new-no-gpu-name").get("gpus/index-0/name"), Unknown)


def test_a_name_that_the_cut_ends_is_no_other_name():
    facts = read("47-torch-241-aws").facts
    assert is_unknown(facts["gpus/index-6/name"])
    assert facts["gpus/index-5/name"] == "NVIDIA A100-SXM4-40GB"


def test_a_value_with_an_arrow_names_both_sides_and_is_read_as_none():
    facts = read("81-env-arrows-two-values").facts
    assert is_unknown(facts["python/version"])
    assert not [value for value in facts.values() if isinstance(value, str) and re.search("->", value)]


def test_an_unset_variable_is_known_to_be_absent():
    snapshot = read("49-flashinfer-collect-env-mismatch")
    assert snapshot.facts["env/CUDA_VISIBLE_DEVICES"] is None


@pytest.mark.parametrize(("case", "source"), [
    ("05-sglang-042post4-quoted-command", "sglang-check-env"), ("35-vllm-new-uv-is-set-3090", "vllm-collect-env"),
    ("41-torch-200-centos-candidates", "torch-collect-env"),
    ("49-flashinfer-collect-env-mismatch", "flashinfer-collect-env"), ("51-piplist-nvcc-smi-in-one", "pip-list"), ("53-uv-piplist-quoted", "uv-pip-list"),
    ("55-pip-freeze-rocm-details", "pip-freeze"), ("57-conda-list-vllm", "conda-list"), ("63-smi-new-banner-kmd", "nvidia-smi"),
    ("239-ds-report-cpu-ops-cut", "ds-report"), ("241-xformers-mismatch-you-have", "xformers-info"), ("261-conda-list-export-win", "conda-list"),
    ("262-conda-env-yaml-with-prompt", "conda-env-export"), ("268-pixi-list-sizes", "pixi-list"), ("273-poetry-show", "poetry-show"),
    ("278-compose-yaml-vllm", "docker-compose"),
])
def test_the_source_is_the_layout_of_the_largest_part(case, source):
    assert read(case).source == source
