"""``ds_report`` and ``python -m xformers.info``: versions and what can be used of a library, never what a wheel was built with."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown, is_unknown

RULE = "-" * 50 + "\n"
OPERATORS = (
    "[2025-08-25 14:13:59,028] [INFO] [real_accelerator.py:260:get_accelerator] Setting ds_accelerator to cuda (auto detect)\n" + RULE
    + "DeepSpeed C++/CUDA extension op report\n" + RULE + "NOTE: Ops not installed will be just-in-time (JIT) compiled at\n      runtime if needed.\n" + RULE
    + "JIT compiled ops requires ninja\nninja .................. [OKAY]\n" + RULE + "op name ................ installed .. compatible\n" + RULE
    + " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.\n"
    + " [WARNING]  async_io: please install the libaio-dev package with apt\n"
    + "async_io ............... [NO] ....... [NO]\nfused_adam ............. [YES] ...... [OKAY]\ntransformer_inference .. [NO] ....... [OKAY]\n" + RULE)
GENERAL = """DeepSpeed general environment info:
torch install path ............... ['/opt/venv/lib/python3.12/site-packages/torch']
torch version .................... 2.6.0+cu124
deepspeed install path ........... ['/opt/venv/lib/python3.12/site-packages/deepspeed']
deepspeed info ................... 0.16.4, unknown, unknown
torch cuda version ............... 12.4
torch hip version ................ None
nvcc version ..................... 12.4
deepspeed wheel compiled w. ...... torch 2.6, cuda 12.4
shared memory (/dev/shm) size .... 64.00 MB [WARNING] /dev/shm size might be too small
"""
XFORMERS = """WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:
    PyTorch 2.3.0+cu121 with CUDA 1201 (you have 2.1.0+cu121)
    Python  3.10.14 (you have 3.10.0)
  Please reinstall xformers (see https://github.com/facebookresearch/xformers#installing-xformers)
  Memory-efficient attention, SwiGLU, sparse and more won't be available.
  Set XFORMERS_MORE_DETAILS=1 for more details
xFormers 0.0.26.post1
memory_efficient_attention.cutlassF:               unavailable
memory_efficient_attention.flshattF@v2.5.6:        available
is_triton_available:                               True
pytorch.version:                                   2.1.0+cu121
pytorch.cuda:                                      available
gpu.compute_capability:                            9.0
gpu.name:                                          NVIDIA H100 80GB HBM3
build.info:                                        available
build.cuda_version:                                1201
build.python_version:                              3.10.14
build.torch_version:                               2.3.0+cu121
source.privacy:                                    open source
"""


def facts(text):
    return read_dump(text, "paste").facts


def test_ds_report_tells_versions_and_where_they_lie():
    told = facts(OPERATORS + GENERAL)
    assert (told["torch/version"], told["torch/cuda"], told["cuda/nvcc"], told["packages/deepspeed/version"]) == ("2.6.0+cu124", "12.4", "12.4", "0.16.4")
    assert told["packages/torch/location"] == "/opt/venv/lib/python3.12/site-packages"
    assert told["shm/size_text"] == "64.00 MB"


def test_ds_report_is_its_source_and_torch_without_rocm_is_known_to_have_none():
    snapshot = read_dump(GENERAL, "paste")
    assert (snapshot.source, snapshot.get("torch/hip")) == ("ds-report", Known(None))


def test_operators_are_no_packages():
    told = facts(OPERATORS)
    assert told["deepspeed/ops/async_io"] == {"installed": False, "compatible": False}
    assert told["deepspeed/ops/fused_adam"] == {"installed": True, "compatible": True}
    assert (told["deepspeed/ninja"], told["deepspeed/accelerator"]) == (True, "cuda")
    assert not [path for path in told if path.startswith("packages/")]


def test_what_a_wheel_was_compiled_with_is_no_version_of_torch():
    told = facts(GENERAL.replace("torch version .................... 2.6.0+cu124\n", "").replace("torch 2.6", "torch 0.0"))
    assert "torch/version" not in told
    assert told["packages/deepspeed/built_with"] == "torch 0.0, cuda 12.4"


def test_a_compiler_that_could_not_be_asked_is_unknown_and_not_absent():
    told = facts(GENERAL.replace("nvcc version ..................... 12.4", "nvcc version ..................... [FAIL] nvcc missing"))
    assert is_unknown(told["cuda/nvcc"])


def test_a_version_that_the_paste_cuts_is_unknown():
    whole = GENERAL.partition("+cu124")[0]
    assert all(is_unknown(facts(whole[:len(whole) - short])["torch/version"]) for short in range(5))


def test_a_report_before_and_one_after_leave_what_they_tell_differently_open():
    told = facts("Before:\n```\n" + GENERAL + "```\nAfter:\n```\n" + GENERAL.replace("0.16.4", "0.16.5") + "```\n")
    assert is_unknown(told["packages/deepspeed/version"])
    assert told["torch/version"] == "2.6.0+cu124"


def test_ds_report_says_nothing_of_the_driver():
    assert isinstance(read_dump(GENERAL, "paste").get("driver/version"), Unknown)


def test_xformers_tells_what_is_there_and_keeps_what_it_was_built_for_apart():
    told = facts(XFORMERS)
    assert (told["packages/xformers/version"], told["torch/version"], told["python/version"]) == ("0.0.26.post1", "2.1.0+cu121", "3.10.0")
    assert [told[f"packages/xformers/built_for/{name}"] for name in ("cuda", "python", "torch")] == ["12.1", "3.10.14", "2.3.0+cu121"]
    assert (told["gpus/index-0/name"], told["gpus/index-0/compute_capability"]) == ("NVIDIA H100 80GB HBM3", "9.0")


def test_xformers_operators_are_told_as_available_or_not():
    told = facts(XFORMERS)
    assert told["packages/xformers/operators/memory_efficient_attention.cutlassF"] == "unavailable"
    assert told["packages/xformers/operators/memory_efficient_attention.flshattF@v2.5.6"] == "available"
    assert not [path for path in told if "build" in path.replace("built_for", "")]


def test_xformers_without_the_complaint_says_nothing_of_python():
    told = facts(XFORMERS.partition("more details\n")[2])
    assert "python/version" not in told


def test_a_row_that_the_paste_cuts_is_left_out():
    told = facts(XFORMERS.partition(" 80GB")[0])
    assert "gpus/index-0/name" not in told


def test_a_version_that_the_cut_may_have_shortened_is_unknown():
    assert is_unknown(facts(XFORMERS.partition("6.post1")[0])["packages/xformers/version"])


@pytest.mark.parametrize("mess", [
    lambda text: "".join(f"> {line}\n" for line in text.split("\n")), lambda text: text.replace("\n", "\r\n"), lambda text: f"```\n{text}```\n",
    lambda text: "$ ds_report\n" + text + "$ exit\n", lambda text: "".join(f"    {line}\n" for line in text.split("\n")),
])
@pytest.mark.parametrize("text", [OPERATORS + GENERAL, XFORMERS])
def test_no_mess_of_a_paste_changes_what_is_told(mess, text):
    assert facts(mess(text)) == facts(text)
