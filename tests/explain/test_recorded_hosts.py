"""The founding story, end to end: the collectors on recorded hosts, compared and explained."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from driftwatch.capture.plan import plan_for
from driftwatch.capture.take import Order, take_recorded
from driftwatch.symptom import of_snapshot
from tests.explain.cases import places, told

HOSTS = Path(__file__).parent.parent / "hosts"


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    def explain_host(name):
        folder = tmp_path_factory.mktemp("hosts")
        subprocess.run(["tar", "xf", str(HOSTS / f"{name}.tar.xz"), "-C", str(folder)], check=True, timeout=60)
        good, bad = (take_recorded(str(folder / name / side), Order(plan_for(), key=b"k" * 32, key_id="k1")) for side in ("good", "bad"))
        return told(good, bad, of_snapshot(bad))

    return {name: explain_host(name) for name in ("s1-seed-fraction", "s4-seed-probe-hang")}


@pytest.mark.parametrize("name", ["s1-seed-fraction", "s4-seed-probe-hang"])
def test_the_fraction_is_the_one_strong_suspect(explained, name):
    found = explained[name]
    assert (found.word, [(one.subject.name, one.strength) for one in found.suspects]) == ("LIKELY", [("mem_fraction_static", "strong")])


def test_what_was_suspected_in_the_story_is_ruled_out(explained):
    ruled_out = {one.subject.name for one in explained["s1-seed-fraction"].ruled_out}
    assert {"sgl-kernel", "sglang sources", "git head of /root/sglang", "NVIDIA driver", "torch"} <= ruled_out


def test_a_kernel_package_whose_folder_hangs_is_not_checked(explained):
    assert places(explained["s4-seed-probe-hang"], "sgl-kernel") == ["not_checked"]
