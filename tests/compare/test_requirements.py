"""Requirements against the installed set: versions, extras, markers, names that moved, and silence where anything is unknown."""

from __future__ import annotations

from driftwatch.compare.requirements import Unmet, unmet
from driftwatch.model import ProbeResult, Snapshot

TELLS = ("packages", "packages/*", "python/version")


def snapshot(*facts, status="ok", python="3.12.3", **requires):
    """Return a snapshot with these (name, version) and what each distribution requires."""
    told = {f"packages/{name}/version": version for name, version in facts}
    told.update({f"packages/{name.replace('_', '-')}/requires": list(lines) for name, lines in requires.items()})
    return Snapshot("h", None, probes={"packages": ProbeResult(status, tells=TELLS)}, facts={**told, **({"python/version": python} if python else {})})


def test_an_installed_set_that_fits_has_nothing_unmet():
    assert unmet(snapshot(("sglang", "0.5.9"), ("torch", "2.9.1+cu128"), sglang=["torch==2.9.1"])) == ()


def test_a_version_outside_of_what_is_wanted_is_told():
    assert unmet(snapshot(("torch", "2.8.0"), sglang=["torch==2.9.1"])) == (Unmet("sglang", "torch==2.9.1", "torch", "2.8.0"),)


def test_what_is_missing_is_told_with_what_is_there_under_another_name():
    facts = (("sgl-kernel", "0.3.21"), ("nvidia-nccl-cu12", "2.27.5"))
    found = unmet(snapshot(*facts, sglang=["sglang-kernel==0.4.1", "nvidia-nccl-cu13==2.28.9", "orjson"]))
    assert [(one.name, one.installed, one.instead) for one in found] == [
        ("sglang-kernel", None, "sgl-kernel 0.3.21"), ("nvidia-nccl-cu13", None, "nvidia-nccl-cu12 2.27.5"), ("orjson", None, "")]


def test_a_requirement_of_an_extra_counts_where_somebody_asks_for_the_extra():
    lines = {"flashinfer_python": ["nvidia-cutlass-dsl>=4; extra == 'cu13'"]}
    assert unmet(snapshot(("flashinfer-python", "0.6"), **lines)) == ()
    found = unmet(snapshot(("flashinfer-python", "0.6"), **lines, sglang=["flashinfer_python[cu13]==0.6"]))
    assert [one.name for one in found] == ["nvidia-cutlass-dsl"]


def test_markers_are_judged_for_the_host_s_python_on_linux():
    lines = ["tomli; python_version < '3.11'", "pywin32; sys_platform == 'win32'", "uvloop; sys_platform != 'win32'", "x86; platform_machine == 'x86_64'"]
    assert [one.name for one in unmet(snapshot(sglang=lines))] == ["uvloop"]
    assert [one.name for one in unmet(snapshot(sglang=lines, python="3.10.1"))] == ["tomli", "uvloop"]


def test_where_the_python_is_unknown_what_turns_on_it_is_not_judged():
    assert unmet(snapshot(sglang=["tomli; python_version < '3.11'"], python="")) == ()


def test_what_is_unknown_is_not_judged():
    assert unmet(snapshot(("torch", {"unknown": "error", "reason": "broken"}), sglang=["torch==2.9.1"])) == ()
    assert unmet(snapshot(sglang=["torch==2.9.1"], status="timeout")) == ()


def test_lines_and_versions_that_make_no_sense_are_passed_over():
    assert unmet(snapshot(("old", "not a version"), sglang=["old>=1", "=== ???"])) == ()


def test_a_pre_release_that_is_installed_counts_as_its_version():
    assert unmet(snapshot(("flash-attn-4", "4.0.0b14"), sglang=["flash-attn-4>=4.0.0b4"])) == ()


def test_the_same_wish_is_told_once():
    assert len(unmet(snapshot(("torch", "2.8.0"), sglang=["torch==2.9.1", "torch==2.9.1"]))) == 1


def test_an_extra_that_is_asked_for_on_another_system_only_is_not_asked_for():
    assert unmet(snapshot(("x", "1"), top=['x[win]; sys_platform == "win32"'], x=['y; extra == "win"'])) == ()
    assert [one.name for one in unmet(snapshot(("x", "1"), top=['x[nix]; sys_platform == "linux"'], x=['y; extra == "nix"']))] == ["y"]


def test_a_condition_that_cannot_be_worked_out_is_not_judged_and_the_others_are():
    assert [one.name for one in unmet(snapshot(top=['y; sys_platform ~= "linux"', 'z; "x" in extras', "w"]))] == ["w"]


def test_a_version_of_thousands_of_digits_is_passed_over():
    assert unmet(snapshot(("old", "9" * 5000), top=["old>=1"])) == ()
