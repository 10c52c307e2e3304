from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from driftwatch.model import ProbeResult, Symptom
from driftwatch.store import document
from tests.explain.cases import package, snapshot, unknown
from tests.report.contract import broken

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
SIDES = (SNAPSHOTS / "good.json", SNAPSHOTS / "bad.json")


def asked(cli, *subjects, sides=SIDES):
    ran = cli.run("diff", *sides, "--json", *(word for one in subjects for word in ("--ask", one)))
    assert broken(json.loads(ran.stdout)) == []
    return json.loads(ran.stdout)["asked"]


@pytest.fixture
def pair(cli):
    """Return a maker of the files of two snapshots, from their facts and from the probes of the bad one."""

    def make(good, bad, **probes):
        sides = (("good.json", snapshot(good)), ("bad.json", snapshot(bad, **probes)))
        for name, one in sides:
            (cli.home / name).write_bytes(document.to_bytes(replace(one, symptom=Symptom("slow"))))
        return cli.home / "good.json", cli.home / "bad.json"

    return make


@pytest.mark.parametrize("words", ["was it sgl-kernel?", "sgl_kernel", "SGL.Kernel", "is it the sgl-kernel?", "package sgl-kernel", "sglang-kernel"])
def test_a_package_is_found_however_its_name_is_written(cli, words):
    (one,) = asked(cli, words)
    assert (one["answer"], one["subject"]) == ("ruled_out", {"kind": "package", "name": "sgl-kernel"})
    assert "0.3.21" in one["because"]


@pytest.mark.parametrize("words", ["--mem-fraction-static", "mem_fraction_static", "mem-fraction", "was it --mem-fraction-static?"])
def test_an_argument_is_found_with_and_without_its_dashes(cli, words):
    (one,) = asked(cli, words)
    assert (one["answer"], one["rank"], one["subject"]["name"]) == ("suspect", 1, "mem_fraction_static")
    assert one["confidence"] >= 0.8


@pytest.mark.parametrize(("words", "name"), [("driver", "NVIDIA driver"), ("nvidia driver", "NVIDIA driver"), ("hog", "other GPU processes")])
def test_a_word_for_a_kind_finds_its_subject(cli, words, name):
    assert [(one["answer"], one["subject"]["name"]) for one in asked(cli, words)] == [("ruled_out", name)]


@pytest.mark.parametrize("words", ["nccl", "nvidia-nccl", "nvidia_nccl_cu12"])
def test_a_library_is_the_package_whose_name_holds_it(cli, words):
    assert {"kind": "package", "name": "nvidia-nccl-cu12"} in [one["subject"] for one in asked(cli, words)]


def test_what_differs_without_a_rule_is_told_as_that(cli):
    (one,) = asked(cli, "httpx")
    assert (one["answer"], one["rank"], one["confidence"]) == ("suspect", None, None)
    assert one["because"] == "it differs, but no rule speaks for it: packages/httpx/version 0.28.1 → 0.28.2"


@pytest.mark.parametrize("words", ["cosmic rays", "frobnicator"])
def test_a_word_that_nothing_was_told_of_is_not_checked(cli, words):
    (one,) = asked(cli, words)
    assert (one["answer"], one["settle"]) == ("not_checked", "driftwatch probes")


def test_an_unanswered_question_rules_nothing_out(pair, cli):
    facts = {"driver/version": "580.1", "driver/module/version": "580.1", **package("sgl-kernel", "0.3.21")}
    sides = pair(facts, facts, packages=ProbeResult("timeout", 10.0, 10.0, "no answer in 10 s"), driver=ProbeResult("died", reason="killed"))
    assert [one["answer"] for one in asked(cli, "flash-attn", "driver", "python", sides=sides)] == ["not_checked"] * 3


def test_a_variable_of_a_server_that_could_not_be_read_is_not_checked_with_its_command(pair, cli):
    good = {"servers/sglang/running": True, "servers/sglang/env/PATH": "/bin"}
    sides = pair(good, {"servers/sglang/running": True, "servers/sglang/env": unknown("denied", "environ: not ours")})
    (one,) = asked(cli, "NCCL_P2P_DISABLE", sides=sides)
    assert (one["answer"], "denied" in one["because"]) == ("not_checked", True)
    assert one["settle"].startswith("driftwatch snapshot root@gpu-a")


def test_what_is_known_to_be_absent_on_both_sides_is_ruled_out(pair, cli):
    facts = {"servers/sglang/running": True, "servers/sglang/env/PATH": "/bin", "servers/sglang/args/tp_size": 8, **package("torch", "2.9.1")}
    told = asked(cli, "NCCL_P2P_DISABLE", "--enable-torch-compile", "flash-attn", sides=pair(facts, facts))
    assert [(one["answer"], one["because"]) for one in told] == [
        ("ruled_out", "unset on either side"), ("ruled_out", "not given on either side"), ("ruled_out", "not installed on either side"),
    ]


def test_a_kind_of_which_something_differs_is_not_ruled_out(pair, cli):
    sides = pair(package("torch", "2.9.1") | package("rich", "14"), package("torch", "2.9.1") | package("rich", "15"))
    (one,) = asked(cli, "packages", sides=sides)
    assert (one["answer"], "rich" in one["because"]) == ("suspect", True)


def test_the_section_stands_between_the_verdict_and_the_suspects(cli):
    text = cli.run("diff", *SIDES, "--ask", "was it sgl-kernel?", "--ask", "--mem-fraction-static", "--ask", "cosmic rays").stdout
    places = [text.index(part) for part in ("LIKELY", "\nASKED\n", "\n = was it sgl-kernel?: sgl-kernel is ruled out", "\nSUSPECTS\n")]
    assert places == sorted(places)
    assert "\n ~ --mem-fraction-static is suspect 1 of 1, strong:" in text
    assert "\n ? cosmic rays was not checked" in text


def test_without_a_question_there_is_no_section(cli):
    assert "ASKED" not in cli.run("diff", *SIDES).stdout
    assert asked(cli) == []


def test_a_hostile_subject_is_shown_and_not_obeyed(cli):
    text = cli.run("diff", *SIDES, "--ask", "\x1b[31mred\u202e\n(a+)+$" + "a" * 5000).stdout
    assert "\x1b" not in text
    assert "\\x1b[31mred\\u202e" in text
