from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.compare.pair import compare
from driftwatch.model import Known, Unknown
from tests.explain.cases import package, snapshot

OWN = "env/MEGATRON_CORE"


def of(profile, facts):
    return replace(snapshot(facts), extra={"profile": profile})


@pytest.mark.parametrize("path", [OWN, "servers/sglang/env/DS_SKIP_CUDA_CHECK", "packages/accelerate/text_version"])
def test_what_one_profile_alone_looks_for_is_not_asked_on_the_other_side(path):
    base = {**package("accelerate", "1.1"), "servers/sglang/running": True}
    (change,) = compare(snapshot(base), of("torch", {**base, path: "1.1"}))
    assert (change.path, change.kind, change.bad) == (path, "unknown", Known("1.1"))
    assert change.good == Unknown("not_recorded", "not asked: taken with profile sglang")


@pytest.mark.parametrize(("good", "bad"), [("torch", "torch"), ("", "sglang")])
def test_under_one_profile_it_is_a_change(good, bad):
    (change,) = compare(of(good, {}), of(bad, {OWN: "1"}))
    assert change.kind == "added"


def test_a_variable_that_every_snapshot_tells_is_a_change_under_any_profile():
    (change,) = compare(snapshot(), of("torch", {"env/NCCL_P2P_DISABLE": "1"}))
    assert change.kind == "added"


def test_the_own_version_of_a_distribution_that_is_gone_is_gone_with_it():
    facts = {"packages/accelerate/version": "1.1", "packages/accelerate/text_version": "1.1"}
    assert {change.kind for change in compare(of("torch", facts), snapshot())} == {"removed"}
