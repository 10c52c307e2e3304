from driftwatch.dumps.infiniband_tools import FORMAT
from driftwatch.dumps.read import read_dump
from driftwatch.model import Unknown
from tests.dumps.reading import facts

VERBS = """hca_id: mlx5_0
        transport:                      InfiniBand (0)
        fw_ver:                         28.40.1000
        node_guid:                      0000:0000:0000:0001
        vendor_part_id:                 4126
        board_id:                       MSF0000000047
        phys_port_cnt:                  1
                port:   1
                        state:                  PORT_DOWN (1)
                        max_mtu:                4096 (5)
                        phys_state:             LINK_UP (5)
                        link_layer:             Ethernet

hca_id: mlx5_1
        fw_ver:                         28.40.1702
"""
STAT = """CA 'mlx5_5'
\tCA type: MT4129
\tFirmware version: 28.41.1000
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
"""
STATUS = """Infiniband device 'mlx5_2' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0001
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 400 Gb/sec (4X NDR)
\tlink_layer:\t InfiniBand
"""


def test_devinfo_tells_each_adapter_in_the_kernels_words():
    assert facts(FORMAT, VERBS) == {
        "infiniband/mlx5_0/firmware": "28.40.1000", "infiniband/mlx5_0/board_id": "MSF0000000047", "infiniband/mlx5_0/ports/1/state": "DOWN",
        "infiniband/mlx5_0/ports/1/phys_state": "LinkUp", "infiniband/mlx5_0/ports/1/link_layer": "Ethernet", "infiniband/mlx5_1/firmware": "28.40.1702"}


def test_a_rate_without_its_unit_is_not_told():
    assert facts(FORMAT, STAT) == {
        "infiniband/mlx5_5/hca_type": "MT4129", "infiniband/mlx5_5/firmware": "28.41.1000", "infiniband/mlx5_5/ports/1/state": "INIT",
        "infiniband/mlx5_5/ports/1/phys_state": "LinkUp", "infiniband/mlx5_5/ports/1/link_layer": "InfiniBand"}


def test_ibstatus_tells_the_rate():
    found = facts(FORMAT, STATUS)
    assert (found["infiniband/mlx5_2/ports/1/rate"], found["infiniband/mlx5_2/ports/1/state"]) == ("400 Gb/sec (4X NDR)", "ACTIVE")


def test_a_firmware_that_was_cut_is_unknown():
    told = read_dump("hca_id: mlx5_0\n        transport:   InfiniBand (0)\n        board_id:  MSF0000000047\n        fw_ver:   28.4", "paste")
    assert isinstance(told.get("infiniband/mlx5_0/firmware"), Unknown)


def test_rows_below_a_prompted_command_are_read_too():
    assert read_dump("user@gpu-7:~$ ibstat\n" + STAT, "paste").facts["infiniband/mlx5_5/ports/1/state"] == "INIT"
