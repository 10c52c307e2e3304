# ruff: noqa: RUF001  the signs that explanations use are the point here
from __future__ import annotations

import pytest

from driftwatch.explain.asked import answers
from driftwatch.model import Symptom
from tests.explain.cases import OOM, case_of, no_server, package, places, snapshot, start, suspect, told, unknown

FRACTION = ("launch-arg", "mem_fraction_static")
GPUS = {f"gpus/GPU-{number}/unattributed_mib": 0 for number in range(8)}


def held(used_mib, name="sglang::scheduler_TP", gpus=range(8)):
    return {f"gpus/GPU-{number}/holders/{name}{number}": {"count": 1, "used_mib": used_mib, "pids": [4000 + number]} for number in gpus}


def served(before, after, fraction, **more):
    return snapshot({**GPUS, **held(80000), **start(before, after, fraction, running=True, **{"log/ready": True, "log/kv_cache_gib": 7.7}, **more)})


def failed(before, after, fraction, **more):
    return snapshot({**GPUS, **no_server(), **start(before, after, fraction, **{"log/error": OOM.signature}), **more})


def test_a_fraction_that_leaves_no_room_is_the_one_strong_suspect_with_its_sum():
    found = told(served(94.5, 21.93, 0.85), failed(94.5, 21.93, 0.55), OOM)
    (one,) = found.suspects
    assert ((one.subject.kind, one.subject.name), one.strength, found.word) == (FRACTION, "strong", "LIKELY")
    assert one.sum.rows == (("good  21.93 − 94.50 × (1 − 0.85)", "+7.76", "for the KV cache"), ("bad   21.93 − 94.50 × (1 − 0.55)", "−20.60", "short"))
    assert found.verdict == "--mem-fraction-static 0.85 → 0.55 leaves no room for the KV cache. With this model on these GPUs it must be above 0.768."


def test_the_sum_is_enough_without_a_symptom():
    assert told(served(94.5, 21.93, 0.85), failed(94.5, 21.93, 0.55)).word == "LIKELY"


def test_the_fraction_is_found_without_the_good_sides_log():
    good = snapshot(
        {
            "servers/sglang/running": True,
            "servers/sglang/given/mem_fraction_static": "0.85",
            "servers/sglang/args": unknown("not_recorded"),
            "servers/sglang/log": unknown("not_recorded", "no server log was named: --log FILE"),
        }
    )
    found = told(good, failed(94.5, 21.93, 0.55), OOM)
    assert suspect(found, *FRACTION).confidence >= 0.8
    assert "?" in [term.sign for term in suspect(found, *FRACTION).because]


def test_where_memory_is_equal_at_both_points_nothing_else_is_blamed():
    good = snapshot({**served(94.5, 21.93, 0.85, **{"args/disable_custom_all_reduce": True}).facts, **package("httpx", "1"), **package("torch", "2.9.0")})
    bad = failed(94.5, 21.93, 0.55, **{"servers/sglang/args/disable_custom_all_reduce": False}, **package("httpx", "2"), **package("torch", "2.9.1"))
    assert [one.subject.name for one in told(good, bad, OOM).suspects if one.confidence >= 0.2] == ["mem_fraction_static"]


def test_an_even_hog_on_all_gpus_is_blamed_and_not_the_unmoved_fraction():
    found = told(served(94.5, 21.93, 0.85), failed(82.1, 9.53, 0.85, **held(12697)), OOM)
    assert found.suspects[0].subject.kind == "gpu-process"
    assert found.suspects[0].subject.name.startswith("sglang::scheduler ×8 (pid 4000, 4001")
    assert found.suspects[0].strength == "strong"
    assert suspect(found, *FRACTION) is None


def test_memory_that_fell_with_no_holder_in_sight_is_blamed_itself():
    found = told(served(94.5, 21.93, 0.85), failed(82.1, 9.53, 0.85), OOM)
    assert found.suspects[0].subject.name == "free memory before launch"
    assert found.verdict.startswith("12.40 GiB of GPU memory were taken before the server loaded its weights")


