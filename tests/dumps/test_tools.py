"""The environment reports of SGLang, PyTorch, vLLM, FlashInfer and transformers, and what people do to them before they paste them."""

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown, is_unknown

CHECK_ENV = """Python: 3.12.9 | packaged by conda-forge | (main, Feb 14 2025, 08:00:06) [GCC 13.3.0]
CUDA available: True
GPU 0,1: NVIDIA A100-SXM4-80GB
GPU 0,1 Compute Capability: 8.0
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 12.4, V12.4.131
CUDA Driver Version: 550.90.07
550.90.07
550.90.07
550.90.07
550.90.07
550.90.07
PyTorch: 2.5.1+cu124
sglang: 0.4.5
sgl_kernel: 0.0.8
zmq: 26.0.3
vllm: Module Not Found
Hypervisor vendor:: KVM
ulimit soft: 1048576
"""
TORCH = """Collecting environment information...
PyTorch version: 2.3.0+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.11.9 (main, Apr 19 2024, 16:48:06) [GCC 11.2.0] (64-bit runtime)
Python platform: Linux-6.5.0-1023-aws-x86_64-with-glibc2.35
CUDA runtime version: 12.1.105
GPU models and configuration: GPU 0: NVIDIA L4
Nvidia driver version: 535.183.01

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] nvidia-cudnn-cu12==8.9.2.26
[pip3] torch==2.3.0
[conda] Could not collect
"""
RULE = "=" * 30 + "\n"
VLLM = (
    "Collecting environment information...\n" + RULE + "        System Info\n" + RULE + "OS                           : Ubuntu 24.04.4 LTS (x86_64)\n\n"
    + RULE + "       PyTorch Info\n" + RULE + "PyTorch version              : 2.11.0+cu130\nCUDA used to build PyTorch   : 13.0\n\n"
    + RULE + "         vLLM Info\n" + RULE + "ROCM Version                 : Could not collect\nvLLM Version                 : 0.25.1\n\n"
    + RULE + "     Environment Variables\n" + RULE
)


def facts(text):
    return read_dump(text, "paste").facts


def test_check_env_is_read_whole_with_its_double_colon_and_a_driver_line_for_each_card():
    told = facts(CHECK_ENV)
    assert (told["driver/version"], told["cuda/nvcc"], told["packages/sgl-kernel/version"]) == ("550.90.07", "12.4.131", "0.0.8")
    assert (told["system/hypervisor"], told["limits/open_files/soft"], told["gpus/index-1/compute_capability"]) == ("KVM", 1048576, "8.0")


def test_the_name_of_a_module_is_told_under_its_distribution_too_and_a_note_says_so():
    snapshot = read_dump(CHECK_ENV, "paste")
    assert snapshot.facts["packages/pyzmq/version"] == snapshot.facts["packages/zmq/version"] == "26.0.3"
    assert "zmq" in snapshot.probes["sglang-check-env"].notes[0]


@pytest.mark.parametrize("mess", [
    lambda text: "```" + text.rstrip("\n") + "```\n",
    lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "".join(f"sglang-1  | {line}\n" for line in text.split("\n")),
    lambda text: "".join(f"2026-03-02T10:00:00.123456789Z {line}\n" for line in text.split("\n")),
    lambda text: "".join(f"Mar 02 10:00:00 gpu-a python3[4711]: {line}\n" for line in text.split("\n")),
    lambda text: "".join(f"{line:<120}\n" for line in text.split("\n")),
    lambda text: "".join(f"    {line}\n" for line in text.split("\n")),
    lambda text: "root@0a1b2c3d:/# python3 -m sglang.check_env" + text,
    lambda text: f"<details><summary>env</summary><pre>{text.replace('>', '&gt;')}</pre></details>\n",
    lambda text: text.replace("0.4.5", "\x1b[32m0.4.5\x1b[0m").replace("550.90.07", "[550.90.07](http://550.90.07/)", 1),
    lambda text: text.replace("hf_", "hf\\_").replace("sgl_kernel", "sgl\\_kernel"),
    lambda text: text.encode("utf-8").decode("utf-8") + "\nDate: 2026-03-05 02:11:09 UTC\nGPU temperature: 41 C\n",
])
def test_no_mess_of_a_paste_changes_what_check_env_says(mess):
    assert facts(mess(CHECK_ENV)) == facts(CHECK_ENV)


def test_two_hosts_in_one_paste_are_not_mixed_into_one():
    other = CHECK_ENV.replace("2.5.1+cu124", "2.6.0+cu124").replace("CUDA_HOME: /usr/local/cuda", "CUDA_HOME: None").replace("sgl_kernel: 0.0.8\n", "")
    told = facts(CHECK_ENV + "\nthe other node:\n\n" + other)
    assert is_unknown(told["torch/version"])
    assert is_unknown(told["packages/sgl-kernel/version"])
    assert told["packages/sglang/version"] == "0.4.5"


