"""Rows of ``ps`` that show how a server was started."""

from __future__ import annotations

import pytest

from driftwatch.dumps.read import read_dump

COMMAND = 'python3 -m sglang.launch_server --model-path /m/q --tp 8 --json-model-override-args {"a":1} --port 30000'
GREP = "root      1300  0.0  0.0   6408  2100 pts/0    S+   10:05   0:00 grep --color=auto sglang"
COLUMNS = (
    "root      1234 12.3  4.5 123456 78901 ?        Sl   10:00   1:23 ", "user  1234     1  0 Mar23 ?        00:00:10 /opt/venv/bin/", "  1234 ",
    "Mon Mar 23 08:05:41 2026 ")


def given(*rows):
    facts = read_dump("\n".join(["$ ps", *rows, "$ uname -r", "6.8.0", ""]), "paste").facts
    return {path.rpartition("/")[2]: value for path, value in facts.items() if "/given/" in path}


@pytest.mark.parametrize("columns", COLUMNS)
def test_a_row_tells_what_was_given_whatever_columns_stand_before(columns):
    assert given(columns + COMMAND, GREP) == {"model_path": "/m/q", "tp_size": "8", "json_model_override_args": '{"a":1}', "port": "30000"}


def test_of_several_servers_only_what_all_were_given_is_told():
    assert given(COLUMNS[0] + COMMAND, COLUMNS[0].replace("1234", "1235") + COMMAND.replace("30000", "30001")).keys() == {
        "model_path", "tp_size", "json_model_override_args"}


@pytest.mark.parametrize("row", [GREP, "1. python3 -m sglang.launch_server --tp 8 is what I ran", "root 1234 sglang::scheduler_TP0"])
def test_another_row_tells_nothing(row):
    assert given(row) == {}
