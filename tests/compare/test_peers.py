"""Fleets of which the odd host, or that there is none, is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from driftwatch.compare.peers import peer_pressure
from driftwatch.model import ProbeResult, Snapshot
from tests.compare.fleets import explained, fleet, gpu_fact, paths, peers, put, recorded, silent, unreachable, way_of, without

HEALTHY = (
    ("fleet-h100", "fleet-h100/gpu-f1"), ("11-hbm-degrading-row-remap", "11-hbm-degrading-row-remap/good"),
    ("21-page-cache-on-unified-memory", "21-page-cache-on-unified-memory/good"), ("s2-seed-even-hog", "s2-seed-even-hog/good"),
    ("35-slurm-upgrade-visible-devices", "35-slurm-upgrade-visible-devices/good"),
)
NEW_DRIVER = "580.105.08"


def newer_driver(facts):
    old = facts["driver/module/version"]
    return {path: value.replace(old, NEW_DRIVER) if isinstance(value, str) and path.split("/")[0] in ("driver", "fabricmanager") else value
            for path, value in facts.items()}


def less_memory(facts):
    return {**facts, "system/memory/total_kib": facts["system/memory/total_kib"] * 31 // 32}


@pytest.mark.parametrize(("archive", "folder"), HEALTHY)
def test_hosts_that_differ_in_names_addresses_and_readings_alone_agree(archive, folder):
    found = peers(fleet(5, recorded(archive, folder)))
    assert ([len(way.hosts) for way in found.ways], found.facts, found.splits) == ([5], (), ())


def test_a_host_with_another_driver_is_odd_in_its_driver_alone():
    hosts = fleet(6, h2=newer_driver)
    found = peers(hosts)
    assert {path.split("/")[0] for path in paths(way_of(found, hosts[2]))} == {"driver", "fabricmanager"}
    assert sum(way.is_clean for way in found.ways) == 1


def test_a_stale_module_below_newer_libraries_is_explained_by_the_same_rule_as_in_a_diff():
    hosts = fleet(6, h2=put("driver/module/version", "550.90.07"))
    suspects = explained(hosts, 2).suspects
    assert (suspects[0].subject.kind, suspects[0].strength) == ("driver", "strong")


def test_a_missing_dimm_is_odd_and_a_few_pages_are_not():
    hosts = fleet(6, h4=less_memory)
    found = peers(hosts)
    assert [(way.hosts, paths(way)) for way in found.ways if way.outliers] == [((hosts[4].host,), ["system/memory/total_kib"])]


def test_a_missing_dimm_shows_among_many_hosts_none_of_which_has_quite_the_same_memory():
    def memory(place):
        return lambda facts: {**facts, "system/memory/total_kib": 2112880640 - 4 * place if place != 9 else 2046853120}

    hosts = fleet(14, **{f"h{place}": memory(place) for place in range(14)})
    assert [(way.hosts, paths(way)) for way in peers(hosts).ways if not way.is_clean] == [((hosts[9].host,), ["system/memory/total_kib"])]


def test_another_version_of_a_package_is_told_with_how_many_have_the_usual_one():
    hosts = fleet(6, h5=put("packages/orjson/version", "3.0.0"))
    (odd,) = way_of(peers(hosts), hosts[5]).outliers
    assert (odd.mark, odd.value, odd.fact.majority, odd.fact.agree, odd.fact.known) == ("~", "3.0.0", "3.11.7", 5, 6)


def test_a_package_that_one_host_lacks_and_a_variable_that_one_has_are_values_too():
    hosts = fleet(5, h0=without("packages/orjson/version"), h1=put("servers/sglang/env/NCCL_P2P_DISABLE", "1"))
    found = peers(hosts)
    assert [(one.mark, one.value) for place in (0, 1) for one in way_of(found, hosts[place]).outliers] == [("-", None), ("+", "1")]


def test_an_equal_split_blames_nobody_and_says_who_has_which():
    hosts = fleet(6, **{f"h{place}": put("packages/orjson/version", "3.0.0") for place in (0, 2, 4)})
    found = peers(hosts)
    assert [way.outliers for way in found.ways] == [() ]
    assert [(one.path, one.values, one.holders[0]) for one in found.splits] == [
        ("packages/orjson/version", (("3.0.0", 3), ("3.11.7", 3)), tuple(hosts[place].host for place in (0, 2, 4))),
    ]


def test_where_every_host_has_another_value_it_is_noise_unless_it_is_a_version():
    def own(place):
        return lambda facts: {**facts, "env/MY_HOME": f"/home/{place}", "kernel/release": f"6.8.{place}"}

    hosts = fleet(4, **{f"h{place}": own(place) for place in range(4)})
    found = peers(hosts)
    assert (found.noise, [one.path for one in found.splits], [way.outliers for way in found.ways]) == (("env/MY_HOME",), ["kernel/release"], [()])


def test_a_host_that_does_not_know_the_deciding_fact_leaves_the_count():
    hosts = fleet(6, h5=put("packages/orjson/version", "3.0.0"))
    hosts[0] = silent(hosts[0], "packages")
    found = peers(hosts)
    (odd,) = way_of(found, hosts[5]).outliers
    assert (odd.fact.agree, odd.fact.known, odd.fact.unknown) == (4, 5, 1)
    assert way_of(found, hosts[0]).outliers == ()
    assert ("probes/packages", "timeout") in way_of(found, hosts[0]).unknown


def test_two_that_know_a_fact_are_too_few_to_blame_one():
    hosts = fleet(4, h3=put("packages/orjson/version", "3.0.0"))
    found = peers([silent(hosts[0], "packages"), silent(hosts[1], "packages"), hosts[2], hosts[3]])
    assert [one.path for one in found.splits] == ["packages/orjson/version"]
    assert all(not way.outliers for way in found.ways)


def test_a_host_that_was_not_reached_is_a_way_of_its_own_and_counts_nowhere():
    hosts = fleet(5)
    found = peers([unreachable(hosts[0]), *hosts[1:]])
    assert [(way.hosts, way.is_unreachable, way.reason) for way in found.ways if not way.is_clean] == [((hosts[0].host,), True, "no answer on port 22")]


def test_what_nobody_knows_is_no_question_to_one_of_them():
    hosts = [silent(host, "packages") for host in fleet(4)]
    assert [way.is_clean for way in peers(hosts).ways] == [True]


def test_what_one_host_alone_was_asked_is_no_question_to_the_others():
    hosts = [silent(host, "packages", "not_recorded") for host in fleet(4)]
    hosts[0] = fleet(4)[0]
    assert [way.unknown for way in peers(hosts).ways] == [()]
    hosts[1] = silent(hosts[1], "packages", "denied")
    assert [way.unknown for way in peers(hosts).ways if way.unknown] == [(("probes/packages", "denied"),)]


def test_hosts_with_the_same_differences_share_one_way():
    odd = put("packages/orjson/version", "3.0.0")
    hosts = fleet(12, h1=odd, h4=odd, h7=odd, h9=put("kernel/release", "6.8.0-84-generic"))
    assert sorted(len(way.hosts) for way in peers(hosts).ways) == [1, 3, 8]


@pytest.mark.parametrize(("fact", "value"), [
    ("link/width", 8), ("clocks_max/sm_mhz", 1410), ("ecc/current", "Disabled"), ("memory_total_mib", 40960), ("power_limit_w", 500.0),
    ("mig/current", "Enabled"), ("temperature_slowdown_c", 85),
])
def test_one_of_eight_gpus_that_is_set_otherwise_is_named_by_its_address(fact, value):
    hosts = fleet(4, h2=gpu_fact(3, fact, value))
    told = explained(hosts, 2).way.outliers
    assert [(one.fact.path, one.mark, one.devices) for one in told if one.fact.path == f"gpus/*/{fact}"] == [(f"gpus/*/{fact}", "!", ("0000:5d:00.0",))]


def test_two_of_three_hosts_with_one_odd_gpu_each_do_not_make_the_third_odd():
    hosts = fleet(3, h0=gpu_fact(3, "power_limit_w", 500.0), h1=gpu_fact(5, "power_limit_w", 500.0))
    found = peers(hosts)
    assert [bool(way_of(found, host).outliers) for host in hosts] == [True, True, False]


def test_a_slot_that_is_narrow_on_every_host_is_how_these_machines_are_built():
    hosts = fleet(4, **{f"h{place}": gpu_fact(7, "link/width", 8) for place in range(4)})
    assert [way.is_clean for way in peers(hosts).ways] == [True]


def test_all_gpus_of_one_host_at_another_limit_make_the_host_odd():
    def capped(facts):
        return {path: 500.0 if path.endswith("/power_limit_w") else value for path, value in facts.items()}

    hosts = fleet(4, h3=capped)
    assert [(one.value, one.mark) for one in way_of(peers(hosts), hosts[3]).outliers] == [(500.0, "~")]


def test_a_fact_that_is_asked_about_is_told_where_all_agree_too():
    (fact,) = peers(fleet(3), ("gpus/*/power_limit_w",)).agreed
    assert (fact.path, fact.majority, fact.agree) == ("gpus/*/power_limit_w", 700.0, 3)


def test_secrets_under_two_keys_are_unknown_and_not_different():
    hosts = fleet(3, **{f"h{place}": put("env/MY_TOKEN", {"keyed": f"hmac-sha256:{place}"}) for place in range(3)})
    hosts = [replace(host, redaction={"key_id": f"k{place}"}) for place, host in enumerate(hosts)]
    found = peers(hosts)
    assert (found.facts, found.splits) == ((), ())


@pytest.mark.parametrize(("samples", "sharing", "values", "expected"), [
    (9, 0, 2, 0.224), (3, 0, 2, 0.116), (9, 0, 10, 0.091), (3, 0, 4, 0.084), (9, 4, 2, 0.055), (9, 9, 1, 0.050),
])
def test_the_surprise_is_that_of_peer_pressure(samples, sharing, values, expected):
    assert math.isclose(peer_pressure(samples, sharing, values=values, suspects=20), expected, abs_tol=0.0006)


def test_a_fact_with_too_many_values_keeps_its_name_only():
    probes = {"env": ProbeResult("ok", tells=("env/*",))}
    told = [{"env/TICKET": f"ticket {number}", "env/MODE": "a" if number else "b"} for number in range(1000)]
    found = peers([Snapshot(f"gpu-{number}", None, probes=probes, facts=facts) for number, facts in enumerate(told)])
    assert (found.noise, [(way.hosts, paths(way)) for way in found.ways if not way.is_clean]) == (("env/TICKET",), [(("gpu-0",), ["env/MODE"])])


def test_no_server_there_is_no_difference_in_its_arguments():
    hosts = fleet(4)
    kept = ("servers/sglang/args/", "servers/sglang/log/")
    idle = {path: value for path, value in hosts[3].facts.items() if path.startswith(kept) or not path.startswith("servers/")}
    hosts[3] = replace(hosts[3], facts={**idle, "servers/sglang/running": False})
    way = way_of(peers(hosts), hosts[3])
    assert paths(way) == ["servers/sglang/running"]
    assert ("servers/sglang/given", "not_recorded") in way.unknown


def test_containers_with_made_up_names_are_compared_by_what_they_run():
    def containers(name, image):
        return lambda facts: {**facts, f"containers/{name}/image": image, f"containers/{name}/env/NODE": facts["servers/sglang/given/dist_init_addr"]}

    same = fleet(4, **{f"h{place}": containers(f"eager_{place}", "sglang:0.5.9") for place in range(4)})
    assert [way.is_clean for way in peers(same).ways] == [True]
    other = fleet(4, **{f"h{place}": containers(f"eager_{place}", "sglang:0.5.9" if place else "sglang:0.5.8") for place in range(4)})
    assert paths(way_of(peers(other), other[0])) == ["containers/*/image"]


@pytest.mark.parametrize(("name", "kind"), [("01-nvml-user-newer-than-kmod", "driver"), ("s1-seed-fraction", "launch-arg")])
def test_a_host_that_broke_is_found_among_those_that_work_without_a_baseline_of_its_own(name, kind):
    broken = recorded(name, f"{name}/bad")
    hosts = [*fleet(4, recorded(name, f"{name}/good")), fleet(5, broken)[4]]
    assert [(one.subject.kind, one.strength) for one in explained(hosts, 4).suspects[:1]] == [(kind, "strong")]
