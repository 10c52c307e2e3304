"""The experiment follows the explanation: what it suspects is tried, the surest first, with its own commands."""

from __future__ import annotations

from dataclasses import replace

from driftwatch.explain.explanation import Command, Subject, Suspect, Term
from driftwatch.explain.plan import plan
from tests.explain.cases import case_of, package, snapshot, told

ERRORS, WATTS, SLURM = "gpus/GPU-0/ecc/volatile_corrected", "gpus/GPU-0/power_limit_w", "os_packages/slurmd/version"
GOOD = snapshot({ERRORS: 0, WATTS: 275, "os/id": "ubuntu", SLURM: "20", **package("six", "1")})
BAD = snapshot({ERRORS: 9, WATTS: 300, "os/id": "ubuntu", SLURM: "21", **package("six", "2")})


def blamed(kind, name, confidence, *commands, facts=()):
    return Suspect(Subject(kind, name), "", name, "~", 0, 1, confidence, (Term("so", 1.0, facts),), commands=commands, verdict=f"{name} fails.")


def planned(*suspects, only=()):
    case = case_of(GOOD, BAD)
    return plan(case, replace(told(GOOD, BAD), suspects=suspects), only)


def test_a_suspect_that_no_flip_takes_back_is_tried_as_the_explanation_says_and_the_strong_one_first():
    ecc = blamed("ecc", "GPU 0", 0.99, Command("look", "nvidia-smi -q"), Command("try", "nvidia-smi --gpu-reset", "as root"), facts=(ERRORS,))
    power = blamed("power-clock", "power limit", 0.1, Command("try", "nvidia-smi -pl 275"), Command("undo", "nvidia-smi -pl 300"), facts=(WATTS,))
    found = planned(ecc, power, blamed("package", "six", 0.6))
    assert [(one.cost, one.says) for one in found.steps[1:4]] == [("host", "GPU 0 fails"), ("pip", "six==1 (alone)"), ("host", "power limit fails")]
    assert (found.steps[1].lines, found.steps[1].note) == (("nvidia-smi --gpu-reset",), "as root; there is no undo")
    assert (found.steps[3].lines, found.steps[3].undo) == (("nvidia-smi -pl 275",), ("nvidia-smi -pl 300",))
    assert found.untouched == ()


def test_processes_are_ended_where_the_explanation_ends_them_and_looked_at_where_it_knows_no_try():
    held = blamed("gpu-process", "sglang", 0.9, Command("confirm", "ps -o pid"), Command("try", "kill 1 2", "look at them first"))
    blind = blamed("gpu-memory", "free memory", 0.9, Command("confirm", "nvidia-smi"))
    steps = planned(held, blind).steps
    assert [(one.cost, one.lines) for one in steps[1:3]] == [("process", ("kill 1 2",)), ("process", ("nvidia-smi",))]
    assert steps[2].note == "no command here takes it back: look, and judge by yourself"


def test_a_flip_of_what_speaks_for_a_strong_suspect_goes_before_a_cheaper_weak_one():
    slurm = blamed("env-var", "CUDA_VISIBLE_DEVICES", 0.97, Command("confirm", "printenv"), facts=(SLURM,))
    assert [one.says for one in planned(slurm, blamed("package", "six", 0.1)).steps[1:]] == ["slurmd 20", "six==1 (alone)"]


def test_an_argument_that_did_not_move_is_tried_with_the_value_that_works():
    fraction = blamed("launch-arg", "mem_fraction_static", 0.95, Command("try", "# start the server with --mem-fraction-static 0.82", "restarts the server"))
    assert (planned(fraction).steps[1].cost, planned(fraction).steps[1].note) == ("argument", "restarts the server")


def test_only_leaves_the_other_suspects_out():
    assert [one.cost for one in planned(blamed("ecc", "GPU 0", 0.99, facts=(ERRORS,)), only=("packages/*",)).steps] == ["control", "pip"]
