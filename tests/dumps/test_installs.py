"""What installers say is installed: no demand, plan, download or removal becomes a version."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import is_unknown

KEPT = "Requirement already satisfied: torch in /opt/env/lib/python3.11/site-packages (from flash-attn) (2.4.1)\n"
UV = """Using Python 3.12.3 environment at: env
Resolved 3 packages in 9ms
Installed 2 packages in 160ms
 - numpy==1.26.4
 + numpy==2.1.3
 ~ torch==2.5.1+cu124
"""


def versions(text):
    found = read_dump(text, "paste").facts
    return {path.split("/")[1]: value for path, value in found.items() if path.startswith("packages/") and path.endswith("/version")}


def test_what_was_there_already_stands_in_the_last_brackets():
    assert versions("Requirement already satisfied: typing-extensions>=4.8.0 in /opt/env (from torch->flash-attn) (4.12.2)\n" + KEPT) == {
        "typing-extensions": "4.12.2", "torch": "2.4.1"}


def test_the_rows_below_what_uv_installed_are_installed_and_those_taken_away_are_not():
    assert versions(UV) == {"numpy": "2.1.3", "torch": "2.5.1+cu124"}


def test_pip_s_last_line_names_what_it_installed():
    assert versions("Successfully installed nvidia-nccl-cu12-2.21.5 sgl_kernel-0.1.0\n") == {"nvidia-nccl-cu12": "2.21.5", "sgl-kernel": "0.1.0"}


@pytest.mark.parametrize("text", [UV.replace("Installed 2 packages in 160ms", "Would install 2 packages"), KEPT.replace(" (2.4.1)", ""),
                                  "Collecting torch==2.4.1\n  Downloading torch-2.4.1-cp311.whl (797 MB)\n"])
def test_a_plan_a_demand_and_a_download_are_no_versions(text):
    found = read_dump(KEPT.replace("torch in", "einops in") + "\n\n" + text, "paste")
    assert "packages/torch/version" not in found.facts


@pytest.mark.parametrize("text", ["Successfully installed einops-0.8.0 numpy-2", UV + " + numba==0"])
def test_a_last_version_that_may_be_cut_is_unknown(text):
    assert any(map(is_unknown, versions(text).values()))
