"""Whole snapshots of this machine with a stand-in for NVML that refuses, loses a GPU, hangs, spins, crashes or is no library."""

from __future__ import annotations

import os
import sys

import pytest

from tests.agent.test_nvml import FIRST, HEALTHY, SECOND
from tests.lab import nvml_stand_in
from tests.lab.nvml_stand_in import LIBRARY
from tests.whole.faults import Below, take

DEADLINE_S = 14.0
MODES = {
    "healthy": ("", "ok", "known", ""),
    "mismatch": ("fail nvmlInitWithFlags 18\n", "error", "error", ""),
    "not loaded": ("fail nvmlInitWithFlags 9\n", "absent", "known", "not loaded"),
    "unknown error": ("fail nvmlInitWithFlags 999\n", "error", "error", ""),
    "lost": ("fail nvmlDeviceGetHandleByIndex_v2 15 0\n", "ok", "known", ""),
    "hangs": ("hang nvmlDeviceGetComputeRunningProcesses_v3\n", "timeout", "known", "no answer in"),
    "hangs at once": ("hang nvmlInitWithFlags\n", "timeout", "timeout", "no answer in"),
    "spins": ("spin nvmlDeviceGetComputeRunningProcesses_v3\n", "timeout", "known", "no answer in"),
    "crashes": ("crash nvmlDeviceGetPerformanceState\n", "died", "known", "signal 11"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return nvml_stand_in.build(tmp_path_factory.mktemp("nvml"))


def ask(library, state, **more):
    """Take a snapshot whose agent finds the stand-in first."""
    (library / "state.txt").write_text(HEALTHY + state)
    where = f"export LD_LIBRARY_PATH={library} FAKE_NVML={library}/state.txt"
    return take(Below(where, sys.executable), only=("nvml", "system", "env"), deadline_s=DEADLINE_S, deadlines={"nvml": 4.0}, **more)


@pytest.mark.parametrize("mode", MODES)
def test_each_way_in_which_nvml_fails_is_its_own_status_and_other_probes_answer(library, mode):
    state, status, count, why = MODES[mode]
    taken = ask(library, state)
    assert (taken.statuses["nvml"], taken.status_of("gpus/count")) == (status, count)
    assert why in taken.probes["nvml"].reason
    assert (taken.statuses["system"], taken.statuses["env"]) == ("ok", "ok")
    assert taken.wall_s < DEADLINE_S + 2.0
    assert taken.left == ()


def test_of_a_lost_gpu_everything_is_unknown_and_the_other_is_complete(library):
    taken = ask(library, MODES["lost"][0])
    assert (taken.status_of(f"{FIRST}/memory_used_mib"), taken.snapshot.facts[f"{SECOND}/memory_used_mib"]) == ("error", 71234)


def test_what_was_told_before_nvml_hung_is_kept_and_the_rest_is_unknown(library):
    taken = ask(library, MODES["hangs"][0])
    assert taken.snapshot.facts["driver/version"] == "570.86.15"
    assert taken.status_of(f"{SECOND}/holders/python") == "timeout"


def test_a_process_whose_memory_nobody_tells_has_none_and_never_zero(library):
    taken = ask(library, f"proc 1 {os.getpid()} 70000\nproc 1 4194000 900\n")
    holders = taken.snapshot.below(f"{SECOND}/holders")
    assert holders
    assert 0 not in [told["used_mib"] for told in holders.values()]


def test_a_file_that_is_no_library_is_an_error_and_never_absent(tmp_path):
    (tmp_path / LIBRARY).write_bytes(b"not a library")
    taken = ask(tmp_path, "")
    assert (taken.statuses["nvml"], taken.status_of("gpus/count")) == ("error", "error")
    assert "no shared library" in taken.probes["nvml"].reason
