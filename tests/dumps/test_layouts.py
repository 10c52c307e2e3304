"""Layouts of tools as public threads show them, each reduced to the lines that matter here."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown

SEVERAL = {
    "check_env on Ascend": (
        ("Python: 3.11.13 (main, Jul 26 2025, 07:27:32) [GCC 11.4.0]\nNPU available: True\nNPU 0,1: Ascend910B3\nCANN_HOME: /usr/local/Ascend/latest\n"
        "CANN: 8.2.RC1\nBiSheng: clang version 15.0.5\nAscend Driver Version: 25.2.0\nPyTorch: 2.6.0+cpu\ntorch_npu: 2.6.0.post3\nsglang: 0.5.5\n"),
        {"ascend/cann": "8.2.RC1", "ascend/home": "/usr/local/Ascend/latest", "driver/version": "25.2.0", "gpus/index-1/name": "Ascend910B3",
         "packages/torch-npu/version": "2.6.0.post3", "packages/cann/version": None}),
    "collect-env on Intel": (
        ("==============================\n       PyTorch Info\n==============================\nPyTorch version              : 2.13.0+xpu\n"
        "==============================\n      Intel XPU / GPU Info\n==============================\nIs XPU available             : True\n"
        "XPU runtime version          : 20250301\nIntel GPU models             : \nGPU 0: Intel(R) Arc(TM) Pro B60 Graphics\n\n"
        "--Runtime--\nIntel GPU driver version     : 1.6.33578\n"),
        {"torch/xpu_available": True, "gpus/index-0/name": "Intel(R) Arc(TM) Pro B60 Graphics", "driver/version": "1.6.33578"}),
    "collect_env with the cards that torch counts": (
        ("PyTorch version: 2.8.0+xpu\nIs debug build: False\nIntel GPU driver version:\n* intel_opencl: 24.39.31294.21\n* level_zero:   1.17.44.0\n"
        "Intel GPU models onboard:\n* Intel(R) Data Center GPU Max 1550\nIntel GPU models detected:\n"
        "* [0] _XpuDeviceProperties(name='Intel(R) Data Center GPU Max 1550', platform_name='Intel(R) oneAPI', type='gpu', max_comp\n"),
        {"gpus/index-0/name": "Intel(R) Data Center GPU Max 1550", "driver/version": None, "gpus/index-unknown/name": None}),
    "collect-env on another maker's cards": (
        ("PyTorch version              : 2.5.1+cu118\nIs debug build               : False\nXPU models and configuration : \nXPU 0: P800 OAM (96.0GB)\n"
        "XPU 1: P800 OAM (96.0GB)\nKunlun driver version        : 515.58\n"),
        {"gpus/index-1/name": "P800 OAM (96.0GB)", "driver/version": "515.58"}),
    "collect_env with NCCL behind a topology": (
        "PyTorch version: 2.4.0+cu124\nIs debug build: False\nNvidia driver version: 550.90.07\nNCCL version: 2.20.5\n", {"nccl/version": "2.20.5"}),
    "a bulleted form with a remark behind the version": (
        ("root@box:~# llamafactory-cli env\n[2024-11-23 13:16:23,920] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator\n\n"
        "- `llamafactory` version: 0.9.1.dev0\n- Python version: 3.12.3\n- PyTorch version: 2.3.0+cu121 (GPU)\n- Transformers version: 4.46.1\n"
        "- PEFT version: 0.12.0\n- GPU type: NVIDIA H20\n- GPU number: 8\n"),
        {"packages/llamafactory/version": "0.9.1.dev0", "python/version": "3.12.3", "torch/version": "2.3.0+cu121", "packages/peft/version": "0.12.0",
         "gpus/count": 8}),
    "an early version of vLLM with its commit": (
        "PyTorch version: 2.4.0\nvLLM Version: 0.6.1.post2@9ba0817ff1eb514f51cc6de9cb8e16c98d6ee44f\nvLLM Build Flags:\n",
        {"packages/vllm/version": "0.6.1.post2", "packages/vllm/commit": "9ba0817ff1eb514f51cc6de9cb8e16c98d6ee44f"}),
    "a table in Markdown": (
        "| Component | Version |\n|---|---|\n| GPU | 8x NVIDIA H200 |\n| Driver | 580.95.05 |\n| PyTorch | 2.9.1+cu130 |\n| OS | Ubuntu 24.04.3 LTS |\n",
        {"gpus/count": 8, "gpus/index-unknown/name": "NVIDIA H200", "driver/version": "580.95.05", "torch/version": "2.9.1+cu130",
         "os/name": "Ubuntu 24.04.3 LTS"}),
    "a table of packages in Markdown": (
        "| Package | Version |\n|---|---|\n| torch | 2.6.0 |\n| numpy | 1.26.4 |\n| sglang | 0.4.6 |\n| triton | 3.2.0 |\n",
        {"packages/torch/version": "2.6.0", "packages/sglang/version": "0.4.6"}),
    "words without a colon": ("Env:\nsglang 0.4.6.post5\nDriver: 550.54.15\ntorch 2.6.0\npython 3.10\n", {"torch/version": "2.6.0", "python/version": "3.10"}),
    "a query without its title": (
        ("Driver Version                            : 535.104.05\nCUDA Version                              : 12.2\n\n"
        "Attached GPUs                             : 1\nGPU 00000000:19:00.0\n    Product Name                          : NVIDIA H100\n"
        "    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555\n    Processes                             : None\n"),
        {"driver/version": "535.104.05", "gpus/GPU-11111111-2222-3333-4444-555555555555/name": "NVIDIA H100"}),
    "a query of one card of many": (
        ("==============NVSMI LOG==============\n\nDriver Version                            : 535.104.05\n"
        "Attached GPUs                             : 8\nGPU 00000000:3B:00.0\n    ECC Mode\n        Current                           : Enabled\n"
        "        Pending                           : Enabled\n    Processes                             : None\n"),
        {"gpus/0000:3b:00.0/ecc/current": "Enabled", "gpus/index-0/ecc/current": None}),
    "limits of an older shell": (
        ("$ ulimit -a\nopen files                          (-n) 1024\npipe size                (512 bytes, -p) 8\n"
        "POSIX message queues         (bytes, -q) 819200\nstack size                  (kbytes, -s) 8192\n$ uname -r\n6.8.0\n"),
        {"limits/open_files/soft": 1024, "limits/stack_size_bytes/soft": 8388608}),
    "packages of the system": (
        ("$ dpkg -l | grep nvidia\nii  nvidia-fabricmanager-550    550.90.07-1    amd64    Fabric Manager\nrc  nvidia-old    470.1-1    amd64    Old\n"
        "$ rpm -qa | grep nvidia\nnvidia-driver-cuda-550.90.07-1.el9.x86_64\n$ exit\n"),
        {"os_packages/nvidia-fabricmanager-550/version": "550.90.07-1", "os_packages/nvidia-driver-cuda/version": "550.90.07-1.el9",
         "os_packages/nvidia-old/version": None}),
    "several values of one print": (
        ('$ python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"\n2.5.1+cu124 12.4 False\n$ lscpu\n'
        "Architecture:            x86_64\nCPU(s):                  192\nModel name:              AMD EPYC 9654\n$ exit\n"),
        {"torch/version": "2.5.1+cu124", "torch/cuda": "12.4", "torch/cuda_available": False, "system/cpu/count": 192, "system/cpu/model": "AMD EPYC 9654"}),
    "a line of several statements": (">>> import sglang; sglang.__version__\n'0.4.6'\n", {"packages/sglang/imported_version": "0.4.6"}),
    "variables that NCCL names": (
        "node:12:34 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\nnode:12:34 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n",
        {"servers/nccl/env/NCCL_IB_DISABLE": "1", "nccl/version": "2.26.2"}),
}


@pytest.mark.parametrize("layout", SEVERAL)
def test_a_layout_is_read(layout):
    text, expected = SEVERAL[layout]
    facts = read_dump(text, layout).facts
    assert {path: facts.get(path) for path in expected} == expected


def test_two_values_of_one_thing_are_open():
    assert is_unknown(read_dump("torch 2.5.1\nsglang 0.4.1\ndriver: 550.54\n\ntorch 2.6.0\nsglang 0.4.1\n", "two hosts").facts["torch/version"])


def test_a_log_that_nccl_ends_with_a_warning_shows_it():
    text = "node:12:34 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\nnode:12:34 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-4dX2Fo\n"
    symptom = read_dump(text, "log").symptom
    assert symptom is not None
    assert "failed to extend /dev/shm" in symptom.signature
