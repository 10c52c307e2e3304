"""The collectors that look at the machine itself run on the oldest Python that the agent promises."""

from __future__ import annotations

import pytest

from tests.lab import nvml_stand_in

CARD = "gpu NVIDIA_H100 81559 479 71234 5 5 16 16 0 0\nproc 0 4194305 70000\n"


@pytest.mark.parametrize("collector", ["system", "driver"])
def test_the_machine_is_told_on_the_oldest_python(collector, tmp_path):
    answer = nvml_stand_in.told(nvml_stand_in.start(collector, tmp_path, python=nvml_stand_in.oldest_python()))
    assert answer.status in ("ok", "absent")


def test_nvml_is_told_on_the_oldest_python(tmp_path):
    python = nvml_stand_in.oldest_python()
    answer = nvml_stand_in.told(nvml_stand_in.start("nvml", nvml_stand_in.build(tmp_path), CARD, python=python))
    assert (answer.status, answer.facts["gpus/count"], answer.facts["gpus/GPU-fa4e0000-0000-0000-0000-000000000000/unattributed_mib"]) == ("ok", 1, 1234)
