"""Lists of packages: pip, uv, conda. A whole list proves absence; a list that was cut, filtered or is of some names only never does."""

import json

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown

TABLE = "Package    Version\n---------- -------\nnumpy      1.26.4\npip        24.0\ntorch      2.3.0\ntriton     2.3.0\nvllm       0.5.1\n"
FREEZE = "".join(f"package-{letter}==1.0\n" for letter in "abcdefghijklmnopqrstu")


def versions(text):
    return {path.split("/")[1]: value for path, value in read_dump(text, "paste").facts.items() if path.endswith("/version") and path.startswith("packages/")}


def test_a_whole_table_knows_what_is_not_there():
    assert read_dump(TABLE, "paste").get("packages/sglang/version") == Known(None)


def test_a_table_that_was_cut_knows_nothing_of_what_is_not_there():
    assert isinstance(read_dump(TABLE.rstrip("\n"), "paste").get("packages/sglang/version"), Unknown)


def test_a_table_with_a_gap_of_dots_knows_nothing_of_what_is_not_there():
    assert isinstance(read_dump(TABLE.replace("torch ", "...\ntorch "), "paste").get("packages/sglang/version"), Unknown)


def test_a_filtered_table_knows_nothing_of_what_is_not_there():
    assert isinstance(read_dump("$ pip list | grep -v sg\n" + TABLE, "paste").get("packages/sglang/version"), Unknown)


@pytest.mark.parametrize("end", ["0", "0.5", "0.5.1"])
def test_a_version_at_a_cut_end_may_go_on_and_is_unknown(end):
    assert isinstance(read_dump(TABLE.removesuffix("0.5.1\n") + end, "paste").get("packages/vllm/version"), Unknown)


def test_quoted_rows_of_a_reply_are_read():
    assert versions("".join(f"> {line}\n" for line in TABLE.split("\n")))["torch"] == "2.3.0"


def test_rows_without_their_heading_are_read():
    assert versions("torch      2.3.0\ntorchaudio 2.3.0\ntriton     2.3.0\nvllm       0.5.1\n") == {
        "torch": "2.3.0", "torchaudio": "2.3.0", "triton": "2.3.0", "vllm": "0.5.1"}


def test_an_editable_row_tells_its_folder():
    table = "Package Version Editable project location\n------- ------- -------------------------\nnumpy   1.26.4\nsglang  0.5.5   /srv/sglang/python\n"
    assert read_dump(table, "paste").facts["packages/sglang/location"] == "/srv/sglang/python"


def test_requirements_in_a_sentence_are_no_installed_packages():
    assert "torch" not in versions("Please pip install torch==2.7.0 and numpy==2.0 first.\n" + TABLE.replace("torch      2.3.0\n", ""))


def test_a_long_sorted_freeze_knows_what_is_not_there_but_says_nothing_of_pip():
    snapshot = read_dump(FREEZE, "paste")
    assert snapshot.get("packages/sglang/version") == Known(None)
    assert isinstance(snapshot.get("packages/pip/version"), Unknown)


def test_a_commit_stands_where_freeze_prints_no_version():
    commit = "0123456789abcdef0123456789abcdef01234567"
    facts = read_dump(f"-e git+https://git.example/sglang.git@{commit}#egg=sglang&subdirectory=python\nnumpy==2.0\ntorch==2.9.1\n", "paste").facts
    assert facts["packages/sglang/direct_url"]["commit"] == commit
    assert facts["packages/sglang/version"]["unknown"] == "not_recorded"


def test_a_wheel_s_name_tells_its_version():
    text = "a==1.0\nb==1.0\ntorch @ https://host.example/torch-2.3.0%2Bcu121-cp310-cp310-linux_x86_64.whl#sha256=00\n"
    assert versions(text)["torch"] == "2.3.0+cu121"


def test_an_editable_project_without_a_repository_has_its_version_in_the_comment():
    text = "# Editable install with no version control (vllm==0.5.1)\n-e /srv/vllm\nnumpy==1.26.4\n"
    assert versions(text) == {"vllm": "0.5.1", "numpy": "1.26.4"}


def test_pip_list_as_json_is_read_up_to_the_cut():
    text = json.dumps([{"name": "torch", "version": "2.6.0"}, {"name": "sglang", "version": "0.4.5"}, {"name": "numpy", "version": "2.0.1"}])
    assert set(versions(text)) == {"torch", "sglang", "numpy"}
    assert set(versions(text[:60])) == {"torch"}


