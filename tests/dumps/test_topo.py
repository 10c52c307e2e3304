from driftwatch.dumps.topo import FORMAT
from tests.dumps.reading import facts, is_unknown, stretches

TWO = ("\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
       "GPU0\t X \tNV18\tPIX\t0-31\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t32-63\t1\t\tN/A\n")
NIC = "NIC0\tPIX\tSYS\t X \n\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"


def test_a_matrix_is_told_as_the_collector_tells_it():
    found = facts(FORMAT, TWO + NIC)
    assert found["topology/matrix"]["GPU0"] == {"GPU1": "NV18", "mlx5_0": "PIX"}
    assert found["topology/affinity"]["GPU1"] == {"cpu": "32-63", "numa": "1", "gpu_numa": "N/A"}


def test_a_matrix_that_lost_a_row_is_unknown():
    assert is_unknown(facts(FORMAT, TWO)["topology/matrix"], "NIC0")


def test_a_row_that_was_cut_makes_the_matrix_unknown():
    assert is_unknown(facts(FORMAT, TWO.replace("GPU1\tNV18\t X \tSYS\t32-63\t1\t\tN/A", "GPU1\tNV18"))["topology/matrix"])


def test_a_legend_alone_names_the_network_cards():
    text = "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC4: mlx5_6\n\nulimit soft: 1048576\n"
    assert facts(FORMAT, text) == {"topology/nics/NIC0": "mlx5_0", "topology/nics/NIC4": "mlx5_6"}


def test_the_matrix_is_found_between_other_lines():
    (one,), lines = stretches(FORMAT, "NVIDIA Topology: \n" + TWO + NIC + "\nulimit soft: 1048576\n")
    assert lines[one.after - 1] == "  NIC0: mlx5_0"


def test_a_sentence_about_gpus_is_no_header():
    assert stretches(FORMAT, "GPU0 GPU1 are connected\nGPU0 is broken\n")[0] == []
