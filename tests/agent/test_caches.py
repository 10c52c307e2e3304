"""What lies in the caches of compiled kernels: found by the server's own variables, counted, and what a crash left behind named."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from driftwatch.agent.cache_places import places
from driftwatch.agent.collectors import caches
from driftwatch.agent.collectors.caches import parse_moe
from driftwatch.agent.probe import Unknown
from driftwatch.agent.real import RealRoot
from tests.agent.recording import told
from tests.agent.serving_lab import host_of, process, record
from tests.lab import faultfs, nvml_stand_in

SERVE = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "/data/m")
HOUR_S = 3600
USED = "[2026-03-02 10:00:00 TP0] Using MoE kernel config from /v/layers/moe/fused_moe_triton/configs/triton_3_5_1/E=384,N=256,device_name=NVIDIA_H100.json.\n"
FELL_BACK = (
    "Config file not found at /v/fused_moe_triton/configs/triton_3_5_1/E=8.json. Fallback to triton version 3.4.0 and use MoE kernel config from "
    "/v/fused_moe_triton/configs/triton_3_4_0/E=8.json. Performance might be sub-optimal!\n")
DEFAULT = "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /v/moe/configs/triton_3_5_1/E=8.json, you can create\n"


def facts_of(host):
    facts, status, _ = told(caches.collect, host)
    assert status == "ok"
    return facts


def served(folder, files=(), variables=None, **described):
    """Return a recorded host on which a server runs with these variables."""
    files = dict(files)
    return host_of(record(folder, {**process(41, SERVE, {"HOME": "/srv", **(variables or {})}), **files}, **described))


@pytest.fixture
def home(tmp_path):
    """A real home, found by the variables of the process named with --env-from-pid."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], env={"HOME": str(tmp_path)})
    yield tmp_path, host_of(RealRoot(), env_from_pid=child.pid)
    child.kill()
    child.wait()


