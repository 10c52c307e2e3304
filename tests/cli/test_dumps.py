"""A pasted dump wherever a snapshot is taken: recognised, named with --as, stored by `import`, and refused with what was looked for."""

from __future__ import annotations

import json

import pytest

GOOD = "PyTorch version: 2.9.0+cu128\nCUDA used to build PyTorch: 12.8\n[pip3] torch==2.9.0\n[pip3] numpy==2.3.4\n"
BAD = GOOD.replace("2.9.0", "2.9.1")


@pytest.fixture
def pasted(cli):
    (cli.home / "good.txt").write_text(GOOD)
    (cli.home / "bad.txt").write_text(BAD)
    return cli


def test_two_dumps_are_compared(pasted):
    ended = pasted.run("diff", "good.txt", "bad.txt", "--format", "json")
    told = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert (told["bad"]["source"], told["bad"]["host"], told["bad"]["taken_at"]) == ("torch-collect-env", None, None)
    assert "packages/torch/version" in {change["path"] for change in told["changes"]}


def test_two_sources_of_one_version_are_no_drift(pasted):
    (pasted.home / "list.txt").write_text("Package Version\n------- -------\nnumpy   2.3.4\ntorch   2.9.0\n")
    told = json.loads(pasted.run("diff", "good.txt", "list.txt", "--format", "json").stdout)
    assert [change for change in told["changes"] if change["class"] != "unknown"] == []


def test_a_dump_comes_from_standard_input_too(pasted):
    told = json.loads(pasted.run("show", "-", "--format", "json", typed=BAD).stdout)
    assert told["facts"]["torch/version"] == "2.9.1+cu128"


def test_a_dump_is_stored_under_a_host_with_a_tag(pasted):
    assert pasted.run("import", "good.txt", "--host", "gpu-a", "--label", "good").stdout == "gpu-a@good\n"
    assert pasted.run("show", "gpu-a@good", "torch/version").stdout == "torch/version  2.9.0+cu128\n"


def test_an_imported_dump_is_compared_with_a_pasted_one(pasted):
    pasted.run("import", "good.txt", "--host", "gpu-a", "--label", "good")
    assert pasted.run("diff", "gpu-a@good", "./bad.txt").returncode == 1


def test_an_unknown_text_is_refused_with_what_was_looked_for(pasted):
    (pasted.home / "prose.txt").write_text("the server is slow since Monday\n")
    ended = pasted.run("diff", "good.txt", "prose.txt")
    assert ended.returncode == 2
    assert "prose.txt is no snapshot" in ended.stderr
    assert "sglang-check-env" in ended.stderr


def test_a_damaged_snapshot_is_told_as_that_and_not_searched_for_dumps(pasted):
    (pasted.home / "broken.json").write_text('{"format": 1, "facts": {"a": "torch==2.9.1"')
    assert "is no snapshot: it is no JSON" in pasted.run("show", "./broken.json").stderr


def test_a_kind_can_be_named_where_looking_is_not_enough(pasted):
    (pasted.home / "one.txt").write_text("some words\ntorch==2.9.1\nmore words\n")
    assert pasted.run("show", "one.txt", "packages/*/version").returncode == 2
    assert "packages/torch/version  2.9.1" in pasted.run("show", "one.txt", "packages/*/version", "--as", "pip-freeze").stdout.splitlines()


def test_a_kind_that_there_is_not_is_refused(pasted):
    ended = pasted.run("show", "good.txt", "--as", "tea-leaves")
    assert ended.returncode == 2
    assert "pip-freeze" in ended.stderr
