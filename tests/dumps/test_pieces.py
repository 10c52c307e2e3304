"""Pastes that were cut, joined or wrapped on their way, and templates that nobody filled in."""

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown

TEMPLATE = """==============================
       PyTorch Info
==============================
PyTorch version              : {torch_version}
Is debug build               : {is_debug_build}
CUDA used to build PyTorch   : 12.4
GPU models and configuration : {nvidia_gpu_models}
Nvidia driver version        : %s
"""
HEAD = "Collecting environment information...\nPyTorch version: 2.7.0\nIs debug build: False\n"
JOINED = (
    "My envs: ` python3 -m sglang.check_env /opt/torch/cuda/**init**.py:283: UserWarning: old\n\nwarnings.warn( Python: 3.12.12 | packaged by Anaconda, Inc. | "
    "(main, Oct 21 2025, 20:05:09) [GCC 11.2.0] CUDA available: True GPU 0: NVIDIA GB10 GPU 0 Compute Capability: 12.1 CUDA_HOME: /usr/local/cuda NVCC: Cuda "
    "compilation tools, release 13.0, V13.0.88 CUDA Driver Version: 580.95.05 PyTorch: 2.9.1+cu130 sglang: 0.5.5.post1 sgl_kernel: 0.3.17 "
    "flashinfer_jit_cache: Module Not Found orjson: 3.11.4 outli")
PIECE = (
    "ht_path=None, kt_method='AMXINT4', kt_cpuinfer=None, disable_radix_cache=False, cuda_graph_max_bs=32, cuda_graph_bs=[1, 2, 4], disable_cuda_graph=False, "
    "disable\nmixed_chunk=False, enable_dp_attention=False, tbo_token=0.48, enable_torch_compile=False, torch_compile_max_bs=32, x=1, tokens=[4, 8,")


def read(text):
    return read_dump(text, "paste").facts


def arguments(text, framework="sglang"):
    return {path.rpartition("/")[2]: value for path, value in read(text).items() if path.startswith(f"servers/{framework}/args/")}


def test_the_names_of_a_template_are_no_values():
    facts = read(TEMPLATE)
    assert [is_unknown(facts[path]) for path in ("torch/version", "torch/debug", "driver/version")] == [True, True, True]
    assert facts["torch/cuda"] == "12.4"
    assert not [path for path in facts if path.startswith("gpus/")]


@pytest.mark.parametrize("piece", ["Could not", "Could not c", "Coul"])
def test_a_piece_of_could_not_collect_is_no_version(piece):
    assert is_unknown(read(f"{HEAD}Nvidia driver version: {piece}\n```\n")["driver/version"])


def test_a_last_row_that_is_a_piece_of_what_an_earlier_one_told_is_no_other_version():
    text = HEAD + "[pip3] transformers==4.51.3\n[conda] numpy               2.2.5               pypi_0    pypi\n[conda] transformers        4.5\n```\n"
    assert read(text)["packages/transformers/version"] == "4.51.3"


def test_an_earlier_row_that_says_otherwise_is_no_piece():
    text = HEAD + "[pip3] transformers==4.51.3\n[conda] transformers              4.5   pypi_0   pypi\n[conda] numpy     2.2.5     pypi_0    pypi\n"
    assert is_unknown(read(text)["packages/transformers/version"])


def test_a_value_that_a_mail_program_wrapped_is_joined_again():
    facts = read(HEAD + "Clang version: 18.1.8 (Red Hat\n18.1.8-1.module+el8.10.0+1875)\nCMake version: version 3.26.5\n")
    assert (facts["toolchain/clang"], facts["toolchain/cmake"]) == ("18.1.8 (Red Hat 18.1.8-1.module+el8.10.0+1875)", "version 3.26.5")


def test_a_check_env_in_one_line_is_cut_apart():
    facts = read(JOINED)
    told = [facts[path] for path in ("python/version", "gpus/index-0/name", "cuda/nvcc", "driver/version", "torch/version", "packages/sglang/version")]
    assert told == ["3.12.12", "NVIDIA GB10", "13.0.88", "580.95.05", "2.9.1+cu130", "0.5.5.post1"]
    assert facts["packages/orjson/version"] == "3.11.4"
    assert "packages/outli/version" not in facts


def test_a_collect_env_in_one_line_is_cut_apart():
    facts = read("PyTorch version: 2.6.0+cu124 Is debug build: False CUDA used to build PyTorch: 12.4 OS: Ubuntu 22.04 Libc version: glibc-2.35 "
                 "CUDA runtime version: 12.4.131 GPU models and configuration: GPU 0: NVIDIA H100 Nvidia driver version: 550.54.15 [pip3] numpy==1.26.4\n")
    assert [facts[path] for path in ("os/name", "gpus/index-0/name", "driver/version")] == ["Ubuntu 22.04", "NVIDIA H100", "550.54.15"]


def test_the_middle_of_a_servers_arguments_tells_its_whole_fields():
    told = arguments(f"```\n{PIECE}\n```\n")
    assert (told["kt_method"], told["cuda_graph_bs"], told["enable_torch_compile"]) == ("AMXINT4", [1, 2, 4], False)
    assert not told.keys() & {"ht_path", "disable", "mixed_chunk", "tokens"}


def test_fields_inside_what_the_cut_opened_are_not_the_servers():
    text = "backend='x', name='y'), gpu_memory_utilization=0.9, enforce_eager=True, max_num_seqs=8, swap_space=4, seed=0, model='m"
    assert arguments(text, "vllm") == {"gpu_memory_utilization": 0.9, "enforce_eager": True, "max_num_seqs": 8, "swap_space": 4, "seed": 0}


def test_fields_that_are_no_servers_are_none():
    with pytest.raises(NoDump, match="was searched for"):
        read("a=1, bb=2, cc=3, dd=4, ee=5, ff=6, gg=7\n")
