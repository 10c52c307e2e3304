"""`--anonymise`: nothing that tells whose machines these are is left, in any format, and the same thing has the same stand-in everywhere."""

import dataclasses

import pytest

from driftwatch.explain.explanation import Subject, Suspect, Term
from driftwatch.model import Snapshot
from driftwatch.report import html, json, markdown, text
from driftwatch.report.anonymous import Mask, anonymise
from driftwatch.report.page import Page
from tests.report.scenes import changed, explanation, side

UUID = "8f6d3d2a-1111-2222-3333-abcdefabcdef"
SNAPSHOT = Snapshot("gpu-a.corp.example.com", "2026-03-04T03:12:00Z", facts={
    "servers/sglang/user": "mkeller", "env/MASTER_ADDR": "gpu-b:20000", "gpus/x/serial": "1652623007345", "packages/nvidia-cudnn-cu12/version": "9.10.2.21",
    "packages/nvidia-cublas-cu12/requires": ["nvidia-x==12.8.4.1"],
})
SECRETS = ("gpu-a", "gpu-b", "corp.example", "mkeller", "1652623007345", "192.0.2.17", "2001:db8::17", "aa:bb:cc:dd:ee:0f", UUID, "jdoe", "git.corp")


def told():
    says = (
        "ssh root@192.0.2.17 and 2001:db8::17, mac aa:bb:cc:dd:ee:0f, served by mkeller on gpu-b:20000",
        f"GPU-{UUID} with serial 1652623007345, boot {UUID}", "/home/jdoe/sglang and %2Fhome%2Fjdoe%2Fx.py, mail jdoe@corp.example.com, https://git.corp.example.com/x",
    )
    one = side("gpu-a@good", "2026-03-04T03:12:00Z", "serving on gpu-a.corp.example.com")
    terms = tuple(Term(one, 1.0) for one in says)
    suspect = Suspect(Subject("file", "/home/jdoe/x.py"), "file", "/home/jdoe/x.py", "~", None, {"gpu-a": ["192.0.2.17"]}, 0.9, terms)
    changes = (changed(f"gpus/GPU-{UUID}/name", "x", "gpu-a"),)
    good = dataclasses.replace(one, host="gpu-a.corp.example.com")
    return explanation(good, one, "LIKELY", "gpu-a differs from gpu-b.", suspects=(suspect,), changes=changes)


@pytest.mark.parametrize("report", [text, json, markdown, html])
def test_no_format_tells_a_host_an_address_a_user_or_a_serial(report):
    drawn = report.render(anonymise(told(), (SNAPSHOT,)), Page(120))
    assert [secret for secret in SECRETS if secret in drawn] == []


@pytest.mark.parametrize("report", [text, json, markdown, html])
def test_without_it_they_are_told(report):
    assert "gpu-a@good" in report.render(told(), Page(120))


def test_the_same_thing_has_the_same_stand_in_and_another_has_another():
    mask = Mask((SNAPSHOT,))
    assert mask.text("gpu-a@good, GPU-A.corp.example.com, gpu-b") == "host-1@good, host-1, host-2"
    assert mask.text("192.0.2.17 192.0.2.18 192.0.2.17") == "address-1 address-2 address-1"


@pytest.mark.parametrize("plain", [
    "cudnn 9.10.2.21 and 12.8.4.1", "at 03:12:00Z", "127.0.0.1:30000 and ::1 and 0.0.0.0", "vbios 96.00.74.00.01", "tvm::ffi::Error",
    "/root/sglang and /home/ubuntu",
    "https://github.com/sgl-project/sglang",
    "0000:17:00.0", "sgl-kernel==0.3.21",
    "sha256:" + "ab" * 32, "21.70 − 94.00 × (1 − 0.85)",  # noqa: RUF001  the signs of the sum
])
def test_what_tells_nobody_stays(plain):
    assert Mask((SNAPSHOT,)).text(plain) == plain


@pytest.mark.parametrize("named", ["gpu-a--20260304T031200Z--9d41c07.json", "./gpu-a.json", "snapshots/gpu-a/x", "root@gpu-a:/tmp"])
def test_a_host_is_also_found_inside_a_file_name(named):
    assert "gpu-a" not in Mask((SNAPSHOT,)).text(named)


def test_a_host_with_a_short_name_does_not_take_the_letters_of_words():
    assert Mask((Snapshot("a", None),)).text("a@good: a driver, a-b, data") == "host-1@good: host-1 driver, a-b, data"


def test_hosts_are_numbered_by_side_and_not_by_what_is_drawn_first():
    assert Mask((Snapshot("x-good", None), Snapshot("a-bad", None))).text("a-bad x-good") == "host-2 host-1"


def test_names_and_domains_of_the_host_s_own_files_are_taken_out():
    facts = {"names/own": "gpu-a", "names/hosts/gpu-x7": ["192.0.2.7"], "names/search": ["cluster.corp.example.com"]}
    mask = Mask([dataclasses.replace(SNAPSHOT, facts=facts)])
    assert mask.text("gpu-x7 leads to 192.0.2.7, search cluster.corp.example.com; a cluster") == "host-2 leads to address-1, search domain-1; a cluster"
