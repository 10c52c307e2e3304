"""Single lines that tell one thing wherever they stand: uname's, a kernel's release under its label, the banner of an interactive Python, a one-liner."""

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump

UNAME = "Linux gpu-a 6.3.5-arch1-1 #1 SMP PREEMPT_DYNAMIC Tue, 30 May 2023 13:44:01 +0000 x86_64 GNU/Linux"


def facts(text):
    return read_dump(text, "paste").facts


@pytest.mark.parametrize(("text", "release"), [
    (f"uname -a\n\n```\n{UNAME}\n```\n", "6.3.5-arch1-1"), (f"{UNAME}\n", "6.3.5-arch1-1"),
    ("Linux version 5.15.0-91-generic (buildd@host) (gcc 11.4.0) #101-Ubuntu SMP\n", "5.15.0-91-generic"),
    ("KERNEL : 3.10.0-1127.19.1.el7.x86_64\n", "3.10.0-1127.19.1.el7.x86_64"),
])
def test_a_kernel_names_its_release_and_no_system(text, release):
    assert facts(text) == {"kernel/release": release}


@pytest.mark.parametrize("text", ["Linux gpu-a 6.3.5-arch1-1 #1 SMP PREEMPT", "Kernel: 5.15.0-9", "Kernel: 5.15\n", "Linux 5.15 is what we use.\n"])
def test_a_piece_of_such_a_line_tells_nothing(text):
    with pytest.raises(NoDump):
        read_dump(text, "paste")


@pytest.mark.parametrize("line", [
    "Python 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] on linux", "Python 3.10.12 | packaged by conda-forge | (main, May 1 2024) [GCC 12.3.0] on linux",
    "Python: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 1",
])
def test_the_banner_of_an_interactive_python_tells_its_version(line):
    assert facts(f"```\nINFO: hello\n{line}\n```\n") == {"python/version": "3.10.12"}


def test_a_one_liner_without_a_prompt_is_read_by_its_own_words():
    code = "import torch; print(f'Torch version: {torch.__version__}'); print(f'CUDA version: {torch.version.cuda}'); print('ok:', torch.cuda.is_available())"
    told = facts(f'I ran:\n\npython.exe -c "{code}"\nTorch version: 2.11.0+cu128\nCUDA version: 12.8\nok: True\n\nRight?\n')
    assert told == {"torch/version": "2.11.0+cu128", "torch/cuda": "12.8", "torch/cuda_available": True}


@pytest.mark.parametrize("code", ["print(f'')", "print(f'{a}{b}')", "print('', '')", "print(f'{x:>3}|{y}')"])
def test_a_print_whose_parts_cannot_be_told_apart_is_one_text(code):
    assert not [path for path in facts(f'$ python -c "{code}"\nab cd\n$ true\n') if not path.startswith("transcript/")]


@pytest.mark.parametrize(("kind", "flavour"), [("Open Kernel Module for x86_64", "open"), ("x86_64 Kernel Module", "proprietary")])
def test_the_line_of_the_drivers_module_alone_is_the_driver(kind, flavour):
    text = f"It yields\n\n```\nNVRM version: NVIDIA UNIX {kind}  565.57.01  Release Build  (a@b)  Thu Oct 10\nGCC version:  gcc version 13.3.0\n```\n"
    facts = read_dump(text, "x").facts
    assert [facts[f"driver/{key}"] for key in ("version", "module/version", "module/flavour")] == ["565.57.01", "565.57.01", flavour]
