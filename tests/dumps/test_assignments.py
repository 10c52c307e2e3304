"""Variables that stand on lines right above the command that uses them."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown

LAUNCH = "python -m sglang.launch_server \\\n--model-path $MODEL --port ${PORT}\n"
ABOVE = '# the card\nexport NCCL_DEBUG=INFO; export PORT=8921;\nMODEL="org/m"\n\n'


def get(text, name="servers/sglang/args/port"):
    return read_dump(text, "paste").get(name)


def test_a_value_that_was_assigned_above_is_put_in():
    assert (get(ABOVE + LAUNCH), get(ABOVE + LAUNCH, "servers/sglang/args/model_path")) == (Known(8921), Known("org/m"))


def test_what_was_exported_is_of_the_shell_and_what_was_assigned_is_not():
    assert get(ABOVE + LAUNCH, "env/NCCL_DEBUG") == Known("INFO")
    assert isinstance(get("OMP_NUM_THREADS=8\n" + LAUNCH, "env/OMP_NUM_THREADS"), Unknown)


@pytest.mark.parametrize("above", [
    "PORT=$(free_port)\n", "PORT=80\nPORT=${PORT:-90}\n", "PORT=80\nsource other.sh\n", "```\nPORT=80\n```\n",
    "PORT=80\nif true; then\nPORT=90\nfi\n", "$ cat run.sh\nPORT=80\n"])
def test_a_value_that_may_be_another_stays_open(above):
    assert isinstance(get(above + LAUNCH), Unknown)


def test_nothing_is_put_into_single_quotes():
    told = get("A=1\nvllm serve m --override-neuron-config '{\"x\": \"$A\"}'\n", "servers/vllm/args/override_neuron_config")
    assert "$A" in str(told) or isinstance(told, Unknown)


def test_a_key_that_is_put_in_is_masked():
    assert "verysecret" not in str(read_dump("KEY=verysecret\nvllm serve m --api-key $KEY\n", "paste").facts)