def write(path, text="x", age_s=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    when = time.time() - age_s
    os.utime(path, (when, when))


def test_a_variable_of_the_server_decides_alone_and_its_home_is_the_default():
    found = {place.name: place for place in places({"TRITON_CACHE_DIR": "/c/triton/", "SGLANG_CACHE_DIR": "/c/sglang"}, "/srv", "alice")}
    assert found["triton"].paths == ("/c/triton",)
    assert found["sglang_jit"].paths == ("/c/sglang/jit",)
    assert found["flashinfer"].paths == ("/srv/.cache/flashinfer",)
    assert found["inductor"].paths == ("/tmp/torchinductor_alice",)


def test_without_a_home_and_a_user_no_place_is_made_up():
    assert [place.name for place in places({"TRITON_CACHE_DIR": "/c"}, "", "")] == ["triton"]
    assert {place.paths[0] for place in places({}, "/", "")} >= {"/.triton/cache"}


def test_an_empty_and_a_cut_file_of_a_cache_are_named_and_lock_files_are_not(tmp_path):
    facts = facts_of(served(tmp_path, {
        "/c/A/k.json": "", "/c/B/k.json": '{"hash": "9', "/c/C/k.json": '{"hash": 1}', "/c/C/k.cubin": "\0" * 100, "/c/C/.lock": "",
    }, {"TRITON_CACHE_DIR": "/c"}))
    assert (facts["caches/triton/path"], facts["caches/triton/because"], facts["caches/triton/files"]) == ("/c", "TRITON_CACHE_DIR", 5)
    assert facts["caches/triton/empty_files"] == ["A/k.json"]
    assert facts["caches/triton/damaged_files"] == ["B/k.json: ends in the middle", "C/k.cubin: NUL bytes"]


def test_a_lock_that_its_maker_removes_is_named_and_one_that_stays_by_design_is_not(tmp_path):
    left = {"/srv/.cache/torch_extensions/py312_cu128/ops/lock": "", "/srv/.cache/torch_extensions/py312_cu128/ops/ops.lock": ""}
    assert facts_of(served(tmp_path, left))["caches/torch_extensions/lock_files"] == ["py312_cu128/ops/lock"]


def test_a_cache_that_is_not_there_tells_nothing_and_one_nobody_looked_at_is_unknown(tmp_path):
    assert "caches" not in facts_of(served(tmp_path / "a"))
    assert facts_of(served(tmp_path / "b", not_recorded=["/srv"]))["caches"].status == "not_recorded"
    facts = facts_of(served(tmp_path / "c", variables={"TRITON_CACHE_DIR": "/c"}, denied=["/c"]))
    assert facts["caches/triton"] == Unknown("denied", "/c: Permission denied (uid 0)")


def test_versions_stand_in_the_names_of_folders(tmp_path):
    facts = facts_of(served(tmp_path, {"/srv/.cache/flashinfer/0.6.3/120a/cached_ops/m/m.so": "ELF", "/srv/.cache/torch_extensions/py312_cu128/x/x.so": "ELF"}))
    assert facts["caches/flashinfer/versions"] == ["0.6.3/120a"]
    assert facts["caches/torch_extensions/versions"] == ["py312_cu128"]


def test_a_cache_inside_another_is_counted_once(tmp_path):
    facts = facts_of(served(tmp_path, {"/srv/.cache/sglang/jit/a.so": "ELF", "/srv/.cache/sglang/b.json": "{}"}))
    assert (facts["caches/sglang/files"], facts["caches/sglang_jit/files"]) == (1, 1)


def test_where_no_server_runs_what_is_not_found_is_unknown_and_never_absent(tmp_path):
    facts = facts_of(host_of(record(tmp_path, {"/root/.triton/cache/A/k.json": ""})))
    assert facts["caches/triton/empty_files"] == ["A/k.json"]
    assert facts["caches"].reason == "no server runs: which caches it uses is a guess: those below /root"


def test_where_no_server_runs_its_unit_file_tells_where_its_caches_are(tmp_path):
    unit = "[Service]\nUser=alice\nEnvironment=TRITON_CACHE_DIR=/c\nExecStart=/opt/venv/bin/vllm serve /data/m --port 8000\n"
    facts = facts_of(host_of(record(tmp_path, {"/etc/systemd/system/llm.service": unit, "/c/A/k.json": "{}"})))
    assert facts["caches/triton/path"] == "/c"
    assert "llm.service" in facts["caches"].reason


def test_objects_of_one_build_that_are_hours_apart_are_told_with_their_folder(home):
    folder, host = home
    write(folder / ".cache/flashinfer/0.6.3/120a/cached_ops/decode/a.o", age_s=30 * HOUR_S)
    write(folder / ".cache/flashinfer/0.6.3/120a/cached_ops/decode/decode.so")
    write(folder / ".cache/flashinfer/0.6.3/120a/cached_ops/prefill/prefill.so", age_s=30 * HOUR_S)
    facts = facts_of(host)
    assert facts["caches/flashinfer/mixed_ages"] == {"0.6.3/120a/cached_ops/decode": 30}
    assert facts["caches/flashinfer/oldest"] < facts["caches/flashinfer/newest"]


def test_of_more_files_than_are_looked_at_the_count_is_a_least_and_nothing_is_ruled_out(home):
    folder, host = home
    top = folder / ".triton/cache/A"
    top.mkdir(parents=True)
    (top / "0").write_text("x")
    for number in range(1, 20_001):
        os.link(top / "0", top / str(number))
    facts = facts_of(host)
    assert facts["caches/triton/files"].startswith("at least 2000")
    assert isinstance(facts["caches/triton/empty_files"], Unknown)
    assert isinstance(facts["caches/triton/oldest"], Unknown)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_makes_the_count_a_least(home):
    folder, host = home
    write(folder / ".triton/cache/A/k.json", "{}")
    (folder / ".triton/cache/B").mkdir(mode=0)
    assert facts_of(host)["caches/triton/files"] == "at least 1"


@pytest.mark.skipif(bool(faultfs.why_not()), reason=f"no FUSE here: {faultfs.why_not()}")
def test_a_cache_on_a_file_system_that_never_answers_costs_that_cache_alone(tmp_path):
    with faultfs.mounted(tmp_path / "tree", "hangdir") as tree:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"],
                                 env={"HOME": str(tmp_path / "home"), "TRITON_CACHE_DIR": str(tree / "hangdir"), "TILELANG_CACHE_DIR": str(tmp_path / "t")})
        try:
            write(tmp_path / "t/k.json", "{}")
            write(tmp_path / "home/.cache/tvm-ffi/k.so", "ELF")
            facts = facts_of(host_of(RealRoot(), env_from_pid=child.pid))
        finally:
            child.kill()
            child.wait()
    assert facts["caches/triton"].status == "timeout"
    assert (facts["caches/tilelang/files"], facts["caches/tvm_ffi/files"]) == (1, 1)


@pytest.mark.parametrize(("text", "facts"), [
    (USED, {"used": ["triton_3_5_1/E=384,N=256,device_name=NVIDIA_H100.json"]}),
    (FELL_BACK, {"used": ["triton_3_4_0/E=8.json"], "missing": ["triton_3_5_1/E=8.json"], "fallback_triton": ["3.4.0"]}),
    (DEFAULT, {"missing": ["triton_3_5_1/E=8.json"], "is_default": True}),
    ("The server is fired up and ready to roll!\n", {}),
])
def test_the_log_tells_which_moe_configuration_was_taken(text, facts):
    assert parse_moe(text) == facts


def test_a_run_that_ended_before_it_chose_leaves_the_choice_unknown(tmp_path):
    log = "server_args=ServerArgs(model_path='/m')\n"
    early = facts_of(host_of(record(tmp_path / "a", {"/log": log}, server_log="/log")))
    ready = facts_of(host_of(record(tmp_path / "b", {"/log": log + "The server is fired up and ready to roll!\n"}, server_log="/log")))
    assert isinstance(early["moe_config"], Unknown)
    assert "moe_config" not in ready


def test_caches_are_told_on_the_oldest_python(tmp_path):
    answer = nvml_stand_in.told(nvml_stand_in.start("caches", tmp_path, python=nvml_stand_in.oldest_python()))
    assert answer.status == "ok"


def test_whose_the_files_of_a_cache_are_is_told(home):
    folder, host = home
    (folder / ".triton/cache/a").mkdir(parents=True)
    (folder / ".triton/cache/a/x.json").write_text("{}")
    owners = {os.geteuid()}
    if os.geteuid() == 0:
        os.chown(folder / ".triton/cache/a/x.json", 12345, -1)
        owners.add(12345)
    assert facts_of(host)["caches/triton/owners"] == sorted(owners)
