"""Names that are no text, or that a terminal would obey, from the host through a stored snapshot and out to a reader: whole, and inert."""

from __future__ import annotations

import json
import os
import re

import pytest

from driftwatch.model import content_id, to_document
from driftwatch.store.document import load, to_bytes
from tests.agent.installs import install, venv
from tests.cli.conftest import Cli
from tests.whole.faults import take

NAMES = (b"caf\xe9.py", b"new\nline.py", b"-rf", b"\x1b[2J\x1b]0;owned\x07.py", b"\x9b31m.py", "\u202egnp.py".encode(), b"tab\t.py", b"100%2F.py", b"[bold].py",
         b"quote'\".py", b"x" * 252 + b".py", b"\xed\xa0\x80.py")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A source tree and a package folder with such names, and an interpreter."""
    top = tmp_path_factory.mktemp("names")
    python, site = venv(top / "venv")
    install(site, "fine", "1.0", {"fine/__init__.py": ""})
    tree = top / "tree"
    tree.mkdir()
    for name in NAMES:
        (tree / os.fsdecode(name)).write_bytes(name)
        (tree / os.fsdecode(b"link-" + name[:200])).symlink_to(os.fsdecode(name))
    (site / os.fsdecode(b"\x1b[31mred-1.0.dist-info")).mkdir()
    (site / os.fsdecode(b"caf\xe9.pth")).write_text("/opt/\x1b[31m\n")
    (site / os.fsdecode(b"~\x1b]0;x\x07-1.0.dist-info")).mkdir()
    return python, tree


@pytest.fixture(scope="module")
def taken(place):
    return take(pythons=(place[0],), source=str(place[1]))


def test_such_names_break_no_probe(taken):
    assert not {"timeout", "error", "died", "lost"} & set(taken.statuses.values())
    assert len([path for path in taken.snapshot.below("sources/tree/files") if not path.startswith("link-")]) == len(NAMES)


def test_such_names_come_back_from_a_stored_snapshot_byte_for_byte(taken, tmp_path):
    stored = tmp_path / "one.json"
    stored.write_bytes(to_bytes(taken.snapshot))
    assert stored.read_bytes().isascii()
    again = load(stored)
    assert to_document(again) == json.loads(json.dumps(to_document(taken.snapshot)))
    paths = {os.fsencode(path.replace("%2F", "/").replace("%25", "%")) for path in again.below("sources/tree/files")}
    assert set(NAMES) <= paths


def is_inert(ran):
    return "Traceback" not in ran.stderr and OBEYED.findall(ran.stdout.replace("\n", "") + ran.stderr.replace("\n", "")) == []


def test_what_is_shown_of_such_names_is_inert(place, tmp_path):
    cli, path = Cli(tmp_path), tmp_path / "one.json"
    made = cli.run("snapshot", "--only", "sources", "--only", "packages", "--only", "ownership", "--source", place[1], "--python", place[0], "--out", path)
    assert made.returncode in {0, 3}, made.stderr
    assert is_inert(made)
    whole, part, document = cli.run("show", path), cli.run("show", path, "sources/*"), cli.run("show", path, "--format", "json")
    assert [is_inert(ran) for ran in (whole, part, document)] == [True] * 3
    assert "new\\x0aline.py" in part.stdout
    assert json.loads(document.stdout)["facts"].keys() == load(path).facts.keys()


def test_what_is_shown_on_a_terminal_or_where_utf_8_is_not_spoken_is_inert_too(taken, tmp_path):
    cli = Cli(tmp_path)
    (tmp_path / "one.json").write_bytes(to_bytes(taken.snapshot))
    shown = cli.on_a_terminal("--no-pager", "show", tmp_path / "one.json", "sources/*").replace("\r\n", "")
    assert [one for one in re.findall("\x1b.{6}", shown) if not re.match("\x1b\\[[0-9;]*m", one)] == []
    assert "owned\x07" not in shown
    plain = cli.run("show", tmp_path / "one.json", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert plain.stdout.isascii()
    assert "Traceback" not in plain.stderr


def test_a_diff_of_two_trees_with_such_names_is_inert(place, taken, tmp_path):
    cli = Cli(tmp_path)
    (tmp_path / "good.json").write_bytes(to_bytes(taken.snapshot))
    facts = {path: value for path, value in taken.snapshot.facts.items() if "%" not in path}
    facts = {path: "sha256:" + "0" * 64 + " 1" if path.startswith("sources/tree/files/") and isinstance(value, str) else value for path, value in facts.items()}
    bad = json.loads(to_bytes(taken.snapshot))
    bad.update(facts=facts)
    bad["id"] = content_id(bad)
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    for words in ((), ("--format", "json")):
        ran = cli.run("diff", tmp_path / "good.json", tmp_path / "bad.json", *words)
        assert ran.returncode in {0, 1, 3}, ran.stderr
        assert is_inert(ran)
