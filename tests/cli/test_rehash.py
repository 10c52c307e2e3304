"""A second snapshot reads only what changed, whatever the store keeps for it; `--rehash` reads all."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time

import pytest

from driftwatch.store import document

TEXT = b"a = 1\n"
TRUE = f"sha256:{hashlib.sha256(TEXT).hexdigest()} {len(TEXT)}"
FALSE = f"sha256:{'f' * 64} {len(TEXT)}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    top = tmp_path_factory.mktemp("tree") / "sglang"
    top.mkdir()
    (top / "__init__.py").write_bytes(TEXT)
    time.sleep(2.1)
    return top


@pytest.fixture
def look(cli, tree):
    """Return a maker of stored snapshots of the tree: its facts, and what was said beside it."""

    def taken(*words):
        where = () if "--source" in words else ("--source", tree)
        ran = cli.run("snapshot", "--only", "targets,sources", "--save", *where, *words)
        digits = ran.stdout.strip().partition("@")[2]
        path, = (cli.store / "hosts").glob(f"*/*{digits}*.json")
        return document.load(path).facts, ran.stderr

    return taken


@pytest.fixture
def state(cli):
    return cli.store / "hosts" / os.uname().nodename / "state" / "sources.json.gz"


def mark(state, **more):
    """Put a digest into the state that no file has, so that a fact shows where it came from."""
    told = json.loads(gzip.decompress(state.read_bytes()))
    for tree in told["trees"].values():
        tree["__init__.py"][4] = "f" * 64
    state.write_bytes(gzip.compress(json.dumps({**told, **more}).encode()))


def test_the_digest_of_an_unchanged_file_is_taken_over_and_rehash_reads_it(look, state):
    assert look()[0]["sources/sglang/files/__init__.py"] == TRUE
    mark(state)
    assert look()[0]["sources/sglang/files/__init__.py"] == FALSE
    assert look("--rehash")[0]["sources/sglang/files/__init__.py"] == TRUE
    assert look()[0]["sources/sglang/files/__init__.py"] == TRUE


def test_facts_are_the_same_whichever_way_they_came(look):
    assert look()[0] == look()[0] == look("--rehash")[0]


def test_what_another_host_had_is_not_used_and_that_is_said(look, state):
    look()
    mark(state, host="another")
    facts, said = look()
    assert facts["sources/sglang/files/__init__.py"] == TRUE
    assert "sources.json.gz is damaged" in said
    assert "every source file" in said


def test_a_damaged_file_is_a_note_and_nothing_else(look, state):
    before = look()[0]
    state.write_bytes(b"\x1f\x8bnonsense")
    facts, said = look()
    assert facts == before
    assert "note: sources.json.gz is damaged" in said
    assert "damaged" not in look()[1]


def test_the_state_can_be_thrown_away(look, state):
    before = look()[0]
    state.unlink()
    assert look()[0] == before
    assert state.exists()


def test_a_snapshot_that_is_stored_nowhere_leaves_no_state(cli, tree):
    cli.run("snapshot", "--only", "targets,sources", "--source", tree, "-o", "x.json")
    assert not (cli.store / "hosts").exists()


def test_after_an_edit_the_facts_are_those_of_a_whole_look(look, tmp_path):
    top = tmp_path / "sglang"
    (top / "srt/layers").mkdir(parents=True)
    for name in ("__init__.py", "srt/engine.py", "srt/layers/rope.py", "srt/layers/100%.py"):
        (top / name).write_text(name)
    (top / "srt/link.py").symlink_to("engine.py")
    (top / "srt/big.bin").write_bytes(b"x" * ((1 << 20) + 1))
    time.sleep(2.1)
    look("--source", top)
    (top / "srt/layers/rope.py").write_text("edited")
    (top / "srt/layers/new.py").write_text("new")
    assert look("--source", top)[0] == look("--source", top, "--rehash")[0]
