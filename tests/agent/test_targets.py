from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from driftwatch.agent.collectors import targets
from driftwatch.agent.interpreters import site_packages, source_tree
from driftwatch.agent.real import RealRoot
from tests.agent.serving_lab import end_server, host_of, process, record, start_server

VENV = {"/opt/venv/pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.0\n", "/opt/venv/lib/python3.12/site-packages/x.py": ""}
LINKS = {"/opt/venv/bin/python3": "/usr/bin/python3.12", "/opt/venv/bin/python": "python3"}
LAUNCH = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "/m")


def told(host):
    return list(targets.collect(host))[-1][1]


def test_the_interpreter_of_a_running_server_is_found_with_its_virtual_environment(tmp_path):
    files = {**VENV, **process(40, LAUNCH, {"HOME": "/root"})}
    root = record(tmp_path, files, {**LINKS, "/proc/40/exe": "/usr/bin/python3.12"})
    assert told(host_of(root)) == [
        {
            "python": "/opt/venv/bin/python3",
            "site_packages": ["/opt/venv/lib/python3.12/site-packages"],
            "source": None,
            "because": "interpreter of sglang launch process 40",
        }
    ]


def test_given_interpreters_come_first_and_all_of_them_stand_there(tmp_path):
    files = {**VENV, **process(40, LAUNCH), "/a/lib/python3.11/site-packages/x": "", "/b/lib/python3.11/site-packages/x": ""}
    root = record(tmp_path, files, LINKS)
    found = told(host_of(root, pythons=("/b/bin/python3", "/a/bin/python3")))
    assert [one["python"] for one in found] == ["/b/bin/python3", "/a/bin/python3", "/opt/venv/bin/python3"]
    assert found[0]["because"] == "given with --python"


def test_an_interpreter_that_is_given_and_serves_is_one_target_with_what_the_server_adds(tmp_path):
    files = {**VENV, **process(40, LAUNCH, {"PYTHONPATH": "/src/python:/gone"}), "/src/python/sglang/__init__.py": ""}
    root = record(tmp_path, files, LINKS)
    found = told(host_of(root, pythons=("/opt/venv/bin/python",)))
    assert len(found) == 1
    assert found[0]["python"] == "/opt/venv/bin/python"
    assert found[0]["site_packages"] == ["/src/python", "/opt/venv/lib/python3.12/site-packages"]
    assert found[0]["source"] == "/src/python/sglang"
    assert found[0]["because"] == "given with --python; interpreter of sglang launch process 40"


def test_the_list_is_told_again_as_it_grows_so_that_a_hang_costs_only_the_rest(tmp_path):
    root = record(tmp_path, {**VENV, **process(40, LAUNCH)}, LINKS)
    lists = [value for _, value in targets.collect(host_of(root, pythons=("/x/bin/python3",)))]
    assert [len(one) for one in lists] == [1, 2]


def test_a_relative_interpreter_is_looked_up_on_the_path_of_its_own_process(tmp_path):
    argv = ("python3", *LAUNCH[1:])
    root = record(tmp_path, {**VENV, **process(40, argv, {"PATH": "/usr/local/bin:/opt/venv/bin:/usr/bin"}), "/usr/bin/python3.12": "ELF"}, LINKS)
    assert told(host_of(root))[0]["python"] == "/opt/venv/bin/python3"


def test_an_interpreter_relative_to_the_folder_of_its_process_is_found_there(tmp_path):
    argv = ("./venv/bin/python3", *LAUNCH[1:])
    root = record(tmp_path, {**VENV, **process(40, argv)}, {**LINKS, "/proc/40/cwd": "/opt"})
    assert told(host_of(root))[0]["python"] == "/opt/venv/bin/python3"


def test_the_interpreter_of_leftovers_is_told_by_the_libraries_that_they_map(tmp_path):
    maps = "7f00-7f01 r-xp 00000000 08:02 1    /opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so\n"
    files = {**VENV, **process(41, ("sglang::scheduler_TP0",), b"\0" * 99), "/proc/41/maps": maps}
    found = told(host_of(record(tmp_path, files, {**LINKS, "/proc/41/exe": "/usr/bin/python3.12"})))
    assert found[0]["python"] == "/opt/venv/bin/python3"
    assert "left over from a sglang server" in found[0]["because"]


