"""Commands that a shell session runs elsewhere, and what programs, lists of packages and settings files tell when they are cut to what matters."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown

LIMITS = "max locked memory           (kbytes, -l) 8192\nopen files                          (-n) 131072\n"


def get(path, *shown):
    return read_dump("".join(f"$ {command}\n{output}\n" for command, output in (*shown, ("uname -r", "6.8.0-60-generic"))), "paste").get(path)


@pytest.mark.parametrize("command", [
    "ulimit -a", "bash -c 'ulimit -a'", "srun --jobid 418820 --overlap -N1 bash -c 'ulimit -a'", "ssh -p 22 gpu-3 'ulimit -a'",
    "kubectl -n llm exec pod-1 -- bash -lc 'ulimit -a'", "docker exec -it -u 0 server ulimit -a"])
def test_what_is_run_elsewhere_is_read_as_if_it_was_typed(command):
    assert get("limits/locked_memory/soft_kib", (command, LIMITS)) == get("limits/locked_memory/soft_kib", ("ulimit -a", LIMITS))
    assert get("limits/open_files/soft", (command, LIMITS)) == Known(131072)


def test_a_pipe_behind_belongs_to_what_is_run():
    listed = ("ssh gpu-3 \"dpkg-query -W -f '${Package} ${Version}\\n'\" | sort", "libc6 2.39-0ubuntu8.7")
    assert get("os_packages/libc6/version", listed) == Known("2.39-0ubuntu8.7")


@pytest.mark.parametrize(("command", "row", "version"), [
    ("dpkg -l | awk '/^ii/{print $2,$3}'", "libze1 1.28.2-2", "1.28.2-2"),
    ("apt list --installed 2>/dev/null | grep libze | cut -d' ' -f1,2", "libze1/resolute,now 1.28.2-2", "1.28.2-2"),
])
def test_a_list_of_packages_that_was_cut_to_names_and_versions(command, row, version):
    assert get("os_packages/libze1/version", (command, row)) == Known(version)


@pytest.mark.parametrize(("command", "output", "path", "version"), [
    ("ollama --version", "ollama version is 0.15.6", "programs/ollama/version", "0.15.6"),
    ("which -a ollama; ollama --version", "/usr/bin/ollama\nollama version is 0.7.0", "programs/ollama/version", "0.7.0"),
    ("llama-server --version", "version: 7287 (a2b0fe8d3)", "programs/llama-server/version", "7287 (a2b0fe8d3)"),
])
def test_a_program_tells_its_version(command, output, path, version):
    assert get(path, (command, output)) == Known(version)


def test_a_path_is_there_or_is_not():
    assert get("files/%2Fopt%2Fx/exists", ("ls -lR /opt/x | awk '{print $9}'", "a.so\nb.so")) == Known(value=True)
    assert get("files/%2Fopt%2Fx/exists", ("ls -l /opt/x", "ls: cannot access '/opt/x': No such file or directory")) == Known(value=False)
    assert isinstance(get("files/%2Fopt%2Fx/exists", ("ls -l /opt/*", "a.so")), Unknown)


def test_settings_go_by_the_collectors_paths():
    assert get("limits/sysctl/kernel.numa_balancing", ("sysctl -a 2>/dev/null | grep numa", "kernel.numa_balancing = 1")) == Known(1)
    daemon = ("cat /etc/docker/daemon.json", '{\n  "exec-opts": ["native.cgroupdriver=cgroupfs"]\n}')
    assert get("container_runtime/docker/exec-opts", daemon) == Known(["native.cgroupdriver=cgroupfs"])
    assert get("container_runtime/docker/data-root", daemon) == Known(None)


def test_a_shown_file_is_told_whole_where_the_next_prompt_stands_below():
    script = ("cat serve.sbatch", "#!/bin/bash\nexport OMP_NUM_THREADS=1\nsrun serve")
    assert get("transcript/cat serve.sbatch/export TRITON_CACHE_DIR", script) == Known(None)
    cut = read_dump("$ cat serve.sbatch\nexport OMP_NUM_THREADS=1\n", "paste")
    assert isinstance(cut.get("transcript/cat serve.sbatch/export TRITON_CACHE_DIR"), Unknown)