def test_pip_inspect_tells_of_packages_and_interpreter():
    entry = {"metadata": {"name": "Torch", "version": "2.9.1+cu128", "requires_dist": ["triton==3.5.1"]}, "installer": "pip"}
    told = {"version": "1", "pip_version": "25.0", "installed": [entry], "environment": {"python_full_version": "3.12.3"}}
    facts = read_dump(json.dumps(told), "paste").facts
    assert (facts["packages/torch/version"], facts["packages/torch/requires"], facts["python/version"]) == ("2.9.1+cu128", ["triton==3.5.1"], "3.12.3")


def test_conda_lists_are_one_in_all_three_forms():
    head = "# packages in environment at /opt/env:\n#\n# Name   Version   Build  Channel\n"
    text = head + "_openmp_mutex  5.1  1_gnu\nnumpy  1.26.4  py310h5f9d8c6_0  conda-forge\n"
    explicit = "@EXPLICIT\n" + "".join(
        f"https://host.example/conda-forge/linux-64/{one}.conda\n" for one in ("_openmp_mutex-5.1-1_gnu", "numpy-1.26.4-py310h5f9d8c6_0"))
    rows = [("_openmp_mutex", "5.1", "1_gnu"), ("numpy", "1.26.4", "py310h5f9d8c6_0")]
    entries = [{"base_url": "https://host.example", "build_string": build, "channel": "x", "name": name, "version": version} for name, version, build in rows]
    as_json = json.dumps(entries, indent=1)
    assert versions(text) == versions(explicit) == versions(as_json) == {"_openmp-mutex": "5.1", "numpy": "1.26.4"}


def test_two_lists_that_contradict_each_other_leave_the_thing_open():
    told = versions(TABLE + "\nafter the upgrade:\n\n" + TABLE.replace("0.5.1", "0.6.0"))
    assert told["vllm"]["unknown"] == "error"
    assert told["torch"] == "2.3.0"


MICROMAMBA = """> micromamba list -n test
List of packages in environment: "/opt/micromamba/envs/test"

  Name                  Version     Build                           Channel
\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500
  _openmp_mutex         4.5         7_kmp_llvm                      conda-forge
  bzip2                 1.0.8       hda65f42_9                      conda-forge
  cuda-crt-tools        12.9.86     ha770c72_2                      conda-forge
  cuda-nvvm-tools       12.9.86     h
```
"""
BEFORE = """
\u276f conda list | grep pytorch
cpuonly                   2.0                           0    pytorch
pytorch                   1.11.0              py3.8_cpu_0    pytorch
torchaudio                0.11.0                 py38_cpu    pytorch
```
"""


def test_a_list_of_micromamba_has_its_first_row_and_not_the_piece_of_the_last_build():
    snapshot = read_dump("```\n" + MICROMAMBA, "paste")
    facts = snapshot.facts
    assert [facts[f"packages/{name}/version"] for name in ("_openmp-mutex", "bzip2", "cuda-nvvm-tools")] == ["4.5", "1.0.8", "12.9.86"]
    assert "packages/cuda-nvvm-tools/conda_build" not in facts
    assert isinstance(snapshot.get("packages/zlib/version"), Unknown)
    assert facts["conda/environment"] == "/opt/micromamba/envs/test"


def test_the_title_of_a_list_alone_proves_no_absence():
    text = "# packages in environment at /opt/conda:\n\nsglang 0.4.6\ntorch 2.6.0\npython 3.10\n"
    assert isinstance(read_dump(text, "paste").get("packages/numpy/version"), Unknown)


def test_filtered_rows_of_conda_are_read_below_their_command_and_prove_no_absence():
    snapshot = read_dump("```" + BEFORE, "paste")
    assert (snapshot.facts["packages/pytorch/conda_build"], snapshot.facts["packages/cpuonly/version"]) == ("py3.8_cpu_0", "2.0")
    assert isinstance(snapshot.get("packages/numpy/version"), Unknown)


def test_two_lists_of_one_environment_that_contradict_each_other_leave_open_what_one_tells():
    after = BEFORE.replace("cpuonly                   2.0                           0    pytorch\n", "").replace("py3.8_cpu_0", "py3.8_cuda11.3_cudnn8.2.0_0")
    snapshot = read_dump("```" + BEFORE + "\n```" + after, "paste")
    assert isinstance(snapshot.get("packages/cpuonly/version"), Unknown)
    assert isinstance(snapshot.get("packages/pytorch/conda_build"), Unknown)
    assert snapshot.get("packages/pytorch/version") == Known("1.11.0")


