"""What is drift between two hosts of one role, and what is each host's own."""

from __future__ import annotations

from dataclasses import replace

from driftwatch.cli.wiring.roles import are_two_hosts, between_hosts, shared_changes
from driftwatch.compare.change import Change
from driftwatch.compare.peers_roles import Role, shared_by_role, without_identities, without_identity
from driftwatch.model import Known
from tests.compare.fleets import ROLE, fleet, gpu_fact, one_host


def paths(changes):
    return [change.path for change in changes if not change.is_folded]


def test_two_hosts_of_one_make_share_everything():
    good, bad = fleet(2)
    assert are_two_hosts(good, bad)
    assert paths(between_hosts(good, bad, ROLE)[1]) == []
    assert paths(shared_changes(good, bad, ROLE)) == []


def test_a_golden_host_is_compared_in_what_its_role_shares():
    good, bad = fleet(2, h1=lambda facts: {**facts, "packages/orjson/version": "3.0.0", "firmware/bios": "9.9", "cpu/governor": "powersave"})
    assert paths(shared_changes(good, bad, ROLE)) == ["packages/orjson/version"]
    assert paths(between_hosts(good, bad, ROLE)[1]) == ["cpu/governor", "firmware/bios", "packages/orjson/version"]


def test_the_gpus_of_two_hosts_stand_side_by_side_by_their_address():
    good, bad = fleet(2, h1=gpu_fact(3, "link/width", 8))
    (change,) = [one for one in between_hosts(good, bad, ROLE)[1] if not one.is_folded]
    assert (change.path.split("/")[2:], change.good, change.bad) == (["link", "width"], Known(16), Known(8))


def test_two_looks_at_one_host_are_no_two_hosts():
    later = replace(one_host(), taken_at="2026-04-01T00:00:00Z")
    renamed = replace(later, host="gpu-after-rename")
    assert not are_two_hosts(one_host(), later)
    assert not are_two_hosts(one_host(), renamed)


def test_a_text_that_differs_in_the_name_and_address_of_the_host_is_the_same():
    changes = [Change("env/NODE", "changed", Known("gpu-a at 192.0.2.1"), Known("gpu-b at 192.0.2.9")), Change("env/MODE", "changed", Known("a"), Known("b"))]
    assert paths(without_identities(changes, ROLE, "gpu-a", "gpu-b")) == ["env/MODE"]


def test_versions_loopback_and_names_inside_other_words_stay():
    assert without_identity(b'"gpu-a, gpu-ab, 127.0.0.1:30000, 1.2.3"', "gpu-a") == b'"(host), gpu-ab, 127.0.0.1:30000, 1.2.3"'


def test_a_few_pages_less_memory_are_no_drift_and_a_dimm_less_is():
    less = Change("system/memory/total_kib", "changed", Known(2112880640), Known(2112880512))
    assert paths(without_identities([less, replace(less, bad=Known(2046853120))], ROLE, "a", "b")) == ["system/memory/total_kib"]


def test_an_open_question_of_a_whole_probe_stays_where_only_the_shared_is_compared():
    change = Change("probes/nvml", "unknown", Known(None), Known(None))
    assert shared_by_role([change], ROLE) == (change,)


def test_a_site_adds_to_a_role_and_makes_its_own():
    role = Role("mine", shared=("packages/*",)).with_more({"shared": ("site/*",), "identity": ("site/rack",)}, "ours")
    told = ("site/rack", "site/kind", "packages/a/version", "cpu/smt")
    assert [path for path in told if role.is_shared(path)] == ["site/kind", "packages/a/version"]
    assert role.name == "ours"


def test_every_glob_of_the_built_in_roles_is_used_once():
    for lists in (ROLE.shared, ROLE.identity, ROLE.readings, ROLE.texts, ROLE.nearly, ROLE.versions):
        assert len(set(lists)) == len(lists) > 0
    assert not set(ROLE.identity) & set(ROLE.readings)

