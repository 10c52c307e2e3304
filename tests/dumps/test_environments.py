"""Environments of conda, pixi and poetry: exports are what is installed, files that somebody wrote are not."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown, is_unknown

HEADING = "# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\n# platform: linux-64\n"
EXPORT = HEADING + "_libgcc_mutex=0.1=main\nnumpy=1.26.4=py310h5f9d8c6_0\npytorch=2.3.0=py3.10_cuda12.1_cudnn8.9.2_0\nvllm=0.5.1=pypi_0\n"
YAML = """name: serve
channels:
  - pytorch
  - conda-forge
dependencies:
  - _libgcc_mutex=0.1=main
  - conda-forge::numpy=1.26.4=py310h5f9d8c6_0
  - python=3.10.14=h955ad1f_1
  - pip:
      - torch==2.3.0+cu121
      - flash-attn @ git+https://git.example/flash@v2
      - "vllm[ray]==0.5.1"
prefix: /opt/conda/envs/serve
"""
WISHES = "name: serve\nchannels: [conda-forge]\ndependencies:\n  - python=3.10\n  - numpy>=1.26,<2\n  - pip\n  - pip:\n    - torch==2.7.0\n    - -r more.txt\n"
PIXI = """Package        Version      Build               Size       Kind   Source
_libgcc_mutex  0.1          conda_forge         2.5 KiB    conda  https://conda.anaconda.org/conda-forge/
pytorch        2.5.1        cuda126_py312_306   35.3 MiB   conda  https://conda.anaconda.org/conda-forge/
numpy          2.1.3        py312h58c1407_0     8 MiB      conda  numpy-2.1.3-py312h58c1407_0.conda
vllm           0.9.2                            1.2 GiB    pypi   vllm-0.9.2-cp38-abi3-manylinux1_x86_64.whl
"""
POETRY = """$ poetry show
accelerate               0.24.1      Accelerate
pywin32              (!) 306         Python for Window Extensions
torch                    2.1.0+cu121 Tensors and Dynamic neural networks in Pyt...
transformers             4.35.0 d1f4b3e State-of-the-art Machine Learning
"""


def versions(text):
    return {path.split("/")[1]: value for path, value in read_dump(text, "paste").facts.items() if path.endswith("/version") and path.startswith("packages/")}


def test_conda_list_export_is_no_list_of_variables():
    snapshot = read_dump(EXPORT, "paste")
    assert snapshot.source == "conda-list"
    assert versions(EXPORT) == {"_libgcc-mutex": "0.1", "numpy": "1.26.4", "pytorch": "2.3.0", "vllm": "0.5.1"}
    assert snapshot.facts["packages/numpy/conda_build"] == "py310h5f9d8c6_0"


def test_a_whole_export_knows_what_is_not_there_and_one_that_was_cut_does_not():
    assert read_dump(EXPORT, "paste").get("packages/sglang/version") == Known(None)
    assert isinstance(read_dump(EXPORT + "xgram", "paste").get("packages/sglang/version"), Unknown)
    assert isinstance(read_dump("$ conda list -e | grep -v sg\n" + EXPORT, "paste").get("packages/sglang/version"), Unknown)


def test_a_row_that_was_cut_in_its_version_is_unknown():
    assert is_unknown(versions(EXPORT.replace("pypi_0\n", "").removesuffix("1=") + "\n")["vllm"])


def test_variables_stay_variables():
    assert read_dump("NCCL_DEBUG=INFO\nNCCL_IB_HCA=mlx5_0=1\nCUDA_VISIBLE_DEVICES=0,1\nNCCL_SOCKET_IFNAME=eth0\n", "paste").source == "env"


def test_a_conda_environment_file_with_builds_is_what_is_installed():
    snapshot = read_dump(YAML, "paste")
    assert snapshot.source == "conda-env-export"
    assert versions(YAML) == {"_libgcc-mutex": "0.1", "numpy": "1.26.4", "python": "3.10.14", "torch": "2.3.0+cu121", "vllm": "0.5.1"}
    assert (snapshot.facts["conda/environment"], snapshot.facts["packages/numpy/channel"]) == ("/opt/conda/envs/serve", "conda-forge")


def test_an_environment_file_to_its_prefix_knows_what_is_not_there():
    assert read_dump(YAML, "paste").get("packages/sglang/version") == Known(None)
    assert isinstance(read_dump(YAML.partition("prefix")[0], "paste").get("packages/sglang/version"), Unknown)


def test_an_export_without_builds_is_read_too():
    text = YAML.replace("=main", "").replace("=py310h5f9d8c6_0", "").replace("=h955ad1f_1", "")
    assert versions(text)["python"] == "3.10.14"


def test_a_row_without_a_build_among_those_that_have_one_may_be_cut():
    assert is_unknown(versions(YAML.partition("=h955ad1f_1")[0] + "\n")["python"])


def test_what_somebody_asked_for_is_no_proof_of_what_is_installed():
    told = versions(WISHES)
    assert {name: value["unknown"] for name, value in told.items()} == dict.fromkeys(("python", "numpy", "pip", "torch"), "not_recorded")
    assert "numpy>=1.26,<2" in told["numpy"]["reason"]


@pytest.mark.parametrize("mess", [
    lambda text: "".join(f"> {line}\n" for line in text.split("\n")), lambda text: text.replace("\n", "\r\n"), lambda text: f"```yaml\n{text}```\n",
    lambda text: "(base) user@host:~/x$ cat environment.yml\n" + text, lambda text: "".join(f"    {line}\n" for line in text.split("\n")),
])
def test_no_mess_of_a_paste_changes_an_export(mess):
    assert versions(mess(YAML)) == versions(YAML)


def test_pixi_list_tells_versions_channels_and_builds():
    snapshot = read_dump(PIXI, "paste")
    assert snapshot.source == "pixi-list"
    assert versions(PIXI) == {"_libgcc-mutex": "0.1", "pytorch": "2.5.1", "numpy": "2.1.3", "vllm": "0.9.2"}
    assert [snapshot.facts.get(f"packages/{name}/channel") for name in ("pytorch", "numpy", "vllm")] == ["conda-forge", None, "pypi"]
    assert "packages/vllm/conda_build" not in snapshot.facts


def test_pixi_list_under_its_heading_is_whole_and_a_part_of_it_is_not():
    assert read_dump(PIXI, "paste").get("packages/sglang/version") == Known(None)
    for part in (PIXI.partition("\n")[2], "$ pixi list | grep -v sg\n" + PIXI, PIXI.removesuffix("\n")):
        assert isinstance(read_dump(part, "paste").get("packages/sglang/version"), Unknown)


def test_poetry_show_tells_versions_and_what_is_not_installed():
    snapshot = read_dump(POETRY, "paste")
    assert snapshot.source == "poetry-show"
    assert versions(POETRY) == {"accelerate": "0.24.1", "pywin32": None, "torch": "2.1.0+cu121", "transformers": "4.35.0"}
    assert snapshot.facts["packages/transformers/locked_commit"] == "d1f4b3e"


def test_poetry_show_says_that_its_versions_are_the_lock_s_and_nothing_of_what_it_does_not_list():
    snapshot = read_dump(POETRY, "paste")
    assert "lock file" in snapshot.probes["poetry-show"].notes[0]
    assert isinstance(snapshot.get("packages/sglang/version"), Unknown)


def test_the_rows_of_a_tree_are_read_without_its_branches():
    tree = "$ poetry show --tree\ntorch 2.1.0 Tensors and Dynamic neural networks\n├── filelock *\n└── triton 2.1.0\nvllm 0.2.1 A serving engine\n"
    assert versions(tree) == {"torch": "2.1.0", "vllm": "0.2.1"}


def test_the_name_of_the_command_in_a_sentence_makes_no_list_of_the_next_lines():
    table = "Package Version\n------- -------\nnumpy   1.26.4\npip     24.0\n"
    assert versions("I ran poetry show and it looks fine.\n\n" + table) == {"numpy": "1.26.4", "pip": "24.0"}


COLLECTED = """Collecting environment information...
PyTorch version: 2.4.0+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] nvidia-ml-py==12.555.43
[pip3] pyzmq==26.2.0
[pip3] torch==2.4.0
[conda] Could not collect
ROCM Version: Could not collect
Neuron SDK Version: N/A
vLLM Version: 0.6.0
"""


@pytest.mark.parametrize(("name", "is_told"), [
    ("pynvml", True), ("torchao", True), ("nvidia-nccl-cu12", True),  # of a word that a row shows, or that came together with one
    ("triton", False), ("flashinfer-python", False), ("openai", False),
])
def test_of_the_words_that_collect_env_lists_by_all_that_is_there_is_listed(name, is_told):
    found = read_dump(COLLECTED, "paste").get(f"packages/{name}/version")
    assert (found == Known(None)) == is_told
    assert is_told or isinstance(found, Unknown)


@pytest.mark.parametrize("text", [COLLECTED.partition("[conda]")[0], COLLECTED.replace("[pip3] pyzmq", "...\n[pip3] pyzmq")])
def test_a_collect_env_that_ends_in_its_rows_or_leaves_some_out_may_have_been_cut(text):
    assert isinstance(read_dump(text, "paste").get("packages/torchao/version"), Unknown)
