from __future__ import annotations

from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import places, snapshot, suspect, told, unknown

LOST = Symptom("device-lost", "Failed to initialize NVML: Driver/library version mismatch")


def driver(module="550.90.07", library="550.90.07", on_disk="550.90.07", **more):
    facts = {
        "driver/module/version": module,
        "driver/library/libcuda/version": library,
        "driver/library/libnvidia-ml/version": library,
        "driver/on_disk/version": on_disk,
        **more,
    }
    return snapshot({path: value for path, value in facts.items() if value is not None})


def test_a_driver_pair_that_broke_is_strong():
    found = told(driver(), driver(library="550.107.02", on_disk="550.107.02"), LOST)
    one = suspect(found, "driver", "NVIDIA driver")
    assert (one.mark, one.good, one.bad, one.strength) == ("!", "550.90.07 loaded", "550.107.02 libcuda", "strong")


def test_a_pair_that_is_broken_while_nothing_known_changed_is_found_all_the_same():
    bad = driver(library="550.107.02", on_disk="550.107.02")
    found = told(snapshot(driver=ProbeResult("timeout")), bad, LOST)
    assert suspect(found, "driver", "NVIDIA driver").confidence >= 0.5


def test_a_pair_that_was_broken_before_makes_the_baseline_doubtful():
    snap = driver(library="550.107.02")
    found = told(snap, snap, LOST)
    assert (found.suspects, found.doubts[0].startswith("the driver already disagreed with itself on the good side")) == ((), True)


def test_a_forward_compatible_libcuda_may_be_newer():
    snap = driver(**{"driver/library/libcuda/version": "580.1", "driver/library/libcuda/path": "/usr/local/cuda/compat/libcuda.so.580.1"})
    assert told(driver(), snap, LOST).suspects == ()


def test_a_driver_that_moved_as_a_whole_is_told_as_one_thing():
    found = told(driver(), driver("580.1", "580.1", "580.1"), Symptom("slow", None))
    assert [(one.subject.name, one.good, one.bad) for one in found.suspects] == [("NVIDIA driver", "550.90.07", "580.1")]


def test_a_module_that_is_gone_names_the_kernel_that_lacks_it():
    found = told(driver(**{"kernel/release": "5.15.0-88"}), driver(None, on_disk=None, **{"kernel/release": "5.15.0-116"}), LOST)
    assert found.suspects[0].subject.kind == "kernel-module"
    assert "another kernel runs, 5.15.0-88 → 5.15.0-116: a module is built for one kernel" in [term.says for term in found.suspects[0].because]


def test_a_host_that_never_had_a_module_is_neither_blamed_nor_doubted():
    snap = driver(None, on_disk=None)
    found = told(snap, snap, LOST)
    assert (found.suspects, found.doubts) == ((), ())


def test_an_equal_driver_is_ruled_out_only_where_every_part_is_known():
    assert places(told(driver(), driver(**{"os/id": "x"}), LOST), "NVIDIA driver") == ["ruled_out"]
    assert places(told(driver(), driver(**{"driver/library/libcuda/version": unknown("denied")}), LOST), "NVIDIA driver") == ["not_checked"]


def test_another_kernel_and_another_python_are_suspects():
    good, bad = snapshot({"kernel/release": "6.8.0-79", "python/version": "3.11.9"}), snapshot({"kernel/release": "6.8.0-84", "python/version": "3.12.3"})
    assert [one.subject.kind for one in told(good, bad, Symptom("import-error", None)).suspects] == ["python", "kernel"]
