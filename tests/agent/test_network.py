"""Network interfaces, and NCCL's own files of settings."""

from __future__ import annotations

from driftwatch.agent.collectors.network import collect, collect_nccl, parse_settings
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.real import RealRoot
from tests.agent.recording import recorded, told
from tests.agent.test_topology import SERVER

CARD = "/sys/devices/pci0000:15/0000:18:00.0"


def interface(where: str, name: str, **files: str) -> dict[str, str]:
    return {f"/sys/class/net/{name}": f"->{where}/net/{name}", **{f"{where}/net/{name}/{file}": text + "\n" for file, text in files.items()}}


def test_a_card_tells_its_speed_and_its_address(tmp_path):
    files = {**interface(CARD, "ens1", operstate="up", speed="200000", mtu="9000"), f"{CARD}/net/ens1/device": "->../..", f"{CARD}/class": "0x020000"}
    facts, _, _ = told(collect, recorded(tmp_path, files))
    assert facts == {"net/ens1/operstate": "up", "net/ens1/mtu": 9000, "net/ens1/pci": "0000:18:00.0", "net/ens1/speed_mbps": 200000}


def test_a_speed_that_the_driver_does_not_know_is_unknown_and_not_minus_one(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, interface(CARD, "ens1", operstate="up", speed="-1")))
    assert facts["net/ens1/speed_mbps"].status == "error"


def test_what_is_down_has_no_speed(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, interface(CARD, "ens1", operstate="down", speed="-1")))
    assert facts == {"net/ens1/operstate": "down"}


def test_interfaces_made_for_containers_are_left_out_and_bonds_are_not(tmp_path):
    virtual = "/sys/devices/virtual"
    made = {**interface(virtual, "veth12ab", operstate="up"), **interface(virtual, "bond0", operstate="up")}
    files = {**made, f"{virtual}/net/bond0/bonding/mode": "802.3ad 4\n"}
    assert list(told(collect, recorded(tmp_path, files))[0]) == ["net/bond0/operstate"]


def test_this_machine_ends_well():
    assert told(collect, Host(RealRoot(), Settings()))[1] == "ok"


def test_settings_of_the_host_and_of_the_servers_home_stand_apart(tmp_path):
    files = {**SERVER, "/etc/nccl.conf": "# site\nNCCL_DEBUG=WARN\nNCCL_IB_HCA = mlx5_0 # first\n", "/home/serve/.nccl.conf": "NCCL_P2P_DISABLE=1\n"}
    facts, _, _ = told(collect_nccl, recorded(tmp_path, files))
    assert facts == {"nccl/conf/NCCL_DEBUG": "WARN", "nccl/conf/NCCL_IB_HCA": "mlx5_0", "nccl/home_conf/NCCL_P2P_DISABLE": "1"}


def test_without_a_server_the_settings_of_its_home_are_unknown(tmp_path):
    facts, _, _ = told(collect_nccl, recorded(tmp_path, {"/proc/uptime": "1.0 1.0\n"}))
    assert facts["nccl/home_conf"].status == "not_recorded"


def test_what_is_no_setting_is_passed_over():
    assert parse_settings("#NCCL_DEBUG=INFO\n\nnonsense\nNCCL_ALGO=\n") == {"NCCL_ALGO": ""}
