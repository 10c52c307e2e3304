"""One GPU that two commands of nvidia-smi tell goes by one key; two that may be two do not."""

import pytest

from driftwatch.dumps.read import read_dump

UUIDS = tuple(f"GPU-00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))
LIST = "".join(f"GPU {index}: Quadro RTX 4000 (UUID: {uuid})\n" for index, uuid in enumerate(UUIDS))
TABLE = """+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|=========================================+======================+======================|
|   0  Quadro RTX 4000                Off | 00000000:06:00.0 Off |                  N/A |
| 30%   25C    P8              10W / 125W |      1MiB /  8192MiB |      0%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
|   1  Quadro RTX 4000                Off | 00000000:07:00.0 Off |                  N/A |
| 30%   25C    P8               1W / 125W |      1MiB /"""
CHECK_ENV = "Python: 3.10.12 (main)\nCUDA available: True\nGPU 0: Quadro RTX 4000\nGPU 0 Compute Capability: 7.5\nPyTorch: 2.6.0\nsglang: 0.4.6\n"


def keys(text):
    return {path.split("/")[1] for path in read_dump(text, "paste").facts if path.startswith("gpus/") and path.count("/") > 1}


@pytest.mark.parametrize("text", [f"$ nvidia-smi -L\n{LIST}\n$ nvidia-smi\n{TABLE}", f"$ nvidia-smi\n{TABLE}\n\n$ nvidia-smi -L\n{LIST}"])
def test_the_list_and_the_table_tell_the_same_gpus(text):
    assert keys(text) == set(UUIDS)


def test_what_the_table_tells_goes_below_the_uuid():
    facts = read_dump(f"{LIST}\n{TABLE}", "paste").facts
    told = [facts[f"gpus/{uuid}/{key}"] for uuid, key in ((UUIDS[0], "memory_total_mib"), (UUIDS[0], "pci"), (UUIDS[1], "name"))]
    assert told == [8192, "0000:06:00.0", "Quadro RTX 4000"]


def test_gpus_of_another_name_are_others():
    assert keys(LIST.replace("RTX 4000", "RTX 5000") + "\n" + TABLE) > {"index-0"}


def test_an_index_with_two_uuids_names_none():
    other = LIST.replace("00000000-0000-0000", "11111111-0000-0000")
    assert "index-0" in keys(f"{LIST}\n{other}\n{TABLE}")


def test_the_numbers_that_torch_counts_are_not_those_of_nvidia_smi():
    assert keys(f"{LIST}\n{CHECK_ENV}") == {*UUIDS, "index-0"}


def test_two_spellings_of_one_gpu_s_uuid_are_no_two_gpus():
    head = "<nvidia_smi_log>\n<attached_gpus>1</attached_gpus>\n"
    document = f'{head}<gpu id="00000000:06:00.0">\n<product_name>Quadro RTX 4000</product_name>\n<uuid>{UUIDS[1]}</uuid>'
    assert keys(f"$ nvidia-smi -L\n{LIST.partition(chr(10))[0]}\n\n$ nvidia-smi -q -x\n{document}\n<vbios_version>9") == {"index-0"}
