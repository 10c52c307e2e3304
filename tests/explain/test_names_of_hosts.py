"""Names that lead elsewhere: a host's own hosts file and resolver."""

from __future__ import annotations

from driftwatch.model import ProbeResult
from tests.explain.below import host, symptom
from tests.explain.cases import places, told

GLOO = symptom("startup-crash", "RuntimeError: Gloo connectFullMesh failed: no connection could be made to 127.0.1.1")
HOME, AWAY = ["127.0.1.1"], ["10.0.0.7"]


def names(**hosts):
    return host({"names/own": "gpu-a", **{f"names/hosts/{name.replace('_', '-')}": addresses for name, addresses in hosts.items()}})


def test_its_own_name_that_leads_home_explains_why_peers_do_not_find_it():
    one = told(names(gpu_a=AWAY), names(gpu_a=HOME), GLOO).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("network", "/etc/hosts", "strong")
    assert "gpu-a leads home (127.0.1.1): whoever is told this name connects to itself" in [term.says for term in one.because]


def test_a_name_that_nobody_is_told_weighs_little():
    served, other = (told(names(gpu_a=AWAY), names(gpu_a=AWAY, **more), symptom("hang")) for more in ({}, {"printer": ["10.0.9.9"]}))
    assert served.suspects == ()
    assert other.suspects == () or other.suspects[0].strength == "weak"


def test_two_hosts_differ_in_their_own_names_and_nothing_is_said_of_it():
    good = host({"names/own": "gpu-a", "names/hosts/gpu-a": AWAY})
    bad = host({"names/own": "gpu-b", "names/hosts/gpu-b": ["10.0.0.8"]})
    assert told(good, bad, GLOO).suspects == ()


def test_another_name_server_is_told_where_names_are_not_found():
    good, bad = (host({"names/servers": servers}) for servers in (["10.0.0.2"], ["10.9.9.9"]))
    one = told(good, bad, symptom("startup-crash", "socket.gaierror: [Errno -3] Temporary failure in name resolution")).suspects[0]
    assert (one.subject.name, one.strength) == ("/etc/resolv.conf", "strong")


def test_a_hosts_file_that_was_not_read_clears_nothing():
    bad = host(None, names=ProbeResult("timeout", tells=("names/*",)))
    assert places(told(names(gpu_a=AWAY), bad, GLOO), "/etc/hosts") == []
