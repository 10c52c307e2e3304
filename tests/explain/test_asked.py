"""Hypotheses put to the test: a suspect of the word that was asked goes before whatever else is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.explain.asked import answers
from driftwatch.explain.explanation import Command, RuledOut, Subject, Suspect, Term
from driftwatch.report.words import say_asked, say_sides, say_subject
from tests.explain.cases import case_of, package, snapshot, told

GPU = Subject("ecc", "GPU 0000:41:00.0 memory errors")
GOOD, BAD = snapshot({"gpus/count": 2, **package("torch", "2.9.1")}), snapshot({"gpus/count": 2, **package("torch", "2.9.1"), **package("six", "2")})


def blamed(subject, *terms, **more):
    return Suspect(subject, "", "its fact", "~", None, None, 0.9, terms, verdict="It fails.", **more)


def ask(words, *suspects, ruled_out=()):
    explanation = replace(told(GOOD, BAD), suspects=suspects, ruled_out=ruled_out)
    return [(one.answer, one.subject.name) for one in answers(case_of(GOOD, BAD), explanation, [words])]


@pytest.mark.parametrize(
    ("words", "suspect"),
    [
        ("gpu", blamed(GPU)), ("GPUs", blamed(Subject("mig", "GPU 0000:08:00.0 MIG mode"))), ("cudnn", blamed(Subject("library", "/lib/libcudnn_graph.so.9"))),
        ("memory", blamed(Subject("host-memory", "page cache"))), ("kernel module", blamed(Subject("driver", "NVIDIA driver"))),
        ("nofile", blamed(Subject("limit", "open files limit"), Term("little", 2.0, ("servers/vllm/limits/nofile",)))),
        ("nccl", blamed(Subject("nccl", "libnccl2"))), ("slurm", blamed(Subject("env-var", "CUDA_VISIBLE_DEVICES"), Term("slurmd 20 → 21", 0.6))),
        ("xid", blamed(GPU, Term("the kernel's log tells Xid 62", 2.6))), ("cache", blamed(Subject("mount", "/models"), Term("page cache 65 → 0.9 GiB", 1.8))),
    ],
)
def test_a_word_of_a_suspect_answers_with_that_suspect_and_is_never_ruled_out(words, suspect):
    cleared = (RuledOut(Subject("gpu", "number of GPUs"), "2 on both sides", ("gpus/count",)), RuledOut(Subject("package", "nvidia-nccl-cu12"), "2.27", ("x",)))
    assert ask(words, suspect, ruled_out=cleared) == [("suspect", suspect.subject.name)]


def test_the_evidence_that_holds_the_word_is_told():
    explanation = replace(told(GOOD, BAD), suspects=(blamed(GPU, Term("Xid 62 and 79", 2.6)),))
    assert answers(case_of(GOOD, BAD), explanation, ["xid"])[0].because == "It fails (Xid 62 and 79)."


@pytest.mark.parametrize("term", [Term("the kernel's log tells it", 2.6), Term("the kernel was booted", 0.2), Term("no fault of the kernel", -2.0)])
def test_what_is_of_another_or_weighs_little_or_speaks_against_it_answers_for_no_kind(term):
    assert ("suspect", GPU.name) not in ask("kernel", blamed(GPU, term))


def test_a_distribution_that_is_proven_equal_stays_ruled_out_beside_a_suspect_of_its_word():
    cleared = (RuledOut(Subject("package", "torch"), "2.9.1, the same RECORD digest on both sides", ("packages/torch/version",)),)
    assert ask("torch", blamed(Subject("package", "flash-attn"), Term("compiled against another torch", 2.0)), ruled_out=cleared) == [("ruled_out", "torch")]


def test_facts_that_stand_for_all_servers_are_no_argument():
    sides = [snapshot({"servers": {"unknown": "denied", "reason": "root only"}, **package("torch", "2.9.1")})] * 2
    assert [one.answer for one in answers(case_of(*sides), told(*sides), ["torch", "--mem-fraction-static"])] == ["ruled_out", "not_checked"]


@pytest.mark.parametrize(
    ("asked", "subject", "lead"),
    [
        ("ecc", GPU, "ecc GPU 0000:41:00.0 memory errors is suspect"), ("reboot", Subject("kernel", "reboot"), "reboot is suspect"),
        ("gpu memory", Subject("gpu-memory", "gpu memory"), "gpu memory is suspect"), ("hot", Subject("power-clock", "GPU 0 clock"), "hot: GPU 0 clock is"),
        ("kvm", Subject("kernel-module", "kvm"), "kvm is suspect"),
    ],
)
def test_no_word_is_told_twice(asked, subject, lead):
    (one,) = answers(case_of(GOOD, BAD), replace(told(GOOD, BAD), suspects=(blamed(GPU),)), ["ecc"])
    assert say_asked(replace(one, asked=asked, subject=subject), 1)[1].startswith(lead)


def test_a_kind_that_its_name_tells_in_part_is_not_put_before_it():
    subjects = (Subject("kernel-module", "nvidia"), Subject("host-memory", "page cache"))
    assert [say_subject(one) for one in subjects] == ["kernel module nvidia", "host memory page cache"]


@pytest.mark.parametrize(
    ("good", "bad", "is_one_host", "shown"),
    [
        ("64 MiB", "64 MiB", False, ("", "", "64 MiB on both sides")), ("one", "two", False, ("one", "→", "two")), ("one", "two", True, ("one", "≠", "two")),
        (None, "4.11", False, ("absent", "→", "4.11")), (None, None, False, ("", "", "")),
    ],
)
def test_only_two_values_of_one_host_are_unequal_and_two_equal_ones_are_told_once(good, bad, is_one_host, shown):
    one = replace(blamed(GPU, commands=(Command("look", "true"),)), mark="!", good=good, bad=bad, is_one_host=is_one_host)
    assert say_sides(one) == ("its fact", *shown)
