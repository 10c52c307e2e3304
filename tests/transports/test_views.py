"""What may be written for a container or a node of Slurm; whatever else is written never reaches a process."""
from __future__ import annotations

import re

import pytest

from driftwatch.transports.destination import BadDestination, Destination, parse_destination
from driftwatch.transports.views import name_of

TAKEN = {
    "docker://web": Destination("docker", "local", inside="web"),
    "docker://Web_1.x-y@gpu-a": Destination("docker", "gpu-a", inside="Web_1.x-y"),
    "podman://web@root@gpu-a:2222": Destination("podman", "gpu-a", "root", 2222, "web"),
    "podman://web@[fe80::1]:22": Destination("podman", "fe80::1", "", 22, "web"),
    "kubectl://serving/sglang-0": Destination("kubectl", "local", inside="serving/sglang-0"),
    "kubectl://serving/a.b-0/main": Destination("kubectl", "local", inside="serving/a.b-0/main"),
    "enter://1": Destination("enter", "local", inside="1"),
    "slurm://gpu001": Destination("slurm", "gpu001"),
}
HOSTILE = [
    "docker://", "docker://-v", "docker://--privileged", "docker://a b", "docker://a;touch PWNED", "docker://a$(x)", "docker://a@", "docker://@host", "docker://a/b",
    "docker://a@-oProxyCommand=x", "docker://a@h@o@st", "docker://a\n", "docker://" + "x" * 300, "podman://a'b", "podman://a@host;x", "podman://a@host:99999",
    "kubectl://", "kubectl://pod", "kubectl://ns/", "kubectl:///pod", "kubectl://ns/-pod", "kubectl://-n/pod", "kubectl://ns/pod/", "kubectl://ns/pod/c/d",
    "kubectl://ns/Pod", "kubectl://ns/pod@host", "kubectl://ns/pod --token", "kubectl://n.s/pod", "kubectl://ns/pod\x1b", "slurm://", "slurm://-x", "slurm://a,b",
    "slurm://n[1-3]", "slurm://a b", "slurm://a;b", "slurm://a@b",
    "enter://", "enter://2", "enter://-t", "enter://1@host", "slurm://a:22", "slurm://" + "n" * 65,
]


@pytest.mark.parametrize("text", TAKEN)
def test_a_view_is_taken_apart_and_reads_back_as_it_is_written(text):
    assert parse_destination(text) == TAKEN[text]
    assert parse_destination(str(TAKEN[text])) == TAKEN[text]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_names_no_container_and_no_node_is_refused_in_one_printable_sentence(text):
    with pytest.raises(BadDestination) as refused:
        parse_destination(text)
    assert str(refused.value).isprintable()
    assert re.search("is no destination: .+", str(refused.value))


@pytest.mark.parametrize(("text", "scheme", "host", "inside"), [("gpu001", "slurm", "gpu001", ""), ("web", "docker", "local", "web")])
def test_a_profile_s_transport_reads_bare_names_in_its_own_way(text, scheme, host, inside):
    assert parse_destination(text, scheme) == Destination(scheme, host, inside=inside)


def test_a_view_has_a_plain_name_of_its_own():
    assert name_of("docker", "web", "gpu-a") == "web.docker.gpu-a"
    assert name_of("kubectl", "serving/sglang-0/main", "here") == "main.sglang-0.serving.kubectl"
    assert name_of("slurm", "", "gpu001") == "gpu001"