def test_torch_s_report_is_read_with_kernel_and_libraries():
    told = facts(TORCH)
    assert (told["torch/version"], told["cuda/runtime"], told["kernel/release"]) == ("2.3.0+cu121", "12.1.105", "6.5.0-1023-aws")
    assert told["os/name"] == "Ubuntu 22.04.4 LTS"
    assert (told["gpus/index-0/name"], told["packages/nvidia-cudnn-cu12/version"]) == ("NVIDIA L4", "8.9.2.26")


def test_torch_s_own_line_and_its_row_are_two_facts():
    told = facts(TORCH)
    assert (told["torch/version"], told["packages/torch/version"]) == ("2.3.0+cu121", "2.3.0")


def test_two_dumps_that_share_a_line_are_both_read():
    told = facts(CHECK_ENV.rstrip("\n") + TORCH)
    assert (told["limits/open_files/soft"], told["os/name"]) == (1048576, "Ubuntu 22.04.4 LTS")


def test_variables_that_vllm_would_have_printed_are_known_to_be_unset():
    snapshot = read_dump(VLLM + "NCCL_DEBUG=WARN\nCUDA_VISIBLE_DEVICES=0,1\n", "paste")
    assert snapshot.source == "vllm-collect-env"
    assert (snapshot.get("env/NCCL_DEBUG"), snapshot.get("env/NCCL_P2P_DISABLE")) == (Known("WARN"), Known(None))
    assert isinstance(snapshot.get("env/SGLANG_X"), Unknown)


def test_variables_of_a_report_that_was_cut_are_not_known_to_be_unset():
    assert isinstance(read_dump(VLLM + "NCCL_DEBUG=WARN", "paste").get("env/NCCL_P2P_DISABLE"), Unknown)


def test_check_env_on_other_cards_is_read_too():
    text = CHECK_ENV.replace("CUDA available", "ROCM available").replace("CUDA Driver Version", "ROCM Driver Version").replace("CUDA_HOME", "ROCM_HOME")
    told = facts(text.replace("NVCC: Cuda compilation tools, release 12.4, V12.4.131", "HIPCC: HIP version: 7.2.26015"))
    assert (told["driver/version"], told["rocm/hipcc"], told["rocm/home"]) == ("550.90.07", "7.2.26015", "/usr/local/cuda")


def test_one_key_that_anybody_could_have_written_is_no_dump():
    with pytest.raises(NoDump):
        read_dump("services:\n  CUDA_HOME: /usr/local/cuda\n", "paste")


def test_what_the_tool_could_not_collect_is_unknown():
    assert isinstance(read_dump(VLLM, "paste").get("rocm/version"), Unknown)


def test_transformers_env_says_what_is_not_installed():
    text = "- `transformers` version: 4.41.2\n- PyTorch version (GPU?): 2.3.0+cu121 (True)\n- Jax version: not installed\n"
    snapshot = read_dump(text, "paste")
    assert (snapshot.source, snapshot.facts["torch/version"]) == ("transformers-env", "2.3.0+cu121")
    assert snapshot.get("packages/jax/version") == Known(None)


def test_flashinfer_s_report_tells_packages_variables_and_caches():
    text = (
        "==== FlashInfer ====\nflashinfer                   : 0.6.18\nflashinfer-cubin             : not installed\n"
        "JIT cache                    : /root/.cache/flashinfer (3 compiled .so)\n\n==== Relevant Packages ====\nnvidia-nccl-cu12 : 2.27.3\n"
        "vllm             : 0.25.1  (declares flashinfer-python==0.6.18)\n\n==== Environment Variables ====\nNCCL_DEBUG : WARN\n")
    snapshot = read_dump(text, "paste")
    assert snapshot.facts["caches/flashinfer/compiled_files"] == 3
    assert (snapshot.facts["packages/nvidia-nccl-cu12/version"], snapshot.facts["packages/vllm/version"]) == ("2.27.3", "0.25.1")
    assert (snapshot.get("packages/flashinfer-cubin/version"), snapshot.get("env/NCCL_P2P_DISABLE")) == (Known(None), Known(None))


def test_pip_show_tells_of_the_packages_that_were_asked_for():
    assert facts("Name: flashinfer-python\nVersion: 0.2.3+cu121torch2.5\nSummary: kernels\n")["packages/flashinfer-python/version"] == "0.2.3+cu121torch2.5"


