"""``nvidia-container-cli info``: the driver, and each GPU whose UUID was printed."""

from driftwatch.dumps.read import read_dump

UUID = "GPU-00000000-0000-0000-0000-000000000001"
TEXT = f"""I1028 06:07:18.518201 26698 nvc_info.c:628] listing device /dev/nvidia0 ({UUID} at 00000000:01:00.0)
NVRM version:   418.67
CUDA version:   10.1

Device Index:   0
Device Minor:   0
Model:          GeForce RTX 2080 Ti
Brand:          GeForce
GPU UUID:       {UUID}
Bus Location:   00000000:01:00.0
Architecture:   7.5

Device Index:   1
Model:          GeForce RTX 20"""


def test_the_driver_and_the_gpus_are_read_and_one_that_was_cut_is_not():
    assert read_dump(TEXT, "paste").facts == {
        "driver/version": "418.67", "cuda/driver": "10.1", f"gpus/{UUID}/index": 0, f"gpus/{UUID}/name": "GeForce RTX 2080 Ti",
        f"gpus/{UUID}/pci": "0000:01:00.0", f"gpus/{UUID}/compute_capability": "7.5"}


def test_a_gpu_whose_uuid_was_cut_is_left_out():
    assert set(read_dump(f"```\n{TEXT.partition(UUID[12:] + chr(10))[0]}\n```\n", "paste").facts) == {"driver/version", "cuda/driver"}
