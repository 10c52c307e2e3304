from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from driftwatch.store import document
from tests.explain.cases import package, snapshot, unknown

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
SIDES = (SNAPSHOTS / "good.json", SNAPSHOTS / "bad.json")
SERVER = {"servers/sglang/running": True, "servers/sglang/env/PATH": "/bin"}
HEADS = ("4e1b0a7" + "0" * 33, "9c2e1d1" + "0" * 33)


def facts(version, *, head, release, driver, **variables):
    """Return a host on which one thing of each cost stands as told."""
    found = {**SERVER, "servers/sglang/args/tp_size": 8, "python/executable": "/opt/venv/bin/python", "kernel/release": release, "driver/version": driver}
    found |= {f"servers/sglang/env/{name}": value for name, value in variables.items()}
    found |= {"git/sglang/head": head, "git/sglang/branch": "main", "git/sglang/root": "/root/sglang"}
    for name in ("torch", "triton", "nvidia-nccl-cu12", "xgrammar"):
        found |= package(name, version)
    return found


@pytest.fixture
def pair(cli):
    """Return a maker of the files of two snapshots."""

    def make(good, bad):
        for name, one in (("good.json", good), ("bad.json", bad)):
            (cli.home / name).write_bytes(document.to_bytes(snapshot(one)))
        return cli.home / "good.json", cli.home / "bad.json"

    return make


@pytest.fixture
def everything(pair):
    good = facts("2.9.1", head=HEADS[0], release="6.8.0-79", driver="580.95.05")
    bad = facts("2.9.2", head=HEADS[1], release="6.8.0-84", driver="580.105.08", NCCL_P2P_DISABLE="1")
    return pair({**good, "servers/sglang/args/mem_fraction_static": 0.85}, {**bad, "servers/sglang/args/mem_fraction_static": 0.55})


def steps(cli, *words):
    return json.loads(cli.run("plan", *words, "--json").stdout)["steps"]


def test_the_control_run_is_first_and_the_flips_are_cheapest_first(cli, everything):
    assert [one["kind"] for one in steps(cli, *everything)] == ["control", "env", "argument", "pip", "pip", "checkout", "reboot", "driver"]


def test_what_cannot_move_alone_moves_together(cli, everything):
    together, alone = sorted((one for one in steps(cli, *everything) if one["kind"] == "pip"), key=lambda one: "alone" in one["says"])
    install = "/opt/venv/bin/python -m pip install --no-deps"
    assert together["try"] == [f"{install} torch==2.9.1 nvidia-nccl-cu12==2.9.1 triton==2.9.1"]
    assert (alone["try"], alone["undo"]) == ([f"{install} xgrammar==2.9.1"], [f"{install} xgrammar==2.9.2"])


def test_a_library_of_torch_that_moved_by_itself_flips_alone(cli, pair):
    sides = pair(package("torch", "2.9.1") | package("nvidia-nccl-cu12", "2.27.5"), package("torch", "2.9.1") | package("nvidia-nccl-cu12", "2.28.3"))
    assert [one["says"] for one in steps(cli, *sides)][1:] == ["nvidia-nccl-cu12==2.27.5 (alone)"]


def test_every_flip_has_an_undo_that_brings_the_bad_side_back(cli, everything):
    found = {one["kind"]: (one["try"], one["undo"]) for one in steps(cli, *everything)[1:]}
    assert all(undo for _, undo in found.values())
    assert found["env"] == (["unset NCCL_P2P_DISABLE"], ["export NCCL_P2P_DISABLE=1"])
    assert found["argument"] == (["# start the server with --mem-fraction-static 0.85"], ["# start the server with --mem-fraction-static 0.55"])
    assert found["checkout"] == ([f"git -C /root/sglang checkout --detach {HEADS[0]}"], ["git -C /root/sglang checkout main"])


