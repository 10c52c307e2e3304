"""Kernel objects against the cards of the host."""

from __future__ import annotations

import pytest

from driftwatch.explain.rules.architecture import runs
from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import package, places, snapshot, suspect, told, unknown

NO_IMAGE = Symptom("runtime-crash", "RuntimeError: CUDA error: no kernel image is available for execution on the device")
OBJECTS = ProbeResult("ok", tells=("objects", "objects/*"))
NAME = "sgl-kernel"


def host(codes=("sm_90", "sm_100"), capability="10.0", **objects):
    """Return a host with one card, whose kernel package holds one object for each architecture."""
    facts = {f"objects/{NAME}/{code}.so/architectures": [code] for code in codes} | {f"objects/{NAME}/ops.so/architectures": [], "gpus/GPU-1/name": "NVIDIA"}
    facts |= {f"objects/{NAME}/{path}": value for path, value in objects.items()}
    facts |= {"gpus/GPU-1/compute_capability": capability} if capability else {}
    return snapshot({**package(NAME, "0.3.21"), **facts}, objects=OBJECTS)


@pytest.mark.parametrize(("code", "card", "expected"), [
    ("sm_90", (9, 0), True), ("sm_80", (8, 6), True), ("sm_86", (8, 0), False), ("sm_90", (10, 0), False), ("sm_120", (12, 0), True),
    ("compute_90", (10, 0), True), ("compute_120", (10, 3), False), ("sm_100", (10, 3), True), ("gfx942", (9, 0), False),
])
def test_machine_code_runs_within_its_major_and_ptx_on_every_later_card(code, card, expected):
    assert runs(code, card) is expected


def test_a_package_that_lost_the_code_for_the_card_is_strong():
    found = told(host(), host(("sm_90",)), NO_IMAGE)
    one = suspect(found, "package", NAME)
    assert (one.strength, one.good, one.bad) == ("strong", "sm_90 and sm_100", "sm_90")


def test_a_card_that_the_package_never_knew_is_as_strong():
    assert suspect(told(host(("sm_90",), "9.0"), host(("sm_90",)), NO_IMAGE), "package", NAME).strength == "strong"


def test_ptx_is_code_for_later_cards():
    assert "holds no code" not in str(told(host(), host(("compute_90",)), NO_IMAGE))


def test_one_object_that_fits_is_enough():
    assert "no code" not in str(told(host(), host(("sm_80", "sm_100")), NO_IMAGE).suspects)


def test_without_code_on_both_sides_the_baseline_is_doubted_only_if_the_error_says_so():
    with_text, without = (told(host(("sm_90",)), host(("sm_90",)), symptom) for symptom in (NO_IMAGE, None))
    assert (with_text.suspects, len(with_text.doubts), without.suspects, without.doubts) == ((), 1, (), ())


def test_where_the_good_side_is_not_known_it_is_told_more_weakly():
    found = told(host(capability=None), host(("sm_90",)), None)
    assert suspect(found, "package", NAME).strength not in ("strong", None)


def test_an_object_that_was_not_read_leaves_the_package_not_checked():
    bad = host(("sm_90",), **{"late.so": unknown("timeout", "no answer in 2 s")})
    found = told(host(), bad, NO_IMAGE)
    assert "not_checked" in places(found, NAME)
    assert not any("holds no code" in term.says for one in found.suspects for term in one.because)


def test_a_card_that_does_not_tell_its_capability_leaves_it_not_checked():
    found = told(host(), host(("sm_90",), None), NO_IMAGE)
    assert "not_checked" in places(found, "compute capability")


def test_a_package_without_device_code_is_not_judged():
    assert "holds no code" not in str(told(host(()), host(()), NO_IMAGE))
