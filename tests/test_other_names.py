"""What is open in a pasted dump is asked for under the name of a probe that there is."""

import pytest

from driftwatch.other_names import asker_of


@pytest.mark.parametrize(("owner", "path", "asker"), [
    ("pip-freeze", "packages/vllm/version", "packages"), ("pip-freeze", "packages/vllm/record", "record"), ("sglang-check-env", "gpus/index-0/name", "nvml"),
    ("env", "env/NCCL_DEBUG", "env"), (None, "torch/version", "versions"), ("digests", "packages/vllm/altered/a.py", "digests"),
])
def test_a_dumps_own_name_is_no_probe(owner, path, asker):
    assert asker_of(owner, path) == asker
