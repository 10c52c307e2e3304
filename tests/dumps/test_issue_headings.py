"""Issue forms as GitHub renders them: a heading, an empty line, a value."""

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump

FORM = """### NVIDIA Open GPU Kernel Modules Version

NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (builder@host)  GCC version:  gcc version 12.2.0

### Please confirm this issue does not happen with the proprietary driver (of the same version).

- [ ] I confirm that this does not happen with the proprietary driver package.

### Operating System and Version

Description:    Ubuntu 24.04.2 LTS

### Kernel Release

Linux gpu-a 6.11.0-29-generic #29~24.04.1-Ubuntu SMP x86_64 GNU/Linux

### Hardware: GPU

It is GPU 0. GPU 0: NVIDIA L4 (UUID: GPU-00000000-0000-0000-0000-00000000000a), GPU 1: NVIDIA L40S (UUID: GPU-00000000-0000-0000-0000-00000000000b)

### Describe the bug

It worked with 570.86.10 and Ubuntu 22.04.
"""


def facts(text):
    return read_dump(text, "paste").facts


def test_the_values_below_the_headings_are_told():
    told = facts(FORM)
    assert (told["driver/version"], told["driver/module/version"], told["driver/module/flavour"]) == ("575.57.08", "575.57.08", "open")
    assert (told["os/name"], told["kernel/release"]) == ("Ubuntu 24.04.2 LTS", "6.11.0-29-generic")


def test_each_gpu_of_one_line_is_told_by_its_uuid():
    told = facts(FORM)
    assert [told[f"gpus/GPU-00000000-0000-0000-0000-00000000000{end}/name"] for end in "ab"] == ["NVIDIA L4", "NVIDIA L40S"]
    assert sum(path.endswith("/name") and path.startswith("gpus/") for path in told) == 2


@pytest.mark.parametrize(("written", "told"), [
    ("6.8.0-60-generic", "6.8.0-60-generic"), ("Linux  6.1.0-44-amd64 #1 SMP Debian 6.1.164-1 x86_64 GNU/Linux", "6.1.0-44-amd64"),
    ("```\nLinux box 5.14.0-503.el9.x86_64 #1 SMP x86_64\n```", "5.14.0-503.el9.x86_64"),
])
def test_a_kernel_is_told_as_uname_prints_it_or_as_somebody_wrote_it(written, told):
    assert facts(f"### Kernel Release\n\n{written}\n\n### Driver version\n\n575.57.08\n")["kernel/release"] == told


def test_versions_that_people_write_are_told():
    told = facts("### Python version\n\n3.12.3\n\n### PyTorch version\n\n2.9.1+cu128\n\n### vLLM version\n\nv0.11.0\n")
    assert (told["python/version"], told["torch/version"], told["packages/vllm/version"]) == ("3.12.3", "2.9.1+cu128", "0.11.0")


def test_a_word_that_fits_many_names_nothing():
    told = facts("### OS\n\nLinux\n\n### GPU\n\nNvidia\n\n### CUDA version\n\n12.8\n\n### Driver version\n\n_No response_\n")
    assert set(told) == {"cuda/version"}


def test_text_of_several_lines_below_a_heading_is_no_version():
    told = facts("### Driver version\n\nI had 570.1 before.\nNow 575.57.08.\n\n### OS\n\nUbuntu 24.04\n\n### Python version\n\n3.12\n")
    assert "driver/version" not in told
    assert told["os/name"] == "Ubuntu 24.04"


def test_one_heading_makes_no_form():
    with pytest.raises(NoDump):
        read_dump("### Python version\n\n3.12.3\n\nand then it broke.\n", "paste")


def test_a_value_that_the_paste_cuts_is_left_out():
    assert "os/name" not in facts("### Driver version\n\n575.57.08\n\n### OS\n\nUbuntu 24")


def test_what_a_tool_printed_below_a_heading_is_left_to_its_own_format():
    table = "Package Version\n------- -------\nnumpy   1.26.4\npip     24.0\n"
    told = facts(f"### Driver version\n\n575.57.08\n\n### OS\n\nUbuntu 24.04\n\n### Packages\n\n```\n{table}```\n")
    assert (told["packages/numpy/version"], told["driver/version"]) == ("1.26.4", "575.57.08")


def test_a_value_that_repeats_the_command_is_the_release_that_it_printed():
    form = "### Kernel Release\n\nuname -r 5.15.0-157-generic\n\n### Operating System and Version\n\nDescription:    Ubuntu 22.04.5 LTS\n"
    assert read_dump(form, "paste").facts == {"kernel/release": "5.15.0-157-generic", "os/name": "Ubuntu 22.04.5 LTS"}


def test_the_bullets_of_an_operator_s_form_tell_system_and_kernel():
    form = "* OS/Version(e.g. RHEL8.6) Rocky Linux 9.2\n* Kernel Version: 5.14.0-284.el9.x86_64\n* Container Runtime Type/Version: CRI-O\n"
    assert read_dump(form, "paste").facts == {"kernel/release": "5.14.0-284.el9.x86_64", "os/name": "Rocky Linux 9.2"}


def test_a_driver_named_as_a_distributions_package_and_a_gpu_with_its_number_are_read():
    text = "### Driver version\n\nnvidia-drivers-530.41.03\n\n### Hardware: GPU\n\nGPU 0: NVIDIA GeForce RTX 3070 Ti\nGPU 1: NVIDIA GeForce RTX 3060\n"
    facts = read_dump(text, "paste").facts
    assert facts == {
        "driver/version": "530.41.03", "gpus/index-0/name": "NVIDIA GeForce RTX 3070 Ti", "gpus/index-1/name": "NVIDIA GeForce RTX 3060"}