@pytest.mark.parametrize("text", [
    "(sg) user1@ws:~$ uv pip freeze\nUsing Python 3.10.12 environment at: /home/user1/sg\nsgl-kernel==0.1.2\ntriton==3.3.1\nxgrammar==0.1.21\n",
    "$ uv pip list\nUsing Python 3.10.12 environment at: sg\nPackage    Version\n---------- -------\nsgl-kernel 0.1.2\ntriton     3.3.1\n",
    "=== System ===\nPlatform: Linux-5.15.0-139-generic-x86_64-with-glibc2.35\nPython Version: 3.10.12 (main, Feb  4 2025) [GCC 11.4.0]\n"
    "Python Executable: /opt/venv/bin/python\n\n=== Packages ===\n" + TABLE,
])
def test_the_python_that_a_list_names_above_itself_is_read(text):
    assert read_dump(text, "paste").facts["python/version"] == "3.10.12"


def test_pip_show_that_was_cut_in_a_version_tells_none():
    assert isinstance(read_dump("Name: torch\nVersion: 2.10.1", "paste").get("packages/torch/version"), Unknown)


@pytest.mark.parametrize("text", [TABLE + "zstd       1", "\n".join(FREEZE.split("\n")[:-1]) + "\nzstd==1"])
def test_a_short_version_right_above_a_closing_fence_may_be_cut_and_then_nothing_is_known_to_be_missing(text):
    told = read_dump(f"```\n{text}\n```\nThanks\n", "paste")
    assert isinstance(told.get("packages/zstd/version"), Unknown)
    assert isinstance(told.get("packages/sglang/version"), Unknown)


@pytest.mark.parametrize(("text", "path"), [
    ("sglang: 0.4.6\nsgl_kernel: 0.1.0\ntransformers: 4.", "packages/transformers/version"),
    ("PyTorch version: 2.6.0\nIs debug build: False\nCUDA used to build PyTorch: 12", "torch/cuda"),
])
def test_a_piece_of_a_version_that_was_put_into_a_fence_is_none(text, path):
    assert isinstance(read_dump(f"```\n{text}\n```\n", "paste").get(path), Unknown)


def test_a_whole_freeze_shows_every_url_there_is():
    rows = "".join(f"package-{number:02d}==1.{number}\n" for number in range(30))
    assert read_dump(f"$ pip freeze\n{rows}", "x").get("packages/package-03/direct_url") == Known(None)


def test_two_typed_lines_above_a_list_tell_the_system_and_the_python():
    facts = read_dump("OS: Ubuntu 22.04\nPython 3.10.12\n\nPackage Version\n------- -------\nnumpy   1.26.4\n", "paste").facts
    assert (facts["os/name"], facts["python/version"], facts["packages/numpy/version"]) == ("Ubuntu 22.04", "3.10.12", "1.26.4")


def test_uvs_own_line_above_a_table_names_the_python():
    facts = read_dump("```\nUsing Python 3.10.12 environment at: sg\nPackage Version\n------- -------\nnumpy   1.26.4\n```\n", "paste").facts
    assert (facts["python/version"], facts["packages/numpy/version"]) == ("3.10.12", "1.26.4")


def test_the_last_row_of_a_conda_list_may_have_lost_its_build():
    rows = "".join(f"lib{name}  1.{at}.0  h12ee557_{at}\n" for at, name in enumerate("abc"))
    snapshot = read_dump(rows + "libgomp  11.2.0", "paste")
    assert snapshot.get("packages/libgomp/version").value == "11.2.0"
    assert isinstance(read_dump(rows + "lcms2  2.12", "paste").get("packages/lcms2/version"), Unknown)


@pytest.mark.parametrize("text", [
    ("$ conda list\n# packages in environment at /opt/conda:\n"
     "numpy  1.26.4  py311_0  main\npython  3.11.9  h955ad1f_0  main\npytorch  2.3.1  py3.11_0  pytorch\n"),
    "@EXPLICIT\n" + "".join(f"https://repo.example/pkgs/main/linux-64/{row}.conda\n" for row in (
        "python-3.11.9-h95_0", "pytorch-2.3.1-py3_0", "pytorch-mutex-1.0-cuda")),
    "".join(f"    {number}\t{row}\n" for number, row in enumerate(
        ("numpy  1.26.4  py311_0", "python  3.11.9  h955ad1f_0", "pytorch  2.3.1  py3.11_0", "readline  8.2  h5eee18b_0"), start=41)),
])
def test_python_and_pytorch_of_a_conda_list_are_those_of_the_environment(text):
    told = read_dump(text, "paste").facts
    assert (told["python/version"], told["torch/version"]) == ("3.11.9", "2.3.1")


def test_what_python_says_of_itself_counts_before_its_row():
    rows = "$ conda list\npython  3.11.9  h955ad1f_0  main\nnumpy  1.26.4  py311_0  main\n"
    told = read_dump(f"Python 3.12.1 (main, Dec  8 2023) [GCC 11] on linux\n```\n{rows}```\n", "paste").facts
    assert told["python/version"] == "3.12.1"