def test_a_package_that_is_new_is_taken_away_and_one_that_is_gone_comes_back(cli, pair):
    sides = pair(package("rich", "14"), package("quack-kernels", "0.2"))
    found = {one["says"]: (one["try"], one["undo"]) for one in steps(cli, *sides)[1:]}
    assert found["without quack-kernels (alone)"][0] == ["python3 -m pip uninstall -y quack-kernels"]
    assert found["rich==14 (alone)"] == (["python3 -m pip install --no-deps rich==14"], ["python3 -m pip uninstall -y rich"])


def test_a_package_of_the_system_flips_by_its_manager_and_the_drivers_go_with_the_driver(cli, pair):
    def host(version):
        names = ("libnccl2", "libnvidia-compute-580", "linux-image-generic")
        return {"os/id": "ubuntu", "driver/version": version, **{f"os_packages/{name}/version": version for name in names}}

    found = {one["kind"]: one for one in steps(cli, *pair(host("1-1"), host("1-2")))}
    assert found["os"]["try"] == ["apt-get install --allow-downgrades libnccl2=1-1"]
    assert list(found) == ["control", "os", "driver"]


def test_many_unsuspected_packages_are_one_step(cli, pair):
    names = [f"package-{number}" for number in range(40)]
    sides = pair(*({path: value for name in names for path, value in package(name, version).items()} for version in ("1", "2")))
    found = [one for one in steps(cli, *sides) if one["kind"] == "pip"]
    assert len(found) < 12
    assert sum(line.count("package-") for one in found for line in one["try"]) == 40


def test_only_keeps_what_fits(cli, everything):
    assert {one["kind"] for one in steps(cli, *everything, "--only", "packages/*")} == {"control", "pip"}


def test_a_side_that_could_not_be_read_makes_no_flip(cli, pair):
    good = {**SERVER, "servers/sglang/env/NCCL_ALGO": "Ring", "driver/version": "580.95.05"}
    sides = pair(good, {"servers/sglang/running": True, "servers/sglang/env": unknown("denied"), "driver/version": unknown("timeout")})
    assert steps(cli, *sides) == []


def test_equal_sides_have_no_step_and_exit_0(cli, pair):
    ran = cli.run("plan", *pair(SERVER, SERVER))
    assert (ran.returncode, ran.stdout) == (0, "nothing that differs can be taken back: there is nothing to try\n")


def test_what_no_step_takes_back_is_named(cli, pair):
    told = json.loads(cli.run("plan", *pair({"gpus/count": 8}, {"gpus/count": 7}), "--json").stdout)
    assert told["untouched"] == ["gpus/count"]


def test_the_text_shows_each_step_with_its_cost_and_undo(cli):
    ran = cli.run("plan", *SIDES)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 1
    assert lines[0].startswith("0  control   run the good setup again")
    assert "1  argument  --mem-fraction-static 0.85" in ran.stdout
    assert "undo     # start the server with --mem-fraction-static 0.55" in ran.stdout
    assert max(len(line) for line in lines) <= 80


def test_the_lines_for_a_shell_do_nothing_when_run_as_a_whole(cli, everything):
    script = cli.run("plan", *everything, "--shell").stdout
    assert "unset NCCL_P2P_DISABLE\n# undo: export NCCL_P2P_DISABLE=1\n" in script
    assert subprocess.run(["sh", "-xec", script], capture_output=True, text=True, check=True).stderr == "+ exit 0\n"


def test_a_hostile_value_stays_one_word_of_one_line(cli, pair):
    sides = pair({**SERVER, "servers/sglang/env/NCCL_ALGO": "'; touch gone\n`touch gone`\x1b[2J"}, {**SERVER, "servers/sglang/env/NCCL_ALGO": "Ring"})
    script = cli.run("plan", *sides, "--shell").stdout
    assert "\x1b" not in script
    (line,) = (line for line in script.splitlines() if line.startswith("export NCCL_ALGO="))
    subprocess.run(["sh", "-c", line], cwd=cli.home, check=True)
    assert not (cli.home / "gone").exists()


def test_the_plan_is_of_the_symptom_that_is_told(cli, everything):
    for more in (("--symptom", "oom"), ("--error", "RuntimeError: Not enough memory. --mem-fraction-static")):
        assert steps(cli, *everything, *more)[1]["kind"] == "argument"
