from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator

import pytest

from driftwatch.agent.collectors import servers
from driftwatch.agent.probe import Unknown
from driftwatch.agent.processes_seen import parse_libraries, parse_limits, parse_stat
from driftwatch.agent.real import RealRoot
from tests.agent.serving_lab import host_of, process, record, start_server

LAUNCH = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "/m", "--tp", "2", "--api-key", "planted-key", "--port", "30000")
TRACKER = ("/opt/venv/bin/python3", "-c", "from multiprocessing.resource_tracker import main;main(42)")
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max open files            {}                 1048576              files
Max locked memory         8388608              unlimited            bytes
Max nice priority         0                    0
"""
MAPS = "7f00-7f01 r-xp 00000000 08:02 1    {}\n"
NCCL = "/opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"


def serving() -> dict[str, str | bytes]:
    """Return the files of a launch process with its tracker, two ranks and a detokenizer."""
    files: dict[str, str | bytes] = {"/proc/stat": "cpu 1\nbtime 1771056480\n", "/etc/passwd": "root:x:0:0::/root:/bin/sh\nsvc:x:1001:1001::/srv:/bin/sh\n"}
    files.update(process(1, ("/sbin/init",), ppid=0))
    files.update(process(40, LAUNCH, {"NCCL_DEBUG": "WARN", "HF_TOKEN": "hf_x", "HOME": "/root"}))
    files.update(process(41, TRACKER, {"NCCL_DEBUG": "WARN", "HF_TOKEN": "hf_x", "HOME": "/root", "NCCL_CUMEM_ENABLE": "0"}, ppid=40))
    for pid, title in ((42, "sglang::scheduler_TP0"), (43, "sglang::scheduler_TP1"), (44, "sglang::detokenizer")):
        files.update(process(pid, (title,), b"\0" * 400, ppid=40))
    return files


def told(host) -> dict[str, object]:
    return dict(servers.collect(host))


def test_a_server_is_told_with_its_arguments_and_its_ranks(tmp_path):
    facts = told(
        host_of(
            record(
                tmp_path,
                {**serving(), "/proc/40/status": "Name: x\nUid:\t1001\t1001\n", "/proc/40/cgroup": "0::/system.slice/sglang.service\n"},
                {"/proc/40/cwd": "/srv"},
            )
        )
    )
    assert facts["servers/sglang/running"] is True
    assert {path[21:]: value for path, value in facts.items() if path.startswith("servers/sglang/given/")} == {
        "model_path": "/m",
        "tp_size": "2",
        "port": "30000",
        "api_key": facts["servers/sglang/given/api_key"],
    }
    assert facts["servers/sglang/python"] == "/opt/venv/bin/python3"
    assert facts["servers/sglang/started_at"] == "2026-02-14T08:08:10Z"
    assert (facts["servers/sglang/cwd"], facts["servers/sglang/user"], facts["servers/sglang/unit"]) == ("/srv", "svc", "sglang.service")
    assert [facts[f"servers/sglang/{role}/state"] for role in ("launch", "scheduler_TP0", "scheduler_TP1", "detokenizer")] == ["S"] * 4


def test_no_secret_of_the_command_line_or_the_environment_is_told(tmp_path):
    facts = told(host_of(record(tmp_path, serving())))
    assert facts["servers/sglang/given/api_key"]["keyed"]
    assert facts["servers/sglang/env/HF_TOKEN"]["keyed"]
    assert "planted-key" not in str(facts)


def test_an_environment_of_nul_bytes_is_unreadable_and_the_tracker_beside_the_ranks_tells_it_instead(tmp_path):
    facts = told(host_of(record(tmp_path, serving())))
    assert facts["servers/sglang/scheduler_TP0/env"] == Unknown("error", "environ: all NUL bytes: overwritten by setproctitle")
    assert facts["servers/sglang/env/NCCL_CUMEM_ENABLE"] == "0"
    assert facts["servers/sglang/env_from"].startswith("the resource tracker")
    assert facts["servers/sglang/env_set_at_run_time"] == ["NCCL_CUMEM_ENABLE"]
    assert facts["servers/sglang/env_kept_back"] == 1


def test_without_a_tracker_the_launch_process_tells_the_environment(tmp_path):
    files = {path: content for path, content in serving().items() if not path.startswith("/proc/41/")}
    facts = told(host_of(record(tmp_path, files)))
    assert facts["servers/sglang/env/NCCL_DEBUG"] == "WARN"
    assert facts["servers/sglang/env_from"].startswith("the launch process")


def test_an_environment_that_may_not_be_read_is_denied_and_never_empty(tmp_path):
    facts = told(host_of(record(tmp_path, serving(), denied=["/proc/40/environ", "/proc/41/environ"])))
    assert facts["servers/sglang/env"].status == "denied"
    assert "/proc/PID/environ" in facts["servers/sglang/env"].reason
    assert not [path for path in facts if path.startswith("servers/sglang/env/")]


def test_of_a_rank_whose_environment_can_be_read_only_what_differs_is_told(tmp_path):
    files = {**serving(), **process(42, ("sglang::scheduler_TP0",), {"NCCL_DEBUG": "WARN", "NCCL_CUMEM_ENABLE": "1"}, ppid=40)}
    facts = told(host_of(record(tmp_path, files)))
    assert {path: value for path, value in facts.items() if path.startswith("servers/sglang/scheduler_TP0/env")} == {
        "servers/sglang/scheduler_TP0/env/NCCL_CUMEM_ENABLE": "1"
    }


def test_workers_without_a_title_are_told_together_with_all_their_values(tmp_path):
    files = process(50, ("/v/bin/python3", "/v/bin/torchrun", "--nproc-per-node", "2", "serve.py"), {"NCCL_DEBUG": "WARN"})
    for rank in (0, 1):
        files.update(process(
            51 + rank, ("/v/bin/python3", "-u", "serve.py"), {"NCCL_DEBUG": "WARN", "LOCAL_RANK": str(rank), "CUDA_VISIBLE_DEVICES": "0,1"}, ppid=50
        ))
    facts = told(host_of(record(tmp_path, files)))
    assert facts["servers/torchrun/given/nproc_per_node"] == "2"
    assert facts["servers/torchrun/worker/count"] == 2
    assert facts["servers/torchrun/worker/env/LOCAL_RANK"] == ["0", "1"]
    assert facts["servers/torchrun/worker/env/CUDA_VISIBLE_DEVICES"] == "0,1"


def test_limits_are_those_of_the_launch_process_and_of_a_rank_where_it_has_others(tmp_path):
    files = {**serving(), "/proc/40/limits": LIMITS.format(1024), "/proc/42/limits": LIMITS.format(1024), "/proc/43/limits": LIMITS.format(4096)}
    facts = told(host_of(record(tmp_path, files)))
    assert facts["servers/sglang/limits/open_files"] == {"soft": 1024, "hard": 1048576}
    assert facts["servers/sglang/limits/locked_memory_bytes"] == {"soft": 8388608, "hard": "unlimited"}
    assert {path for path in facts if "_TP" in path and "/limits" in path} == {"servers/sglang/scheduler_TP1/limits/open_files"}


def test_libraries_are_told_once_and_for_each_rank_where_the_ranks_differ(tmp_path):
    other = "/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.5 (deleted)"
    common = MAPS.format("/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05")
    files = {**serving(), "/proc/42/maps": common + MAPS.format(NCCL), "/proc/43/maps": common + MAPS.format(other)}
    facts = told(host_of(record(tmp_path, files)))
    assert facts["servers/sglang/libraries/libcuda"] == "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"
    assert facts["servers/sglang/libraries/libnccl"] == [NCCL, other]
    assert facts["servers/sglang/scheduler_TP1/libraries/libnccl"] == other
    assert "servers/sglang/scheduler_TP1/libraries/libcuda" not in facts


def test_libraries_that_no_process_lets_us_read_are_unknown(tmp_path):
    facts = told(host_of(record(tmp_path, {**serving(), "/proc/40/maps": ""}, denied=[f"/proc/{pid}/maps" for pid in (40, 42, 43, 44)])))
    assert facts["servers/sglang/libraries"].status == "denied"


@pytest.mark.parametrize(
    ("path", "family"),
    [
        (NCCL, "libnccl"),
        ("/x/libcudart-d0da41ae.so.11.0", "libcudart"),
        ("/x/libcudnn_engines_tensor_ir.so.9", "libcudnn_engines_tensor_ir"),
        ("/x/libnvidia-ml.so.580.95.05", "libnvidia-ml"),
        ("/v/lib/python3.12/site-packages/sgl_kernel/sm100/common_ops.abi3.so", "sgl_kernel common_ops"),
        ("/opt/vllm/x/libfoo.so.1 (deleted)", "libfoo"),
        ("/x/libcublasLt.so.12", "libcublasLt"),
    ],
)
def test_a_library_goes_by_its_family(path, family):
    assert parse_libraries(MAPS.format(path)) == {family: [path]}


@pytest.mark.parametrize(
    "path", ["/dev/shm/nccl-abc.so (deleted)", "/memfd:x.so (deleted)", "/lib/libc.so.6", "/opt/vllm/venv/lib/x.so", "[heap]", "/usr/bin/python3.12"]
)
def test_other_mappings_are_left_out(path):
    assert parse_libraries(MAPS.format(path)) == {}


def test_two_servers_of_one_framework_are_told_apart_by_their_ports(tmp_path):
    files = {**serving(), **process(60, (*LAUNCH[:-1], "30001"))}
    facts = told(host_of(record(tmp_path, files)))
    assert {path.split("/")[1] for path in facts} == {"sglang@30000", "sglang@30001"}
    assert facts["servers/sglang@30000/scheduler_TP0/state"] == "S"


def test_a_fork_that_keeps_the_command_line_is_no_second_server(tmp_path):
    facts = told(host_of(record(tmp_path, {**serving(), **process(61, LAUNCH, ppid=40)})))
    assert {path.split("/")[1] for path in facts} == {"sglang"}
    assert facts["servers/sglang/worker/state"] == "S"


def test_ranks_whose_launch_process_is_gone_are_leftovers_and_no_running_server(tmp_path):
    files = {**process(42, ("sglang::scheduler_TP0",), b"\0" * 400), "/proc/42/maps": MAPS.format(NCCL)}
    facts = told(host_of(record(tmp_path, files)))
    assert facts["servers/sglang/running"] is False
    assert facts["servers/sglang/leftovers"] == ["scheduler_TP0"]
    assert facts["servers/sglang/libraries/libnccl"] == NCCL
    assert facts["servers/sglang/given"].status == "not_recorded"


def test_leftovers_beside_a_running_server_are_no_ranks_of_it(tmp_path):
    facts = told(host_of(record(tmp_path, {**serving(), **process(70, ("sglang::scheduler_TP0",), b"\0" * 400)})))
    assert facts["servers/sglang/leftover_scheduler_TP0/pid"] == 70
    assert facts["servers/sglang/scheduler_TP0/pid"] == 42


def test_where_nothing_runs_and_no_log_is_known_nothing_is_known_to_be_absent(tmp_path):
    facts = told(host_of(record(tmp_path, process(1, ("/sbin/init",), ppid=0))))
    assert facts["servers"].status == "not_recorded"
    assert facts["servers/sglang/running"] is False
    assert {path.rpartition("/")[2] for path, value in facts.items() if isinstance(value, Unknown)} == {
        "servers",
        "given",
        "env",
        "limits",
        "libraries",
        "args",
        "log",
    }


def test_a_host_whose_processes_were_not_recorded_does_not_say_that_no_server_runs(tmp_path):
    facts = told(host_of(record(tmp_path, {}, not_recorded=["/proc"])))
    assert facts["servers/sglang/running"] == Unknown("not_recorded", "/proc: not recorded")


def test_a_host_that_hides_other_users_processes_does_not_say_that_no_server_runs(tmp_path):
    files = {**process(1, ("/sbin/init",), ppid=0), "/proc/mounts": "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n"}
    facts = told(host_of(record(tmp_path, files, uid=1001)))
    assert facts["servers/sglang/running"].status == "denied"


def test_a_launch_process_that_retitled_itself_has_unknown_arguments(tmp_path):
    facts = told(host_of(record(tmp_path, process(40, ("sglang::http_server/tokenizer_manager",), b"\0" * 400))))
    assert facts["servers/sglang/running"] is True
    assert facts["servers/sglang/given"].status == "error"


def test_a_stuck_rank_costs_its_own_facts_and_is_known_by_its_short_name(tmp_path):
    files = {**serving(), **process(42, ("sglang::schedul",), b"", ppid=40, state="D")}
    facts = told(host_of(record(tmp_path, files, hangs=["/proc/42/cmdline", "/proc/42/environ", "/proc/42/maps"])))
    assert facts["servers/sglang/scheduler/state"] == "D"
    assert facts["servers/sglang/scheduler/env"].status == "timeout"
    assert facts["servers/sglang/scheduler/cmdline"].status == "timeout"
    assert facts["servers/sglang/scheduler_TP1/state"] == "S"


def test_after_three_that_do_not_answer_the_other_stuck_ones_are_not_asked(tmp_path):
    files, hangs = serving(), []
    for pid in range(80, 86):
        files.update(process(pid, ("sglang::schedul",), b"", ppid=40, state="D"))
        hangs.append(f"/proc/{pid}/cmdline")
    asked: list[str] = []
    host = host_of(record(tmp_path, files, hangs=hangs))
    host.asking = asked.append
    facts = told(host)
    assert len([text for text in asked if text in [f"read {path}" for path in hangs]]) == 3
    assert facts["servers/sglang/scheduler/count"] == 6


LOG = "[2026-02-26 10:20:00] server_args=ServerArgs(model_path='/m', api_key='planted-key', port=30000)\n"
LOG += "[2026-02-26 10:20:11 TP0] Load weight begin. avail mem=94.50 GB\n"


def test_a_named_log_tells_the_arguments_and_figures_of_the_last_run_without_its_secrets(tmp_path):
    facts = told(host_of(record(tmp_path, {"/log": LOG + "RuntimeError: Not enough memory. key=sk-proj-Ab1" + "x9Z" * 12 + "\n"}), log="/log"))
    assert facts["servers/sglang/args/model_path"] == "/m"
    assert facts["servers/sglang/args/api_key"]["keyed"]
    assert facts["servers/sglang/log/free_before_load_gib"] == 94.5
    assert str(facts["servers/sglang/log/error"]).startswith("RuntimeError: Not enough memory. key=[secret ")
    assert (facts["servers/sglang/log/path"], facts["servers/sglang/log/from"]) == ("/log", "named with --log")
    assert facts["servers/sglang/running"] is False
    assert "servers" not in facts
    assert "planted-key" not in str(facts)


def test_the_log_that_a_recording_names_is_read_without_being_asked(tmp_path):
    assert told(host_of(record(tmp_path, {"/log": LOG}, server_log="/log")))["servers/sglang/log/from"] == "named by the recording"


def test_a_log_that_is_not_there_is_unknown_and_says_so(tmp_path):
    facts = told(host_of(record(tmp_path, serving()), log="/gone"))
    assert facts["servers/sglang/log"] == facts["servers/sglang/args"] == Unknown("error", "/gone: no such file")


def test_the_file_that_a_server_writes_to_is_its_log(tmp_path):
    facts = told(host_of(record(tmp_path, {**serving(), "/var/log/s.log": LOG}, {"/proc/40/fd/1": "/var/log/s.log"})))
    assert facts["servers/sglang/args/model_path"] == "/m"
    assert facts["servers/sglang/log/path"] == "/var/log/s.log"


def test_a_server_that_writes_to_a_pipe_has_an_unknown_log(tmp_path):
    facts = told(host_of(record(tmp_path, serving(), {"/proc/40/fd/1": "pipe:[77]", "/proc/40/fd/2": "/dev/null"})))
    assert facts["servers/sglang/log"] == Unknown("not_recorded", "no server log was named: --log FILE")


def test_of_a_very_long_log_the_start_and_the_end_are_read_and_the_rest_is_said_to_be_unread(tmp_path):
    filler = "[2026-02-26 10:30:00 TP0] Decode batch. gen throughput (token/s): 88.82, #queue-req: 0\n" * 80_000
    facts = told(host_of(record(tmp_path, {"/log": LOG + filler + "RuntimeError: CUDA error: an illegal memory access\n"}), log="/log"))
    assert facts["servers/sglang/log/unread_bytes"] > 0
    assert facts["servers/sglang/log/free_before_load_gib"] == 94.5
    assert facts["servers/sglang/log/error"] == "RuntimeError: CUDA error: an illegal memory access"


def test_a_log_of_vllm_belongs_to_vllm_though_sglang_runs(tmp_path):
    facts = told(host_of(record(tmp_path, {**serving(), "/log": "INFO 01-01 00:00:00 [x.py:1] vLLM API server version 0.11.0\n"}), log="/log"))
    assert facts["servers/vllm/log/version"] == "0.11.0"
    assert facts["servers/sglang/args"].reason == "no server log was named: --log FILE"


def test_a_process_that_the_user_names_is_told_as_a_server_of_its_own(tmp_path):
    files = process(
        90, ("/v/bin/python", "/srv/serve.py", "--api-key", "planted-key", "--header", "Authorization: Basic QWxhZGRpbjpvcGVu"), {"NCCL_DEBUG": "WARN"}
    )
    facts = told(host_of(record(tmp_path, files), env_from_pid=90))
    assert facts["servers/process/given/script"] == "/srv/serve.py"
    assert facts["servers/process/given/api_key"]["keyed"]
    assert "QWxhZGRpbjpvcGVu" not in str(facts)
    assert not [path for path in facts if path.startswith("servers/process/env")]


def test_an_argument_of_any_length_is_shortened_after_it_was_masked(tmp_path):
    facts = told(host_of(record(tmp_path, process(40, (*LAUNCH, "--chat-template", "x" * 100_000)))))
    assert len(facts["servers/sglang/given/chat_template"]) < 5000


def test_no_path_holds_a_process_id(tmp_path):
    facts = told(host_of(record(tmp_path, serving())))
    assert not [path for path in facts if any(str(pid) in path for pid in range(40, 45))]


def test_every_fact_is_json_and_below_what_the_probe_says_it_tells(tmp_path):
    for path, value in told(host_of(record(tmp_path, {**serving(), "/log": LOG}), log="/log")).items():
        assert path == "servers" or path.startswith("servers/")
        assert value == json.loads(json.dumps(value)) or isinstance(value, Unknown)


@pytest.mark.parametrize("text", ["", "nonsense", "12 (x", "12 (a b) c) R 1"])
def test_a_stat_line_that_makes_no_sense_is_passed_over(tmp_path, text):
    assert told(host_of(record(tmp_path, {**serving(), "/proc/99/stat": text})))["servers/sglang/running"] is True


def test_a_name_with_blanks_and_brackets_does_not_confuse_the_reader():
    seen = parse_stat("77 (a (b) c) R 5 " + "0 " * 17 + "900 1 2\n")
    assert (seen.pid, seen.ppid, seen.name, seen.state, seen.start_ticks) == (77, 5, "a (b) c", "R", 900)


def test_limits_of_the_real_kernel_are_understood():
    told_limits = parse_limits(RealRoot().read("/proc/self/limits", 65536).decode())
    assert {"open_files", "locked_memory_bytes", "processes", "stack_size_bytes", "realtime_timeout_us"} <= set(told_limits)


@contextlib.contextmanager
def real_server(tmp_path, port: int, variables: dict[str, str]) -> Iterator[int]:
    pytest.importorskip("setproctitle", reason="the ranks retitle themselves with it")
    child = start_server(tmp_path, port, variables)
    try:
        yield child.pid
    finally:
        os.killpg(child.pid, signal.SIGCONT)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait(10)


def name_of(facts: dict[str, object], pid: int) -> str:
    """Return the name of the server that a process launched: other servers may run on this machine."""
    return next(path[: -len("/launch/pid")] for path, value in facts.items() if path.endswith("/launch/pid") and value == pid)


def test_a_real_server_is_told_as_it_runs(tmp_path):
    with real_server(tmp_path, 31872, {"HF_TOKEN": "hf_planted", "NCCL_DEBUG": "WARN", "MY_THING": "planted-too"}) as pid:
        facts = told(host_of(RealRoot()))
    top = name_of(facts, pid)
    assert facts[top + "/given/tp_size"] == "2"
    assert facts[top + "/env/NCCL_CUMEM_ENABLE"] == "0"
    assert facts[top + "/env_from"].startswith("the resource tracker")
    assert [facts[f"{top}/{role}/env"].reason for role in ("scheduler_TP0", "scheduler_TP1", "detokenizer")] == [
        "environ: all NUL bytes: overwritten by setproctitle"
    ] * 3
    assert facts[top + "/limits/open_files"]["soft"] > 0
    assert facts[top + "/cwd"] == str(tmp_path)
    assert facts[top + "/log/path"] == str(tmp_path / "server.log")
    assert facts[top + "/log/ready"] is True
    assert facts[top + "/args/port"] == 31872
    assert "MY_THING" in facts[top + "/env_left_out"]
    assert not [word for word in ("planted-key", "hf_planted", "planted-too") if word in str(facts)]


def test_the_environment_of_real_ranks_survives_where_the_title_leaves_it_alone(tmp_path):
    with real_server(tmp_path, 31873, {"SPT_NOENV": "1", "NCCL_DEBUG": "WARN"}) as pid:
        facts = told(host_of(RealRoot()))
    top = name_of(facts, pid)
    assert top + "/scheduler_TP0/env" not in facts


def test_a_stopped_server_does_not_hold_the_probe_up(tmp_path):
    with real_server(tmp_path, 31874, {}) as pid:
        os.killpg(pid, signal.SIGSTOP)
        started = time.monotonic()
        facts = told(host_of(RealRoot()))
        assert time.monotonic() - started < 8
    assert facts[name_of(facts, pid) + "/launch/state"] == "T"


def test_cpus_are_those_of_the_launch_process_and_of_a_rank_where_it_has_others(tmp_path):
    status = "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nCpus_allowed:\tff\nCpus_allowed_list:\t{}\n"
    cpus = {40: "0-223", 42: "0-223", 43: "0-13,56-69"}
    files = {**serving(), **{f"/proc/{pid}/limits": LIMITS.format(1024) for pid in cpus}, **{f"/proc/{pid}/status": status.format(cpus[pid]) for pid in cpus}}
    found = {path: value for path, value in told(host_of(record(tmp_path, files))).items() if path.endswith("/cpus")}
    assert found == {"servers/sglang/limits/cpus": "0-223", "servers/sglang/scheduler_TP1/limits/cpus": "0-13,56-69"}
