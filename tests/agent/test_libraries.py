"""Native libraries: all ranks of the servers taken together, mixtures and deleted files, and what lies where the next start would find it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal

import pytest

from driftwatch.agent.collectors import libraries
from driftwatch.agent.host import Target
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.installs import host_for, install
from tests.agent.serving_lab import host_of, process, record, start_server
from tests.lab.shared_objects import library

SITE = "/opt/venv/lib/python3.12/site-packages"
LAUNCH = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "/m", "--port", "30000")
CUDNN = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
GRAPH = f"{SITE}/nvidia/cudnn/lib/libcudnn_graph.so.9"
SYSTEM = "/usr/lib/x86_64-linux-gnu/libcudnn_engines_tensor_ir.so.9.23.0"
NCCL = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"
LINES = "nvidia/cudnn/lib/libcudnn.so.9,sha256=x,1\nnvidia/cudnn/lib/libcudnn_graph.so.9,sha256=x,1\n"
RECORD = {f"{SITE}/nvidia_cudnn_cu13-9.19.0.56.dist-info/RECORD": LINES,
          f"{SITE}/nvidia_nccl_cu13-2.28.9.dist-info/RECORD": "nvidia/nccl/lib/libnccl.so.2,sha256=x,1\n"}


def maps(*paths):
    return "".join(f"7f{number:02}00-7f{number:02}01 r-xp 00000000 08:02 1    {path}\n" for number, path in enumerate(paths))


def serving(first, second, variables=None):
    """Return the files of a server whose two ranks map these files."""
    return {**RECORD, **process(40, LAUNCH, variables or {}), **process(42, ("sglang::scheduler_TP0",), variables or {}, ppid=40),
            **process(43, ("sglang::scheduler_TP1",), b"\0" * 400, ppid=40), "/proc/42/maps": maps(*first), "/proc/43/maps": maps(*second)}


def recorded_host(folder, files, **described):
    host = host_of(record(folder, files, **described))
    host.targets = (Target("/opt/venv/bin/python3", (SITE,), None, ""),)
    return host


def mapped(folder, files, **described):
    return dict(libraries.collect(recorded_host(folder, files, **described)))


def native(folder, files, **described):
    return dict(libraries.collect_native(recorded_host(folder, files, **described)))


@pytest.fixture
def server(tmp_path):
    """A process that launches like a server, its ranks beside it; all preload a libnccl, which another variable names too."""
    nccl = library(tmp_path / "side/libnccl.so.2", "int nccl;")
    child = start_server(tmp_path, 31999, {"LD_PRELOAD": str(nccl), "SGLANG_NCCL_SO_PATH": str(nccl)})
    yield nccl
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(5)


def test_a_family_is_one_fact_for_all_ranks_with_all_its_parts(tmp_path):
    found = mapped(tmp_path, serving((CUDNN, NCCL), (GRAPH, NCCL)))
    assert found == {"libraries/libcudnn/files": [CUDNN, GRAPH], "libraries/libcudnn/folders": [f"{SITE}/nvidia/cudnn/lib"],
                     "libraries/libnccl/files": [NCCL], "libraries/libnccl/folders": [f"{SITE}/nvidia/nccl/lib"]}


def test_one_family_from_two_folders_is_mixed_and_both_versions_are_told(tmp_path):
    found = mapped(tmp_path, serving((CUDNN, SYSTEM), (CUDNN,)))
    assert found["libraries/libcudnn/folders"] == [f"{SITE}/nvidia/cudnn/lib", "/usr/lib/x86_64-linux-gnu"]
    assert found["libraries/libcudnn/mixed"] == [f"9.19.0.56 ({SITE}/nvidia/cudnn/lib)", "9.23.0 (/usr/lib/x86_64-linux-gnu)"]


def test_ranks_of_one_server_that_map_different_folders_are_mixed_too(tmp_path):
    found = mapped(tmp_path, serving((NCCL,), ("/opt/nccl/lib/libnccl.so.2",)))
    assert found["libraries/libnccl/mixed"] == [f"2.28.9 ({SITE}/nvidia/nccl/lib)", "? (/opt/nccl/lib)"]


def test_two_servers_that_each_have_their_own_are_no_mixture(tmp_path):
    other = process(60, ("/opt/b/bin/python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "/m"), {})
    found = mapped(tmp_path, {**serving((NCCL,), (NCCL,)), **other, "/proc/60/maps": maps("/opt/b/lib/libnccl.so.2")})
    assert found["libraries/libnccl/folders"] == ["/opt/b/lib", f"{SITE}/nvidia/nccl/lib"]
    assert "libraries/libnccl/mixed" not in found


def test_one_folder_under_two_names_is_one(tmp_path):
    files = serving(("/lib/x86_64-linux-gnu/libcudnn.so.9.1.0", "/usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9.1.0"), ())
    host = host_of(record(tmp_path, files, {"/lib": "usr/lib"}))
    assert dict(libraries.collect(host))["libraries/libcudnn/folders"] == ["/usr/lib/x86_64-linux-gnu"]


def test_a_rank_that_maps_a_deleted_file_is_named(tmp_path):
    found = mapped(tmp_path, serving((NCCL,), (NCCL + " (deleted)",)))
    assert found["libraries/libnccl/deleted"] == ["sglang scheduler_TP1"]
    assert found["libraries/libnccl/files"] == [NCCL, NCCL + " (deleted)"]


def test_where_one_rank_may_not_be_read_nothing_is_said_of_any_family(tmp_path):
    found = mapped(tmp_path, serving((NCCL,), (NCCL,)), denied=["/proc/43/maps"])
    assert list(found) == ["libraries"]
    assert found["libraries"].status == "denied"


def test_without_a_server_its_libraries_and_variables_are_unknown_and_what_is_installed_is_told(tmp_path):
    files = {**RECORD, NCCL: "twelve bytes", f"{SITE}/torch/lib/libtorch_cuda.so": "x", f"{SITE}/torch/lib/README": "x", "/etc/ld.so.preload": "/gone.so"}
    found = mapped(tmp_path, files)
    assert found.pop("libraries").status == "not_recorded"
    assert found == {"libraries/named/ld.so.preload/%2Fgone.so": "no such file"}
    assert native(tmp_path, files) == {
        "native/installed/nvidia%2Fnccl%2Flib%2Flibnccl.so.2": {"size_bytes": 12, "by": "nvidia-nccl-cu13 2.28.9"},
        "native/installed/torch%2Flib%2Flibtorch_cuda.so": {"size_bytes": 1, "by": None}}


def test_where_no_environment_could_be_read_what_variables_name_is_unknown(tmp_path):
    found = mapped(tmp_path, {**process(42, ("sglang::scheduler_TP0",), b"\0" * 400), "/proc/42/maps": maps(NCCL)})
    assert "setproctitle" in found["libraries/named"].reason
    assert found["libraries/libnccl/files"] == [NCCL]


def test_a_server_whose_processes_told_no_library_is_no_server_without_any(tmp_path):
    assert mapped(tmp_path, process(40, LAUNCH, {}))["libraries"].status == "not_recorded"


def test_a_library_that_a_variable_names_is_told_with_its_digest(tmp_path):
    variables = {"VLLM_NCCL_SO_PATH": "/opt/nccl/libnccl.so.2", "SGLANG_NCCL_SO_PATH": "/opt/gone.so", "LD_PRELOAD": "libjemalloc.so.2"}
    found = mapped(tmp_path, {**serving((), (), variables), "/opt/nccl/libnccl.so.2": "abc", "/etc/ld.so.preload": "/opt/nccl/libnccl.so.2\n"})
    digest = {"size_bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}
    assert found.pop("libraries").status == "not_recorded"
    assert {path[len("libraries/named/"):]: value for path, value in found.items()} == {
        "VLLM_NCCL_SO_PATH/%2Fopt%2Fnccl%2Flibnccl.so.2": digest, "SGLANG_NCCL_SO_PATH/%2Fopt%2Fgone.so": "no such file",
        "LD_PRELOAD/libjemalloc.so.2": "looked up by the loader", "ld.so.preload/%2Fopt%2Fnccl%2Flibnccl.so.2": digest}


def test_a_library_put_beside_in_the_configuration_folder_of_who_serves_is_found(tmp_path):
    path = "/srv/ml/.config/vllm/nccl/cu12/libnccl.so.2.18.1"
    found = mapped(tmp_path, {**serving((NCCL,), (), {"HOME": "/srv/ml"}), path: "cut short"})
    assert found["libraries/sideloaded/" + path.replace("/", "%2F")] == {"size_bytes": 9, "sha256": hashlib.sha256(b"cut short").hexdigest()}


@pytest.mark.parametrize("denied", ["/srv/ml/.config/vllm/nccl", "/srv/ml/.config/vllm/nccl/cu12", "/srv/ml"])
def test_a_configuration_folder_that_may_not_be_listed_may_hold_one(tmp_path, denied):
    path = "/srv/ml/.config/vllm/nccl/cu12/libnccl.so.2.18.1"
    found = mapped(tmp_path, {**serving((NCCL,), (), {"HOME": "/srv/ml"}), path: "cut short"}, denied=[denied, "/etc/ld.so.preload"])
    assert (found["libraries/sideloaded"].status, found["libraries/named/ld.so.preload"].status) == ("denied", "denied")


def test_a_folder_of_libraries_that_hung_is_unknown_and_the_others_are_told(tmp_path):
    found = native(tmp_path, {**RECORD, NCCL: "x", CUDNN: "x"}, hangs=[f"{SITE}/nvidia/cudnn"])
    assert found["native/installed"].status == "timeout"
    assert "native/installed/nvidia%2Fnccl%2Flib%2Flibnccl.so.2" in found


def test_installed_libraries_of_a_real_folder_are_told_by_their_distribution(tmp_path):
    site = tmp_path / "lib/site-packages"
    site.mkdir(parents=True)
    install(site, "nvidia-nccl-cu12", "2.27.5", {"nvidia/nccl/lib/libnccl.so.2": "abc", "nvidia/nccl/include/nccl.h": ""})
    found = dict(libraries.collect_native(host_for(site)))
    assert found["native/installed/nvidia%2Fnccl%2Flib%2Flibnccl.so.2"] == {"size_bytes": 3, "by": "nvidia-nccl-cu12 2.27.5"}


def test_a_preloaded_library_that_was_deleted_under_a_running_server_is_seen(server):
    host = host_of(RealRoot())
    named = dict(libraries.collect(host))
    digest = {"size_bytes": server.stat().st_size, "sha256": hashlib.sha256(server.read_bytes()).hexdigest()}
    key = str(server).replace("/", "%2F")
    assert [named[f"libraries/named/{name}/{key}"] for name in ("LD_PRELOAD", "SGLANG_NCCL_SO_PATH")] == [digest, digest]
    assert str(server) in named["libraries/libnccl/files"]
    server.unlink()
    found = dict(libraries.collect(host))
    assert f"{server} (deleted)" in found["libraries/libnccl/files"]
    assert {"launch", "scheduler_TP0", "scheduler_TP1"} <= {one.partition(" ")[2] for one in found["libraries/libnccl/deleted"]}


def test_every_path_is_one_that_its_probe_says_it_tells(tmp_path):
    variables = {"LD_PRELOAD": "/opt/x.so", "HOME": "/srv"}
    files = {**serving((CUDNN, SYSTEM), (NCCL + " (deleted)",), variables), NCCL: "x", "/srv/.config/vllm/nccl/cu12/libnccl.so.2": "x"}
    first, second = libraries.PROBES
    assert all(matches(path, first.tells) for path in mapped(tmp_path / "a", files))
    assert all(matches(path, second.tells) for path in native(tmp_path / "b", files))