def test_memory_that_was_taken_while_loading_is_told_as_such():
    assert told(served(94.5, 21.93, 0.85), failed(94.5, 9.0, 0.85), OOM).suspects[0].subject.name == "memory taken while the model loads"


def test_where_the_fraction_and_the_memory_moved_the_one_that_fails_alone_leads():
    found = told(served(94.5, 21.93, 0.85), failed(93.5, 20.93, 0.55), OOM)
    assert found.suspects[0].subject.name == "mem_fraction_static"
    assert all(one.confidence < 0.2 for one in found.suspects[1:])


def test_a_fraction_that_neither_side_could_start_with_is_told_first_and_no_change_is_blamed():
    given = {"servers/sglang/given/model_path": "/m", "servers/sglang/args/tp_size": 8}
    found = told(failed(94.5, 21.93, 0.55, **given), failed(94.5, 21.93, 0.55, **given, **package("httpx", "2")), OOM)
    assert "−20.60 GiB for the KV cache; --mem-fraction-static must be above 0.768, whatever else differs" in found.verdict
    assert not [one for one in found.suspects if one.confidence >= 0.2]
    assert not [entry for entry in found.ruled_out if entry.subject.kind == "launch-arg"]
    (asked,) = answers(case_of(failed(94.5, 21.93, 0.55, **given), failed(94.5, 21.93, 0.55, **given), OOM), found, ["mem-fraction-static"])
    assert (asked.answer, "must be above 0.768" in asked.because) == ("not_checked", True)


def test_memory_that_others_hold_on_both_sides_leaves_the_baseline_doubtful_and_the_fraction_alone():
    found = told(failed(60.0, 2.0, 0.85, **held(30000)), failed(60.0, 2.0, 0.85, **held(30000), **package("httpx", "2")), OOM)
    assert found.verdict.startswith("The baseline is doubtful: the good side could not have started either")
    assert suspect(found, *FRACTION) is None


def test_the_same_doubtful_side_twice_has_no_suspect():
    snap = failed(94.5, 21.93, 0.55)
    assert told(snap, snap, OOM).suspects == ()


def test_a_good_side_that_served_is_not_doubted_by_the_sum():
    assert told(served(94.5, 21.93, 0.55), failed(94.5, 21.93, 0.55), OOM).doubts == ()


def test_a_sum_with_room_on_both_sides_clears_the_fraction():
    found = told(served(94.5, 21.93, 0.85), failed(94.5, 21.93, 0.85), Symptom("oom", "CUDA out of memory"))
    assert places(found, "mem_fraction_static") == ["ruled_out"]


@pytest.mark.parametrize("name", ["free_before_load_gib", "free_after_load_gib"])
def test_without_the_bad_sides_numbers_there_is_no_sum(name):
    found = told(served(94.5, 21.93, 0.85), failed(94.5, 21.93, 0.55, **{f"servers/sglang/log/{name}": unknown("error", "cut")}), OOM)
    assert suspect(found, *FRACTION).sum is None


def test_the_sum_is_sglangs_alone():
    def of_vllm(snap):
        return snapshot({path.replace("servers/sglang", "servers/vllm"): value for path, value in snap.facts.items()})

    assert suspect(told(of_vllm(served(94.5, 21.93, 0.85)), of_vllm(failed(94.5, 21.93, 0.55)), OOM), *FRACTION).sum is None


def test_a_stranger_on_one_gpu_is_named_with_its_memory():
    good, bad = snapshot({**GPUS, "servers/sglang/running": True, **held(80000)}), snapshot({**GPUS, **no_server(), **held(28500, "python", [1])})
    found = told(good, bad, Symptom("startup-crash", "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes."))
    assert (found.word, found.suspects[0].bad) == ("LIKELY", "1 holding 28,500 MiB")


