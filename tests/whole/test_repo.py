"""``diff --repo``: the commits between two HEADs, from a real clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from driftwatch.cli.wiring import clone
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.store.document import load, to_bytes

ROOT = Path(__file__).parents[2]


def git(folder, *words):
    who = {f"GIT_{role}_{what}": word for role in ("AUTHOR", "COMMITTER") for what, word in (("NAME", "a"), ("EMAIL", "a@example.invalid"))}
    environ = {**os.environ, **who}
    return subprocess.run(["git", "-C", folder, *words], env=environ, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A clone of three commits; the HEADs are those of the first and the last."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    heads = []
    for number, name in enumerate(("a.py", "pool.py", "b.py")):
        (folder / name).write_text(f"x = {number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", f"change {name}")
        heads.append(git(folder, "rev-parse", "HEAD"))
    return folder, heads


def test_the_commits_between_are_read_newest_first_with_their_files(checkout):
    folder, heads = checkout
    found = clone.commits_between(str(folder), [(heads[0], heads[2])])[heads[0], heads[2]]
    assert [(one.subject, list(one.files)) for one in found] == [("change b.py", ["b.py"]), ("change pool.py", ["pool.py"])]


def test_a_commit_that_the_clone_lacks_gives_nothing_and_no_word_is_taken_as_an_option(checkout):
    folder, heads = checkout
    assert clone.commits_between(str(folder), [(heads[0], "f" * 40), ("--output=x", heads[0])]) == {}


def test_a_folder_that_is_no_clone_is_refused_by_name(tmp_path):
    with pytest.raises(UsageFault, match="no git clone"):
        clone.commits_between(str(tmp_path), [("a" * 40, "b" * 40)])


def test_a_diff_names_the_commit_that_touched_the_file_in_the_error(checkout, tmp_path):
    folder, heads = checkout
    base = load(ROOT / "snapshots/good.json")
    for side, head in (("good", heads[0]), ("bad", heads[2])):
        (tmp_path / f"{side}.json").write_bytes(to_bytes(replace(base, facts={**base.facts, "git/sglang/head": head})))
    words = ["diff", "good.json", "bad.json", "--repo", str(folder), "--error", 'File "pool.py", line 1\nRuntimeError: x', "--format", "json"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    told = subprocess.run([sys.executable, "-m", "driftwatch", *words], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    suspect = next(one for one in json.loads(told.stdout)["suspects"] if one["subject"]["kind"] == "git")
    assert any("2 commits between" in term["says"] for term in suspect["because"])
