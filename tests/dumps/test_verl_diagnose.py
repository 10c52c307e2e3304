from driftwatch.dumps.read import read_dump
from driftwatch.dumps.verl_diagnose import FORMAT
from driftwatch.model import is_unknown
from tests.dumps.reading import facts

REPORT = """----------Python Info----------
Version      : 3.10.17
Compiler     : Clang 20.1.0
------------Pip Info-----------
Version      : 25.1
vllm         : 0.8.5
sglang       : not found.
----------verl Info-----------
Version      : 0.3.1.dev
Commit Hash  : 0123456789abcdef
----------Platform Info----------
Platform     : Linux-6.4.3-0_x-x86_64-with-glibc2.34
release      : 6.4.3-0_x
version      : #1 SMP Tue Sep 24 11:05:51 PDT 2024
----------Environment----------
CUDA Runtime : 12.4
CUDA Compiler : Cuda compilation tools, release 12.4, V12.4.131
----------System Info----------
GPU Count       : 2
GPU 1   Type    : NVIDIA H100
GPU 1   Memory  : 95.00 GB
GPU 2   Type    : NVIDIA H100
"""


def test_each_part_of_the_report_has_its_own_version_and_cards_count_from_nought():
    assert facts(FORMAT, REPORT) == {
        "python/version": "3.10.17", "packages/pip/version": "25.1", "packages/vllm/version": "0.8.5", "packages/sglang/version": None,
        "packages/verl/version": "0.3.1.dev", "packages/verl/commit": "0123456789abcdef", "kernel/release": "6.4.3-0_x", "torch/cuda": "12.4",
        "cuda/nvcc": "12.4.131", "gpus/count": 2, "gpus/index-0/name": "NVIDIA H100", "gpus/index-1/name": "NVIDIA H100"}


def test_its_first_title_without_its_dashes_is_none():
    assert facts(FORMAT, "----------Python Info---\nVersion      : 3.10.17\n") == {}


def test_a_version_that_was_cut_is_unknown():
    assert is_unknown(read_dump(REPORT[:REPORT.index("0.8.5") + 3], "paste").facts["packages/vllm/version"])


def test_a_second_report_begins_at_its_own_title():
    told = read_dump(REPORT + REPORT.replace("3.10.17", "3.11.2"), "paste").facts
    assert is_unknown(told["python/version"])
    assert told["packages/vllm/version"] == "0.8.5"
