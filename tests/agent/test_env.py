from __future__ import annotations

import os
import subprocess
import sys

import pytest

from driftwatch.agent.collectors import env
from driftwatch.agent.probe import Absent, NotRecorded, Unreadable
from driftwatch.agent.real import RealRoot
from tests.agent.serving_lab import host_of, process, record


def test_listed_variables_are_told_secrets_as_digests_and_others_by_name_only(tmp_path):
    root = record(tmp_path, {}, environ={"NCCL_DEBUG": "WARN", "HF_TOKEN": "hf_x", "MY_THING": "hidden", "HOME": "/root"})
    told = dict(env.collect(host_of(root)))
    assert told["env/NCCL_DEBUG"] == "WARN"
    assert told["env/HF_TOKEN"]["keyed"]
    assert told["env_kept_back"] == 2
    assert "hidden" not in str(told)
    assert told["env_left_out"] == ["HOME", "MY_THING"]


def test_names_with_odd_letters_are_one_part_of_a_path(tmp_path):
    told = dict(env.collect(host_of(record(tmp_path, {}, environ={"NCCL_A/B": "1"}))))
    assert told["env/NCCL_A%2FB"] == "1"


def test_a_recorded_host_without_an_environment_is_not_recorded(tmp_path):
    with pytest.raises(NotRecorded):
        list(env.collect(host_of(record(tmp_path, {}))))


def test_the_environment_of_a_named_process_is_its_own(tmp_path):
    root = record(tmp_path, process(77, ("python3", "serve.py"), {"NCCL_P2P_DISABLE": "1"}), environ={"NCCL_P2P_DISABLE": "0"})
    told = dict(env.collect(host_of(root, env_from_pid=77)))
    assert told["env/NCCL_P2P_DISABLE"] == "1"
    assert "--env-from-pid" in told["env_source"]


def test_an_environment_of_nul_bytes_is_unreadable_and_never_empty(tmp_path):
    root = record(tmp_path, process(77, ("sglang::scheduler_TP0",), b"\0" * 300))
    with pytest.raises(Unreadable, match="overwritten by setproctitle"):
        list(env.collect(host_of(root, env_from_pid=77)))


def test_a_process_that_is_gone_is_absent(tmp_path):
    with pytest.raises(Absent):
        list(env.collect(host_of(record(tmp_path, {}), env_from_pid=77)))


def test_a_real_process_is_read_as_it_was_started():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"CUDA_VISIBLE_DEVICES": "0,1", "PATH": "/usr/bin"})
    try:
        told = dict(env.collect(host_of(RealRoot(), env_from_pid=child.pid)))
    finally:
        child.communicate(b"\n")
    assert told["env/CUDA_VISIBLE_DEVICES"] == "0,1"


def test_a_real_shell_tells_its_path():
    assert dict(env.collect(host_of(RealRoot())))["env/PATH"] == os.environ["PATH"]
