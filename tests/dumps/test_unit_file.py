"""A systemd unit in a paste: what it orders, the variables that it sets, and the server that it starts, itself or in a container."""

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import Known, Unknown

UNIT = """# /etc/systemd/system/chat.service
[Unit]
After=network-online.target

[Service]
Environment=CUDA_VISIBLE_DEVICES=2 HF_HOME=/mnt/hf
ExecStartPre=-/usr/bin/docker rm -f chat
ExecStart={start}
Restart=on-failure
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target

# /etc/systemd/system/chat.service.d/limits.conf
[Service]
LimitNOFILE=1048576
"""
ITSELF = "/opt/venv/bin/python -m sglang.launch_server --model-path /models/x \\\n  --mem-fraction-static 0.85 \\\n  --attention-backend triton"
CONTAINER = "-/usr/bin/docker run --rm --gpus all image/sglang:v1 sglang serve --model-path /models/x --attention-backend triton"


@pytest.mark.parametrize(("start", "variable"), [(ITSELF, Known("/mnt/hf")), (CONTAINER, None)])
def test_a_unit_tells_its_orders_its_variables_and_its_server(start, variable):
    found = read_dump(UNIT.format(start=start), "unit.txt")
    assert [found.get(f"services/chat/{path}") for path in ("env/CUDA_VISIBLE_DEVICES", "unit/Restart")] == [Known("2"), Known("on-failure")]
    assert found.get("services/chat/unit/LimitNOFILE") == Known(["65536", "1048576"])
    assert [found.get(f"servers/sglang/{source}/attention_backend") for source in ("given", "args")] == [Known("triton")] * 2
    got = found.get("servers/sglang/env/HF_HOME")
    assert got == variable if variable else isinstance(got, Unknown), "into a container no variable of the unit goes"


def test_beside_a_log_the_units_arguments_are_only_given():
    log = "[2026-05-30 06:20:11] server_args=ServerArgs(model_path='/models/x', attention_backend='trtllm_mha')\n"
    found = read_dump(UNIT.format(start=ITSELF) + "```\n" + log + "```\n", "both.txt")
    assert [found.get(f"servers/sglang/{source}/attention_backend") for source in ("given", "args")] == [Known("triton"), Known("trtllm_mha")]


def test_what_a_unit_does_not_set_is_absent_where_its_whole_text_is_shown():
    assert read_dump(UNIT.format(start=ITSELF), "unit.txt").get("services/chat/env/NCCL_DEBUG") == Known(None)
    piece = UNIT.format(start=ITSELF).partition("\n")[2].rpartition("\nLimitNOFILE=10")[0]
    cut = read_dump(piece, "piece.txt")
    assert (cut.get("services/unnamed/env/HF_HOME"), isinstance(cut.get("services/unnamed/env/NCCL_DEBUG"), Unknown)) == (Known("/mnt/hf"), True)