def test_a_small_holder_and_one_that_was_there_before_are_not_blamed():
    good, bad = snapshot({**GPUS, **held(9000, "Xorg", [0])}), snapshot({**GPUS, **held(9100, "Xorg", [0]), **held(40, "gnome", [0])})
    assert told(good, bad, OOM).suspects == ()


def test_a_running_servers_own_processes_are_not_strangers():
    snap = snapshot({**GPUS, "servers/vllm/running": True, **held(80000, "VLLM::Worker_TP")})
    found = told(snap, snapshot({**snap.facts, "env/A": "1"}), OOM)
    assert places(found, "other GPU processes") == ["ruled_out"]


def test_memory_that_nobody_is_listed_for_is_blamed_only_where_no_server_runs():
    loose = {f"gpus/GPU-{number}/unattributed_mib": 22000 for number in range(8)}
    assert told(snapshot(GPUS), snapshot({**loose, **no_server()}), OOM).suspects[0].subject.name == "unattributed memory, held by no listed process"
    inside = {"servers/sglang/running": True}
    assert told(snapshot({**GPUS, **inside}), snapshot({**loose, **inside}), OOM).suspects == ()


def test_other_processes_are_not_ruled_out_where_nvml_hung():
    found = told(snapshot(GPUS), snapshot({**GPUS, "gpus/GPU-1/holders": unknown("timeout")}), OOM)
    assert places(found, "other GPU processes") == []


@pytest.mark.parametrize(("before", "name"), [
    ({}, "python3 ×2 (pid 23811 and 23812)"),
    ({"holders/python3/count": 2, "holders/python3/gpus": ["GPU-0"]}, "unattributed memory, held by no listed process"),
])
def test_memory_that_nvml_lists_for_nobody_is_that_of_who_has_come_and_has_the_gpu_open(before, name):
    opened = {"holders/python3/count": 2, "holders/python3/gpus": ["GPU-0"], "holders/python3/pids": [23811, 23812]}
    bad = snapshot({**GPUS, **no_server(), "gpus/GPU-0/unattributed_mib": 17452, **opened})
    assert told(snapshot({**GPUS, **before}), bad, OOM).suspects[0].subject.name == name


@pytest.mark.parametrize(("known", "end"), [({"containers/old/id": "72a7ab31"}, "docker stop old"), ({}, "kill 4000")])
def test_a_process_in_a_container_is_ended_by_the_container_that_would_start_it_again(known, end):
    bad = snapshot({**GPUS, **no_server(), **held(21350, "llama-server", range(1)), "holders/llama-server0/container": "72a7ab31", **known})
    found = told(snapshot(GPUS), bad, OOM)
    assert found.suspects[0].commands[2].run == end
    assert ("in the container old" in found.verdict) is bool(known)


@pytest.mark.parametrize(("before", "is_blamed"), [({}, True), (held(17368, "ollama", range(1)), False)])
@pytest.mark.parametrize(("unit", "end"), [("ollama.service", "systemctl stop ollama.service"), ("containerd.service", "kill 4000")])
def test_a_server_of_another_engine_takes_the_room_of_the_one_that_failed(before, is_blamed, unit, end):
    other = {"servers/ollama/running": True, "holders/ollama0/unit": unit}
    good = snapshot({**GPUS, "servers/vllm/running": True, **other, **held(38900, "VLLM::EngineCore", range(1)), **before})
    failed_there = {"servers/vllm/running": None, "servers/vllm/log/error": "ValueError: Free memory on device cuda:0 (27.18/44.4 GiB) on startup is less"}
    bad = snapshot({**GPUS, **failed_there, **other, **held(17368, "ollama", range(1))})
    found = suspect(told(good, bad, Symptom("oom", None)), "gpu-process", "ollama0 ×1 (pid 4000)")
    assert (found is not None) is is_blamed
    assert found is None or found.commands[2].run == end