def test_what_a_recording_names_stands_for_what_was_given(tmp_path):
    root = record(tmp_path, VENV, LINKS, interpreter="/opt/venv/bin/python3", site_packages="/opt/venv/lib/python3.12/site-packages")
    assert told(host_of(root))[0]["because"] == "named by the recording"


def test_where_no_server_runs_the_first_real_python3_on_the_path_is_the_target_and_no_shim(tmp_path):
    files = {
        "/shims/python3": "#!/bin/sh\nexec pyenv\n",
        "/usr/bin/python3.11": "\x7fELF",
        "/usr/lib/python3/dist-packages/x": "",
        "/usr/local/lib/python3.11/dist-packages/x": "",
    }
    root = record(tmp_path, {**files, "/proc/stat": ""}, {"/usr/bin/python3": "python3.11"}, environ={"PATH": "/shims:/usr/bin"})
    found = told(host_of(root))
    assert [one["python"] for one in found] == ["/usr/bin/python3"]
    assert found[0]["site_packages"] == ["/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"]


def test_a_source_that_is_given_holds_for_all(tmp_path):
    root = record(tmp_path, {**VENV, **process(40, LAUNCH)}, LINKS)
    assert told(host_of(root, source="/src/sglang/"))[0]["source"] == "/src/sglang"


@pytest.mark.parametrize(
    "files",
    [
        {"/s/sglang-0.5.9.dist-info/direct_url.json": '{"dir_info": {"editable": true}, "url": "file:///co%20de/python"}', "/co de/python/sglang/a.py": ""},
        {"/s/__editable__.sglang-0.5.9.pth": "/co de/python\n", "/co de/python/sglang/a.py": ""},
        {"/s/__editable___sglang_0_5_9_finder.py": "MAPPING: dict[str, str] = {'sglang': '/co de/python/sglang'}\n", "/co de/python/sglang/a.py": ""},
    ],
)
def test_the_source_of_an_editable_install_is_found(tmp_path, files):
    assert source_tree(host_of(record(tmp_path, files)), ("/s",)) == "/co de/python/sglang"


def test_the_source_of_an_ordinary_install_lies_among_the_packages(tmp_path):
    assert source_tree(host_of(record(tmp_path, {"/s/sglang/a.py": "", "/s/sglang-0.5.9.dist-info/METADATA": ""})), ("/s",)) == "/s/sglang"


def test_what_a_folder_that_is_installed_but_not_editable_came_from_is_no_source(tmp_path):
    files = {
        "/s/sglang-0.5.9.dist-info/direct_url.json": '{"dir_info": {}, "url": "file:///code/python"}',
        "/s/sglang/a.py": "",
        "/code/python/sglang/a.py": "",
    }
    assert source_tree(host_of(record(tmp_path, files)), ("/s",)) == "/s/sglang"


def test_the_package_folders_of_a_real_virtual_environment_are_those_it_looks_in(tmp_path):
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = str(tmp_path / "env/bin/python")
    code = "import sys; print('\\n'.join(path for path in sys.path if path.endswith('-packages')))"
    asked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert list(site_packages(host_of(RealRoot()), python)) == asked


def test_the_package_folders_of_a_real_interpreter_without_environment_are_those_it_looks_in():
    python = str(Path(getattr(sys, "_base_executable", sys.executable)))
    code = "import sys; print('\\n'.join(path for path in sys.path if path.endswith('-packages')))"
    asked = subprocess.run([python, "-sc", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(asked) <= set(site_packages(host_of(RealRoot()), python))


def test_a_real_server_is_found_and_its_interpreter_is_never_run(tmp_path):
    pytest.importorskip("setproctitle", reason="the ranks retitle themselves with it")
    child = start_server(tmp_path, 31871, {})
    try:
        found = [one for one in told(host_of(RealRoot())) if str(child.pid) in one["because"]]
    finally:
        end_server(child)
    assert found[0]["python"] == sys.executable
    assert found[0]["source"] == str(tmp_path / "code/sglang")
