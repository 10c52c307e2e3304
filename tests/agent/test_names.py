"""Names of hosts: what the host's own files say of them."""

from __future__ import annotations

from driftwatch.agent.collectors.names import MOST_NAMES, collect, parse_hosts, parse_resolv
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.real import RealRoot
from tests.agent.recording import recorded, told

HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1\tgpu-a.example gpu-a # by the installer\n#10.0.0.7 gpu-a\n10.0.0.8 gpu-b\n"


def test_each_name_has_its_addresses_in_the_files_order(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, {"/etc/hosts": HOSTS, "/proc/sys/kernel/hostname": "gpu-a\n"}))
    assert {path: value for path, value in facts.items() if not path.startswith(("names/servers", "names/search", "names/options"))} == {
        "names/own": "gpu-a", "names/hosts/localhost": ["127.0.0.1", "::1"], "names/hosts/gpu-a.example": ["127.0.1.1"],
        "names/hosts/gpu-a": ["127.0.1.1"], "names/hosts/gpu-b": ["10.0.0.8"],
    }


def test_servers_stand_in_their_order_and_the_last_search_line_counts():
    text = "# made\nnameserver 10.0.0.2\nnameserver 10.0.0.1\nsearch old.example\nsearch a.example b.example\noptions ndots:5 timeout:1\n"
    assert parse_resolv(text) == {"servers": ["10.0.0.2", "10.0.0.1"], "search": ["a.example", "b.example"], "options": ["ndots:5", "timeout:1"]}


def test_files_that_may_not_be_read_are_denied_one_by_one(tmp_path):
    files = {"/etc/hosts": HOSTS, "/etc/resolv.conf": "nameserver 10.0.0.1\n", "/proc/sys/kernel/hostname": "gpu-a\n"}
    facts, _, _ = told(collect, recorded(tmp_path, files, denied=["/etc/hosts", "/etc/resolv.conf"]))
    denied = {path for path, value in facts.items() if value != "gpu-a" and value.status == "denied"}
    assert denied == {"names/hosts", "names/servers", "names/search", "names/options"}


def test_a_list_of_very_many_names_is_unknown_as_a_whole(tmp_path):
    text = "".join(f"0.0.0.0 blocked-{number}.example\n" for number in range(MOST_NAMES + 1))
    facts, _, _ = told(collect, recorded(tmp_path, {"/etc/hosts": text}))
    assert "501 names" in facts["names/hosts"].reason
    assert parse_hosts(text)["blocked-7.example"] == ["0.0.0.0"]


def test_this_machine_ends_well():
    assert told(collect, Host(RealRoot(), Settings()))[1] == "ok"
