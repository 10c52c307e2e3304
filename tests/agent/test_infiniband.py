"""InfiniBand adapters and their ports, from the kernel's own files."""

from __future__ import annotations

from driftwatch.agent.collectors.infiniband import PROBES, collect
from driftwatch.model import matches
from tests.agent.recording import recorded, told

TOP = "/sys/class/infiniband/mlx5_0"
ADAPTER = {
    f"{TOP}/fw_ver": "28.41.1000\n", f"{TOP}/hca_type": "MT4129\n", f"{TOP}/board_id": "MT_0000000838\n", f"{TOP}/ports/1/state": "4: ACTIVE\n",
    f"{TOP}/ports/1/phys_state": "5: LinkUp\n", f"{TOP}/ports/1/link_layer": "InfiniBand\n", f"{TOP}/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    f"{TOP}/ports/1/counters/link_downed": "2\n", f"{TOP}/ports/1/counters/port_rcv_data": "9876543210\n", f"{TOP}/ports/1/hw_counters/out_of_sequence": "7\n",
}
PORT = "infiniband/mlx5_0/ports/1"


def test_an_adapter_tells_its_firmware_and_its_ports_their_state_and_rate(tmp_path):
    facts, status, _ = told(collect, recorded(tmp_path, ADAPTER))
    assert (status, facts["infiniband/mlx5_0/firmware"]) == ("ok", "28.41.1000")
    assert [facts[f"{PORT}/{name}"] for name in ("state", "phys_state", "rate")] == ["ACTIVE", "LinkUp", "400 Gb/sec (4X NDR)"]


def test_counters_are_volatile_and_those_of_traffic_are_left_out(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, ADAPTER))
    counters = {path: value for path, value in facts.items() if "/counters/" in path}
    assert counters == {f"{PORT}/counters/link_downed": 2, f"{PORT}/counters/out_of_sequence": 7}
    assert all(matches(path, PROBES[0].volatile) for path in counters)


def test_the_state_of_every_port_comes_before_any_counter(tmp_path):
    second = {path.replace("mlx5_0", "mlx5_1"): value for path, value in ADAPTER.items()}
    paths = list(told(collect, recorded(tmp_path, {**ADAPTER, **second}))[0])
    assert paths.index("infiniband/mlx5_1/ports/1/rate") < paths.index(f"{PORT}/counters/link_downed")


def test_an_adapter_is_known_by_its_address(tmp_path):
    card = "/sys/devices/pci0000:15/0000:18:00.0"
    facts, _, _ = told(collect, recorded(tmp_path, {**ADAPTER, f"{card}/numa_node": "1\n", f"{TOP}/device": f"->{card}"}))
    assert (facts["infiniband/mlx5_0/pci"], facts["infiniband/mlx5_0/numa_node"]) == ("0000:18:00.0", 1)


def test_a_port_that_may_not_be_read_is_denied(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, ADAPTER, denied=[f"{TOP}/ports/1/state"]))
    assert facts[f"{PORT}/state"].status == "denied"


def test_ports_and_counters_that_may_not_be_listed_are_unknown(tmp_path):
    facts, _, _ = told(collect, recorded(tmp_path, ADAPTER, denied=[f"{TOP}/ports/1/counters"]))
    assert facts[f"{PORT}/counters"].status == "denied"
    facts, _, _ = told(collect, recorded(tmp_path, ADAPTER, denied=[f"{TOP}/ports"]))
    assert facts["infiniband/mlx5_0/ports"].status == "denied"
    assert all(matches(path, PROBES[0].tells) for path in facts)


def test_a_host_without_adapters_says_so(tmp_path):
    assert told(collect, recorded(tmp_path, {}))[1] == "absent"
