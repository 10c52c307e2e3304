"""`driftwatch show`: one page, single facts for scripts, and the layout of check_env that our own reader takes back."""

from __future__ import annotations

import json
import re

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import ProbeResult, Snapshot, is_unknown
from driftwatch.report.check_env import left_out, render_check_env
from driftwatch.report.overview import render_overview
from driftwatch.report.page import Page, measure
from driftwatch.store import document
from tests.cli.conftest import ROOT
from tests.report.test_text import HOSTILE

EXAMPLE = ROOT / "snapshots/bad.json"
PASTE = """\
Python: 3.12.12 (main, Oct 10 2025, 08:52:57) [GCC 11.4.0]
CUDA available: True
GPU 0,1: NVIDIA B200
GPU 0,1 Compute Capability: 10.0
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 12.9, V12.9.86
CUDA Driver Version: 580.95.05
PyTorch: 2.9.1+cu129
sglang: 0.5.12
sglang-kernel: 0.4.2.post2
flashinfer_python: 0.6.3
flashinfer_cubin: 0.6.3
flashinfer_jit_cache: 0.6.3+cu129
triton: 3.5.1
transformers: 5.3.0
numpy: 2.3.5
xgrammar: 0.1.27
NVIDIA Topology: \n\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tNODE\t0-55\t0\tN/A
GPU1\tNV18\t X \tSYS\t56-111\t1\tN/A
NIC0\tNODE\tSYS\t X

NIC Legend:

  NIC0: mlx5_0

Hypervisor vendor:: KVM
ulimit soft: 1048576
"""


def known(snapshot):
    return {path: value for path, value in snapshot.facts.items() if not is_unknown(value)}


def test_a_paste_of_check_env_is_printed_so_that_it_is_read_back_to_the_same_facts():
    first = read_dump(PASTE, "paste")
    again = read_dump(render_check_env(first, Page()), "again")
    assert (again.source, known(again)) == ("sglang-check-env", known(first))
    assert len(known(first)) > 20


def test_a_snapshot_of_ours_in_that_layout_is_read_back_to_what_it_told():
    ours = document.load(EXAMPLE)
    again = read_dump(render_check_env(ours, Page()), "again")
    by_number = {f"gpus/index-{facts}/name" for facts in range(8)}
    assert {path for path in known(again) if ours.facts.get(path) != again.facts[path]} == by_number
    assert len(known(again)) > 35


def test_what_a_snapshot_does_not_know_has_no_row_and_is_named():
    silent = Snapshot("a", None, probes={"packages": ProbeResult("timeout", tells=("packages/*",))}, facts={"python/version": "3.12.0"})
    assert render_check_env(silent, Page()) == "Python: 3.12.0\n"
    assert "sglang: timeout: packages" in left_out(silent)


def test_the_command_prints_that_layout_and_says_beside_it_what_has_no_row(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "--format", "check-env")
    assert (ran.returncode, ran.stdout) == (0, "CUDA Driver Version: 580.95.05\n")
    assert "note: no row for PyTorch: not recorded: no probe that answers for it was asked\n" in ran.stderr


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_page_of_a_snapshot_fits_and_names_what_gave_no_answer(width):
    for name in ("good", "bad"):
        drawn = render_overview(document.load(ROOT / f"snapshots/{name}.json"), Page(width))
        assert max(map(measure, drawn.splitlines())) <= width
        assert "? env" in drawn


def test_the_page_tells_the_gpus_the_driver_the_packages_and_the_server(cli):
    drawn = " ".join(cli.run("show", EXAMPLE).stdout.split())
    for said in ("0-7 NVIDIA RTX PRO 6000", "580.126.09, open", "sgl-kernel 0.3.21", "--mem-fraction-static 0.55", "before load 94.5 GiB"):
        assert said in drawn


@pytest.mark.parametrize("word", HOSTILE, ids=[f"word{number}" for number in range(len(HOSTILE))])
def test_nothing_on_that_page_steers_the_terminal(word):
    facts = {f"servers/{word}/running": word, "os/name": word, "gpus/x/name": word, f"git/{word}/head": word, "packages/torch/version": {"unknown": word}}
    shown = Snapshot(word, word, probes={word: ProbeResult("timeout", reason=word)}, facts=facts)
    for drawn in (render_overview(shown, Page(80)), render_check_env(shown, Page(80))):
        assert re.sub(r"[\n\t]", "", drawn).isprintable()


def test_several_facts_are_asked_at_once_and_each_is_told_or_said_to_be_unknown(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "driver/version", "driver/flavour", "gpus/count")
    assert (ran.returncode, ran.stdout) == (3, "driver/flavour  absent\ndriver/version  580.95.05\n")
    assert ran.stderr == "? gpus/count  timeout: nvml: no answer in 20 s\n"


def test_the_bare_value_of_a_fact_is_for_scripts(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "driver/version", "--value")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "580.95.05\n", "")
    assert cli.run("show", snapshot_file("x.json"), "driver/flavour", "--value").stdout == "\n"


def test_values_stand_in_the_order_in_which_they_were_asked(cli, snapshot_file):
    assert cli.run("show", snapshot_file("x.json", **{"a/b": 1}), "driver/version", "a/b", "--value").stdout == "580.95.05\n1\n"


@pytest.mark.parametrize(("glob", "do"), [
    ("driver/x*", "driftwatch show REF --all"), ("driver/vresion*", "did you mean driver/version?"), ("drivr/*", "did you mean driver/*?"),
])
def test_a_glob_that_fits_no_fact_is_wrong_use_with_the_nearest_one(cli, snapshot_file, glob, do):
    ran = cli.run("show", snapshot_file("x.json"), glob)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"error: no fact of gpu-a fits {glob}\n    do: {do}\n")


def test_a_value_of_no_fact_is_wrong_use(cli, snapshot_file):
    ran = cli.run("show", snapshot_file("x.json"), "--value")
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, "error: --value prints the values of facts, and none is named")


def test_facts_as_json_hold_null_for_absent_and_the_reason_for_unknown(cli, snapshot_file):
    told = json.loads(cli.run("show", snapshot_file("x.json"), "driver/flavour", "gpus/count", "--json").stdout)
    assert told["facts"] == {"driver/flavour": None, "gpus/count": {"unknown": "timeout", "reason": "nvml: no answer in 20 s"}}


def test_a_page_can_be_shown_to_strangers(cli, snapshot_file):
    path = snapshot_file("x.json", **{"os/name": "Ubuntu on gpu-a at 192.0.2.17"})
    assert "gpu-a" in cli.run("show", path).stdout
    for more in ((), ("--all",), ("--json",), ("os/name",)):
        shown = cli.run("show", path, "--anonymise", *more).stdout
        assert "gpu-a" not in shown
        assert "192.0.2.17" not in shown


def test_what_a_paste_never_prints_is_told_once(cli):
    (cli.home / "paste.txt").write_text("Package Version\n------- -------\ntorch   2.9.1\nsglang  0.5.9\n")
    told = cli.run("show", "paste.txt", "--as", "pip-list").stdout
    assert told.count("never printed by pip-list") == 1
