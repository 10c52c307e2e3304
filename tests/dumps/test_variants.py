"""However people put a paste into a thread, the same things are read in it, and nothing else."""

import random
import re

import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown
from tests.compare.test_aligned import CHECK_ENV, PIP_LIST

COLLECT_ENV = """Collecting environment information...
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4

OS: Ubuntu 22.04.5 LTS (x86_64)
Libc version: glibc-2.35

Python version: 3.12.9 (main, Feb  5 2025, 08:49:00) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.15.0-134-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.4.131
GPU models and configuration:\x20
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version: 550.54.15

Versions of relevant libraries:
[pip3] numpy==2.2.5
[pip3] torch==2.6.0
"""
SMI = """+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|=========================================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:19:00.0 Off |                    0 |
| N/A   30C    P0              70W / 700W |      0MiB / 81559MiB |      0%      Default |
+-----------------------------------------+----------------------+----------------------+
"""
PASTES = {"check-env": CHECK_ENV, "pip-list": PIP_LIST.partition("\n")[2], "collect-env": COLLECT_ENV, "smi": SMI}


def each(change):
    return lambda text: "".join(change(line) + "\n" for line in text.splitlines())


MANNERS = {
    "quoted": each(lambda line: "> " + line), "quoted without a blank": each(lambda line: ">" + line), "quoted twice": each(lambda line: "> > " + line),
    "indented": each(lambda line: "    " + line), "times of docker": each(lambda line: "2025-06-01T10:00:00.123456789Z " + line),
    "a clock": each(lambda line: "10:00:00 " + line), "a date of the United States": each(lambda line: "06/01/2025 10:00:00 AM " + line),
    "a pod's name": each(lambda line: "[pod/server-0/server] " + line), "a service of compose": each(lambda line: "server-1  | " + line),
    "syslog": each(lambda line: "Jun 01 10:00:00 gpu-a server[1234]: " + line), "a rank": each(lambda line: "[rank0]: " + line),
    "a worker of vLLM": each(lambda line: "(EngineCore_0 pid=1234) " + line), "a logger of vLLM": each(lambda line: "INFO 06-01 10:00:00 [env.py:12] " + line),
    "numbers": lambda text: "".join(f"{at:4d}  {line}\n" for at, line in enumerate(text.splitlines(), 1)),
    "numbers and colons": lambda text: "".join(f"{at}: {line}\n" for at, line in enumerate(text.splitlines(), 1)),
    "times, then quoted": each(lambda line: "2025-06-01T10:00:00Z > " + line), "bold": each(lambda line: f"**{line}**" if line.strip() else line),
    "backticks": each(lambda line: f"`{line}`" if line.strip() else line), "line breaks of HTML": each(lambda line: line + "<br>"),
    "every other line empty": each(lambda line: line + "\n"), "Windows line ends": lambda text: text.replace("\n", "\r\n"),
    "hard blanks": lambda text: text.replace(" ", "\xa0"), "colours": each(lambda line: f"\x1b[0;32m{line}\x1b[0m"),
    "cut at 80 columns": lambda text: "".join(re.sub(r"(.{80})(?=.)", r"\1\n", line) + "\n" for line in text.splitlines()),
    "an issue form": lambda text: (
        f"### Your current environment\n\n<details>\n<summary>env</summary>\n\n```text\n{text}\n```\n\n</details>\n\n### Describe the bug\n\nNo.\n"),
}
READ = {name: read_dump(text, name).facts for name, text in PASTES.items()}


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("paste", PASTES)
def test_what_was_put_around_the_lines_changes_nothing(paste, manner):
    assert read_dump(MANNERS[manner](PASTES[paste]), paste).facts == READ[paste]


@pytest.mark.parametrize("paste", PASTES)
def test_a_paste_that_was_cut_anywhere_tells_no_piece_of_a_value(paste):
    draw = random.Random(7)
    for end in draw.sample(range(20, len(PASTES[paste])), 60):
        try:
            found = read_dump(PASTES[paste][:end], paste).facts
        except NoDump:
            continue
        assert {path: value for path, value in found.items() if not is_unknown(value) and READ[paste].get(path) != value} == {}


ARGUMENTS = "server_args=ServerArgs(model_path='/models/m', chunked_prefill_size=8192, enable_priority_scheduling=False, page_size=1, device='cuda')"


@pytest.mark.parametrize("before", ["fill_size=", "92, enable", "_scheduling=", "=False", ", page_size"])
def test_a_server_s_arguments_that_were_wrapped_within_a_name_or_a_number_are_read_whole(before):
    at = len("llm-1  | [2025-11-01 16:50:30] ") + ARGUMENTS.index(before)
    line = f"llm-1  | [2025-11-01 16:50:30] {ARGUMENTS}"
    wrapped = f"```\n{line[:at]}\n{line[at:]}\n[2025-11-01 16:50:31] page_size=7\n```\n"
    assert read_dump(wrapped, "paste").facts == read_dump(f"```\n{line}\n```\n", "paste").facts


def test_what_is_wrapped_within_a_text_is_not_joined_since_a_blank_may_be_lost():
    facts = read_dump("[2025-11-01 16:50:30] server_args=ServerArgs(port=8000, chat_template='a\nb', page_size=1)\n" + "-" * 90 + "\n", "paste").facts
    assert facts.get("servers/sglang/args/chat_template") != "ab"


def test_signs_written_as_numbers_are_signs():
    rows = ("&#124; NVIDIA-SMI 470.182.03   Driver Version: 470.182.03   CUDA Version: 11.4     &#124;",
            "&#124;   0  Tesla&#160;V100         Off  &#124; 00000000:00:04.0 Off &#124;                    0 &#124;")
    assert read_dump("\n".join(rows) + "\n", "paste").facts["driver/version"] == "470.182.03"


def test_colours_that_became_tags_and_entities_are_taken_off():
    text = (
        '<pre><font color="#26A269"><b>a@b</b></font>:<font color="#12488B"><b>~</b></font>$ true\n'
        '<font color="#2AA1B3"><b>(APIServer pid=1)</b></font> INFO 09-01 21:25:23 [api_server.py:1805] vLLM API server version 0.10.1.1\n'
        '<font color="#2AA1B3"><b>(APIServer pid=1)</b></font> INFO 09-01 21:25:23 [utils.py:326] non-default args: '
        "{&apos;model&apos;: &apos;/m/Q&apos;, &apos;tensor_parallel_size&apos;: 2}\n")
    assert read_dump(text, "x").facts["servers/vllm/args/model"] == "/m/Q"


def test_a_loggers_prefix_with_a_date_without_year_is_taken_off():
    rows = ("Python: 3.10.9 (main) [GCC 11]", "CUDA available: True", "GPU 0: NVIDIA X", "NVCC: Cuda compilation tools, release 11.8", "PyTorch: 2.0.0+cu118")
    text = "".join(f"07/10 16:07:40 - mmengine - INFO - {row}\n" for row in ("", "sys.platform: linux", *rows))
    assert read_dump(text, "x").facts["torch/version"] == "2.0.0+cu118"


@pytest.mark.parametrize("escape", ["", "^["])
def test_colours_that_lost_their_escape_character_are_taken_off(escape):
    rows = "".join(f"{escape}[1;36m{name}{escape}[0m==1.0\n" for name in ("numpy", "torch", "vllm"))
    assert read_dump(rows, "paste").facts["packages/vllm/version"] == "1.0"
