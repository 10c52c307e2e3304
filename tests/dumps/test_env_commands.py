"""Which variables an environment's listing tells whole: all, those that its grep looks for, or none."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown

ROWS = "CUDA_HOME=/usr/local/cuda\nNCCL_DEBUG=WARN\nPATH=/usr/bin:/bin\n"


def get(command, name, rows=ROWS):
    return read_dump(f"$ {command}\n{rows}", "paste").get(f"env/{name}")


@pytest.mark.parametrize("command", ["env", "env | sort", "printenv | sort", "kubectl exec deploy/server -- env | sort", "docker exec server env"])
def test_a_whole_list_proves_that_a_variable_is_not_set(command):
    assert get(command, "NCCL_P2P_LEVEL") == Known(None)
    assert isinstance(get(command, "NCCL_P2P_LEVEL", ROWS.rstrip("\n")), Unknown), "its last line may have been cut"


@pytest.mark.parametrize("command", ["env | head -3", "env | sort | tail", "env | grep -v NCCL", "env | cut -d= -f1", "env | sed -n 1,4p", "env | grep 'P.P'"])
def test_a_list_that_was_cut_in_another_way_proves_nothing(command):
    assert isinstance(get(command, "NCCL_P2P_LEVEL"), Unknown)


@pytest.mark.parametrize(("command", "absent", "open_"), [
    ("env | grep NCCL", "NCCL_P2P_LEVEL", "VLLM_PORT"),
    ("env | grep -E 'NCCL|CUDA' | sort", "CUDA_VISIBLE_DEVICES", "VLLM_PORT"),
    (r"env | grep '^CUDA\|^NCCL'", "NCCL_P2P_LEVEL", "TORCH_NCCL_BLOCKING_WAIT"),
    ("srun -N1 env | grep -E '^(NCCL|CUDA)' | sort", "NCCL_P2P_LEVEL", "TORCH_NCCL_BLOCKING_WAIT"),
    ("env | sort | grep -i nccl", "NCCL_P2P_LEVEL", "VLLM_PORT"),
])
def test_a_grep_proves_it_for_the_names_that_it_looks_for(command, absent, open_):
    assert get(command, absent) == Known(None)
    assert isinstance(get(command, open_), Unknown)


@pytest.mark.parametrize("file", ["serve.env", "/etc/environment", "deploy/.env"])
def test_a_file_of_variables_tells_them_and_no_absence(file):
    found = read_dump(f"$ cat {file}\n{ROWS}$ uname -r\n6.8.0-60-generic\n", "paste")
    assert found.get("env/NCCL_DEBUG") == Known("WARN")
    assert isinstance(found.get("env/NCCL_P2P_LEVEL"), Unknown)


def test_a_row_that_goes_on_behind_a_backslash_is_of_a_command_and_no_variable_of_a_list():
    told = get("env", "NCCL_DEBUG", "PATH=/bin\nNCCL_DEBUG=INFO \\\nCUDA_HOME=/usr/local/cuda\n")
    assert isinstance(told, Unknown)


def test_rows_of_a_log_that_writes_pairs_are_no_variables():
    rows = 'time=2024-08-06T12:29:23.809Z level=INFO msg="total blobs: 9"\n' * 4
    assert "env_left_out" not in read_dump(rows + "$ uname -r\n5.15.0-91-generic\n", "paste").facts


def test_a_value_that_begins_with_the_sign_is_kept_and_a_pinned_version_is_no_variable():
    assert get("env", "NCCL_IB_HCA", ROWS + "NCCL_IB_HCA==mlx5_1,mlx5_2\n") == Known("=mlx5_1,mlx5_2")
    assert "env/NUMPY" not in read_dump(f"$ env\n{ROWS}NUMPY==1.26.4\n", "paste").facts


@pytest.mark.parametrize(("typed", "value"), [
    ('(ml) PS C:\\work> $env:NCCL_DEBUG="INFO"', "INFO"), ("PS C:\\> $Env:NCCL_DEBUG = 'WARN';", "WARN"), ("$env:NCCL_DEBUG=TRACE", "TRACE"),
])
def test_a_variable_that_powershell_sets_is_read(typed, value):
    assert read_dump(f"I ran:\n{typed}\nand no more\n", "paste").get("env/NCCL_DEBUG") == Known(value)


def test_what_powershell_would_have_put_in_is_unknown():
    assert isinstance(read_dump('PS C:\\> $env:NCCL_DEBUG="$level"\nPS C:\\> $env:NCCL_P2P_LEVEL="SYS"\n', "paste").get("env/NCCL_DEBUG"), Unknown)


def test_the_variables_of_a_process_are_told_whole_for_the_names_that_a_grep_looks_for():
    command = "cat /proc/1/environ | tr '\\0' '\\n' | grep -E \"NCCL|PY(TORCH|THON)\" | sort"
    text = f"$ {command}\nNCCL_DEBUG=WARN\nNCCL_NVLS_ENABLE=0\nNCCL_CUMEM_ENABLE=0\n$ uname -r\n6.8.0\n"
    assert read_dump(text, "paste").get("env/PYTORCH_CUDA_ALLOC_CONF") == Known(None)
    assert isinstance(read_dump(text, "paste").get("env/OMP_NUM_THREADS"), Unknown)
