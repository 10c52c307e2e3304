"""A real checkout, asked so that git writes nothing and runs nothing of what the repository is set to run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time

import pytest

from driftwatch.agent import git_texts
from driftwatch.agent.collectors import git
from driftwatch.agent.host import Host, Target
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.recorded import load
from driftwatch.model import matches
from tests.agent.installs import facts_of, host_for
from tests.agent.recording import recorded, told

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

HEAD = "cf76fac91dba015002026b36b1448ab3efed12ac"
STATUS = f"# branch.oid {HEAD}\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +2 -1\n"
CHANGES = {
    "ws.py": b"a  =  1\n\nb = 2\n", "ends.py": b"a = 1\r\nb = 2\r\n", "latin.py": b"caf\xe9 = 1\n", "bom.py": b"\xef\xbb\xbfa = 1\nb = 2\n",
    "real.py": b"a = 1\nb = 3\n", "na me.py": b"a = 1\nb = 4\n",
}
ONLY = {"ws.py": "whitespace", "ends.py": "line-ends", "latin.py": "encoding", "bom.py": "encoding", "real.py": None, "na me.py": None}


def run(folder, *words):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    said = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"]
    return subprocess.run(["git", "-C", str(folder), *said, *words], check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "serve"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    for name in CHANGES:
        (folder / name).write_text("café = 1\n" if name == "latin.py" else "a = 1\nb = 2\n", encoding="utf-8")
    run(folder, "add", ".")
    run(folder, "commit", "-qm", "first")
    return folder


def facts(folder, **settings):
    host = host_for(**settings)
    host.settings = host.settings._replace(source=str(folder))
    return facts_of(git.collect, host)


def recorded_facts(folder, files, commands=(), **described):
    host = recorded(folder, files, **described)
    (folder / "commands.json").write_text(json.dumps([{"argv": ["git", "-C", "/opt/sglang", *words], "rc": 0, "stdout": said} for words, said in commands]))
    host = Host(load(str(folder)), host.settings)
    host.targets = (Target("/usr/bin/python3", (), "/opt/sglang/python/sglang", ""),)
    return told(git.collect, host)


def test_a_clean_checkout_tells_head_branch_and_time(repo):
    found = facts(repo)
    expected = {"root": str(repo), "head": run(repo, "rev-parse", "HEAD"), "branch": "main", "dirty": False, "stashes": 0}
    assert {name: found[f"git/serve/{name}"] for name in expected} == expected
    assert found["git/serve/committed_at"].endswith("Z")
    assert not any("/files/" in path for path in found)


def test_each_changed_file_has_its_digest_and_what_alone_differs(repo):
    for name, data in CHANGES.items():
        (repo / name).write_bytes(data)
    found = facts(repo)
    assert found["git/serve/dirty"] is True
    assert {name: found[f"git/serve/files/{name}"] for name in CHANGES} == {
        name: {"status": ".M", "sha256": hashlib.sha256(data).hexdigest(), "only": ONLY[name]} for name, data in CHANGES.items()}


def test_a_touched_file_is_not_dirty(repo):
    time.sleep(0.02)
    (repo / "real.py").touch()
    assert facts(repo)["git/serve/dirty"] is False


def test_an_untracked_file_is_told_and_does_not_make_the_tree_dirty(repo):
    (repo / os.fsdecode(b"n\xe9w\n.py")).write_text("x")
    (repo / "folder").mkdir()
    (repo / "folder/inner.py").write_text("x")
    found = facts(repo)
    assert found["git/serve/dirty"] is False
    assert found["git/serve/files/n\udce9w\n.py"] == {"status": "??", "sha256": hashlib.sha256(b"x").hexdigest(), "only": None}
    assert found["git/serve/files/folder%2F"] == {"status": "??", "sha256": None, "only": None}


def test_a_deleted_a_renamed_and_a_staged_file_have_gits_own_letters(repo):
    (repo / "ws.py").unlink()
    run(repo, "mv", "na me.py", "new.py")
    (repo / "real.py").write_text("a = 1\nb = 3\n")
    run(repo, "add", "real.py")
    found = facts(repo)
    assert {name: found[f"git/serve/files/{name}"]["status"] for name in ("ws.py", "new.py", "real.py")} == {"ws.py": ".D", "new.py": "R.", "real.py": "M."}
    assert found["git/serve/files/ws.py"]["sha256"] is None


def evil(folder, log):
    """Return a script that notes how it was called."""
    path = folder / "evil.sh"
    path.write_text(f'#!/bin/sh\necho "$1" >> {log}\ncat\n')
    path.chmod(0o755)
    return str(path)


def test_nothing_that_the_repository_is_set_to_run_runs_and_the_index_is_not_written(repo, tmp_path):
    log = tmp_path / "ran"
    script = evil(tmp_path, log)
    programs = ("core.fsmonitor", "filter.lfs.x.clean", "filter.lfs.x.process", "diff.evil.textconv", "diff.external", "gpg.program")
    settings = {
        **{key: f"{script} {key}" for key in programs},
        "filter.lfs.x.required": "true", "core.pager": f"{script} pager", "log.showSignature": "true", "color.ui": "always", "diff.noprefix": "true",
        "status.showUntrackedFiles": "no", "core.hooksPath": str(tmp_path / "hooks"),
    }
    for key, value in settings.items():
        run(repo, "config", key, value)
    (tmp_path / "hooks").mkdir()
    shutil.copy(script, tmp_path / "hooks/post-index-change")
    (repo / ".gitattributes").write_text("*.py filter=lfs.x diff=evil\n")
    (repo / "ends.py").write_bytes(CHANGES["ends.py"])
    time.sleep(0.02)
    (repo / "real.py").touch()
    index = repo / ".git/index"
    before = (index.read_bytes(), index.stat().st_mtime_ns, sorted((repo / ".git").iterdir()))
    found = facts(repo)
    assert not log.exists()
    assert (index.read_bytes(), index.stat().st_mtime_ns, sorted((repo / ".git").iterdir())) == before
    assert (found["git/serve/files/ends.py"]["only"], found["git/serve/files/.gitattributes"]["status"]) == ("line-ends", "??")
    subprocess.run(["git", "-C", str(repo), "status"], check=False, capture_output=True)
    assert log.exists(), "the trap would not have caught plain git either"


def test_a_touched_file_beside_an_edited_one_does_not_make_git_diff_write_the_index(repo):
    (repo / "ws.py").write_text("a = 2\n")
    time.sleep(1.1)
    (repo / "real.py").touch()
    index = repo / ".git/index"
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    assert [path for path in facts(repo) if "/files/" in path] == ["git/serve/files/ws.py"]
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_a_submodule_s_own_filter_does_not_run_either(repo, tmp_path):
    inner = tmp_path / "inner"
    shutil.copytree(str(repo), str(inner))
    run(repo, "submodule", "--quiet", "add", str(inner), "sub")
    run(repo, "commit", "-qm", "sub")
    script = evil(tmp_path, tmp_path / "ran")
    run(repo / "sub", "config", "filter.hidden.clean", f"{script} clean")
    run(repo / "sub", "config", "core.fsmonitor", f"{script} monitor")
    (repo / "sub/.gitattributes").write_text("*.py filter=hidden\n")
    (repo / "sub/real.py").write_text("a = 1\nb = 5\n")
    facts(repo)
    assert not (tmp_path / "ran").exists()


def test_another_user_s_tree_is_told_too(repo):
    if os.geteuid() != 0:
        pytest.skip("needs root to give a tree to another user")
    subprocess.run(["chown", "-R", "65534:65534", str(repo)], check=True)
    assert facts(repo)["git/serve/branch"] == "main"


def test_variables_that_point_git_elsewhere_do_not_mislead(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    (repo / "ends.py").write_bytes(CHANGES["ends.py"])
    assert facts(repo)["git/serve/files/ends.py"]["only"] == "line-ends"


def test_stashes_are_counted_and_credentials_of_remotes_stay_here(repo):
    for text in ("one", "two"):
        (repo / "real.py").write_text(text)
        run(repo, "stash", "-q")
    run(repo, "remote", "add", "origin", "https://me:hunter2@git.example.invalid/x.git")
    found = facts(repo)
    assert (found["git/serve/stashes"], found["git/serve/remotes/origin"]) == (2, "https://git.example.invalid/x.git")


def test_the_followed_branch_and_the_distance_to_it_are_told(repo, tmp_path):
    run(tmp_path, "clone", "-q", str(repo), str(tmp_path / "clone"))
    run(tmp_path / "clone", "commit", "-q", "--allow-empty", "-m", "mine")
    found = facts(tmp_path / "clone")
    assert [found[f"git/clone/{name}"] for name in ("upstream", "ahead", "behind")] == ["origin/main", 1, 0]


def test_a_linked_work_tree_shares_remotes_and_stashes(repo, tmp_path):
    (repo / "real.py").write_text("one")
    run(repo, "stash", "-q")
    run(repo, "remote", "add", "origin", "ssh://git@git.example.invalid/x.git")
    run(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    found = facts(tmp_path / "linked")
    assert [found[f"git/linked/{name}"] for name in ("branch", "stashes", "remotes/origin", "dirty")] == ["side", 1, "ssh://git.example.invalid/x.git", False]


def test_the_checkout_is_found_from_the_package_below_it(repo):
    package = repo / "python" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    found = facts_of(git.collect, host_for(source=str(package)))
    assert (found["git/sglang/root"], found["git/sglang/branch"]) == (str(repo), "main")


def test_a_checkout_above_installed_packages_is_not_theirs(repo):
    package = repo / "venv/lib/python3/site-packages/sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    assert told(git.collect, host_for(source=str(package)))[1:] == ("absent", "no source tree lies in a git checkout")


def test_a_repository_without_a_commit_tells_its_files(tmp_path):
    run(tmp_path, "init", "-q", "-b", "main", "fresh")
    (tmp_path / "fresh/a.py").write_text("x")
    run(tmp_path / "fresh", "add", "a.py")
    found = facts(tmp_path / "fresh")
    assert (found["git/fresh/branch"], found["git/fresh/files/a.py"]["status"]) == ("main", "A.")
    assert "git/fresh/head" not in found


def test_beyond_two_hundred_files_the_rest_is_unknown(repo):
    for number in range(230):
        (repo / f"new{number}.py").write_text("x")
    found = facts(repo)
    assert len([path for path in found if "/files/" in path]) == 200
    assert found["git/serve/files"].reason == "230 files differ or are untracked, 200 of them are told"


def test_without_git_head_and_branch_come_from_its_files_and_the_rest_is_unknown(repo, tmp_path, monkeypatch):
    head = run(repo, "rev-parse", "HEAD")
    run(repo, "pack-refs", "--all")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = facts(repo)
    assert (found["git/serve/head"], found["git/serve/branch"]) == (head, "main")
    assert found["git/serve/dirty"] == ("error", "git: no such command")


def test_a_git_that_never_answers_is_given_up_and_its_files_are_read(repo, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin/git").chmod(0o755)
    head = run(repo, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    begun = time.monotonic()
    found = facts(repo)
    assert time.monotonic() - begun < 9
    assert (found["git/serve/head"], found["git/serve/dirty"].status, found["git/serve/files"].status) == (head, "timeout", "timeout")


def test_a_broken_config_is_said(repo):
    (repo / ".git/config").write_text("[core\n")
    found = facts(repo)
    assert found["git/serve/branch"] == "main"
    assert "exit code 128" in found["git/serve/dirty"].reason


def test_a_recorded_host_answers_to_the_commands_as_they_were_recorded(tmp_path):
    files = {"/opt/sglang/.git/HEAD": "ref: refs/heads/main\n", "/opt/sglang/python/sglang/__init__.py": "", "/opt/sglang/python/sglang/a.py": "x"}
    diff = "diff --git a/python/sglang/a.py b/python/sglang/a.py\n--- a/python/sglang/a.py\n+++ b/python/sglang/a.py\n@@ -1 +1 @@\n-x\n+x \n"
    changed = "1 .M N... 100644 100644 100644 0 0 python/sglang/a.py\n? notes.md\n"
    log = f"{HEAD} 2026-02-19T09:41:27+01:00\n"
    found, status, _ = recorded_facts(tmp_path, files, [
        (("status", "--porcelain=v2", "--branch"), STATUS + changed), (("log", "-1", "--format=%H %cI"), log), (("diff", "HEAD"), diff)])
    assert (status, found["git/sglang/head"], found["git/sglang/committed_at"], found["git/sglang/ahead"]) == ("ok", HEAD, "2026-02-19T08:41:27Z", 2)
    assert found["git/sglang/files/python%2Fsglang%2Fa.py"]["only"] == "whitespace"
    assert found["git/sglang/files/notes.md"] == {"status": "??", "sha256": None, "only": None}


def test_where_git_was_not_recorded_its_files_still_tell_the_head(tmp_path):
    files = {"/opt/sglang/.git/HEAD": "ref: refs/heads/main\n", "/opt/sglang/.git/packed-refs": f"# pack-refs\n{HEAD} refs/heads/main\n"}
    found, _, _ = recorded_facts(tmp_path, files)
    assert (found["git/sglang/head"], found["git/sglang/dirty"].status) == (HEAD, "not_recorded")


def test_a_folder_that_may_not_be_looked_at_is_unknown_and_not_absent(tmp_path):
    found, _, _ = recorded_facts(tmp_path, {"/opt/x": ""}, denied=["/opt/sglang"])
    assert found["git/sglang"].status == "denied"


def test_every_path_is_one_that_the_probe_says_it_tells(repo):
    (repo / "real.py").write_text("x")
    assert all(matches(path, git.PROBES[0].tells) for path in facts(repo))


@pytest.mark.parametrize(("text", "path"), [
    ("plain.py", "plain.py"), ('"caf\\303\\251.py"', "café.py"), ('"caf\\351.py"', "caf\udce9.py"), ('"a\\tb\\"c\\\\.py"', 'a\tb"c\\.py'), ('"', '"'),
])
def test_a_quoted_path_is_told_as_it_is(text, path):
    assert git_texts.unquoted(text) == path


@pytest.mark.parametrize("text", ["", "fatal: not a git repository\n", "# branch.oid x\n1 .M\n", "# branch.oid x\nwhat\n"])
def test_a_status_that_makes_no_sense_is_unreadable(text):
    with pytest.raises(Unreadable, match="git status"):
        git_texts.parse_status(text)


def test_renamed_and_unmerged_lines_are_understood():
    text = "2 R. N... 100644 100644 100644 a b R100 new name.py\told.py\nu UU N... 1 2 3 4 a b c both.py\n"
    assert git_texts.parse_status(STATUS + text).files == {"new name.py": "R.", "both.py": "UU"}


@pytest.mark.parametrize(("changes", "kind"), [
    ([(["a"], ["a\r"])], "line-ends"), ([([], [""])], "whitespace"), ([(["a b"], ["ab"])], "whitespace"), ([(["a"], []), ([], ["a"])], None),
    ([(["a"], ["a\r"]), (["b"], ["b "])], "whitespace"), ([(["a"], ["b"])], None), ([], None), ([(["caf\udce9"], ["café"])], "encoding"),
])
def test_a_kind_of_difference_must_explain_every_change(changes, kind):
    assert git_texts.only(changes) == kind


def test_remotes_are_read_with_quotes_comments_and_one_line_sections():
    text = '# [remote "no"]\n[Remote "a b"] url = https://u:p@h/x\n\tpushurl = y\n[remote "c\\"d"]\n\tURL = "git@h:z.git"\n[branch "main"]\n\turl = no\n'
    assert git_texts.parse_remotes(text) == {"a b": "https://h/x", 'c"d': "git@h:z.git"}


def test_filters_are_named_whatever_is_in_their_names():
    text = "filter.lfs.clean\ngit-lfs clean -- %f\0filter.a.b.process\nx\0core.bare\nfalse\0filter.nothing\n\0"
    assert git_texts.parse_filters(text) == ["a.b", "lfs"]


@pytest.mark.parametrize("text", ["", "abc", f"{HEAD} yesterday"])
def test_a_log_without_commit_and_time_is_unreadable(text):
    with pytest.raises(Unreadable, match="git log"):
        git_texts.parse_committed_at(text)


def test_newer_gits_write_utc_as_z():
    assert git_texts.parse_committed_at(f"{HEAD} 2026-02-19T08:41:27Z\n") == "2026-02-19T08:41:27Z"