def test_trl_names_each_device_and_the_hub():
    text = "- Python version: 3.10.12\n- TRL version: 0.17.0\n- CUDA device(s): NVIDIA H200, NVIDIA H200\n- HF Hub version: 0.31.2\n"
    found = read_dump(text, "x").facts
    assert [found[f"gpus/index-{index}/name"] for index in (0, 1)] == ["NVIDIA H200"] * 2
    assert found["packages/huggingface-hub/version"] == "0.31.2"


def test_a_report_of_deepspeed_without_its_title_is_read_from_its_first_row():
    text = "torch version .................... 1.10.0a0+git539d476\ndeepspeed info ................... 0.6.2+ef17c89, ef17c89, master\n"
    assert read_dump(text, "x").facts["torch/version"] == "1.10.0a0+git539d476"


def test_a_transformers_list_that_lost_its_bullets_is_read_by_its_own_rows():
    text = ("System Info\ntransformers version: 4.30.0\nPlatform: Linux-5.4.0-x86_64-with-glibc2.31\nHuggingface_hub version: 0.14.1\n"
            "Safetensors version: not installed\nPyTorch version (GPU?): 2.0.1+cu117 (True)\nUsing GPU in script?: yes\nReproduction version: 7\n")
    facts = read_dump(text, "paste").facts
    assert {path: value for path, value in facts.items() if not path.startswith("kernel")} == {
        "packages/transformers/version": "4.30.0", "packages/huggingface-hub/version": "0.14.1", "packages/safetensors/version": None,
        "packages/torch/version": "2.0.1+cu117", "torch/version": "2.0.1+cu117"}


LMDEPLOY = """sys.platform: linux
Python: 3.12.11 (main, Jun  5 2025, 12:58:53) [GCC 11.4.0]
CUDA available: True
MUSA available: False
numpy_random_seed: 2147483648
GPU 0: NVIDIA L4
NVCC: Cuda compilation tools, release 12.8, V12.8.93
PyTorch: 2.6.0+cu126
PyTorch compiling details: PyTorch built with:
  - C++ Version: 201703
  - OpenMP 2019
  - LAPACK is enabled
  - CUDA Runtime 12.6
  - CuDNN 90.5.1
  - Magma 2.5.4
  - Build settings: BLAS_INFO=mkl, CUDA_VERSION=12.6

TorchVision: 0.21.0+cu126
LMDeploy: 0.9.2+
transformers: 4.54.1
"""


def test_lmdeploy_s_report_is_read_and_how_torch_was_built_is_no_library_of_the_host():
    told = read_dump(LMDEPLOY, "paste").facts
    assert (told["packages/torchvision/version"], told["packages/lmdeploy/version"]) == ("0.21.0+cu126", "0.9.2")
    assert told["torch/cuda_available"] is True
    assert not any(path.startswith("cudnn/") for path in told)
    assert not any(path.startswith("cudnn/") for path in read_dump(LMDEPLOY[:LMDEPLOY.index("  - Magma")], "paste").facts)


def test_two_reports_of_which_one_leaves_out_a_version_s_local_part_do_not_contradict_each_other():
    one = "- `transformers` version: 4.38.2\n- PyTorch version (GPU?): 2.2.1+cu121 (True)\n- Jax version: 0.4.25\n"
    told = read_dump(f"```\n{one}```\nand\n```\n- huggingface_hub version: 0.21.4\n- Torch: 2.2.1\n- numpy: 1.26.4\n```\n", "paste").facts
    assert (told["torch/version"], told["packages/jax/version"], told["packages/numpy/version"]) == ("2.2.1+cu121", "0.4.25", "1.26.4")


def test_vllm_s_plugin_for_ascend_has_its_own_row():
    text = "PyTorch version: 2.10.0+cpu\nIs debug build: False\nvLLM Version: 0.20.1\nvLLM Ascend Version: 0.20.1rc1 (git sha: 0123abcd)\n\nENV Variables:\n"
    told = read_dump(text, "paste").facts
    assert [told[f"packages/{name}"] for name in ("vllm/version", "vllm-ascend/version", "vllm-ascend/commit")] == ["0.20.1", "0.20.1rc1", "0123abcd"]


@pytest.mark.parametrize(("below", "is_one"), [("* 32.0.101.8826 (20260529)\n", True), ("* 32.0.101.8826 (2026)\n* 31.0.1.2 (2025)\n", False)])
def test_the_driver_below_intel_s_own_key_is_the_driver(below, is_one):
    told = read_dump(f"PyTorch version: 2.13.0+xpu\nIs debug build: False\nIntel GPU driver version:\n{below}HIP runtime version: N/A\n", "paste").facts
    assert told["driver/version"] == "32.0.101.8826" if is_one else is_unknown(told["driver/version"])
