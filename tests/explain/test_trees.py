from __future__ import annotations

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import OOM, package, places, snapshot, suspect, told, unknown

WRONG = Symptom("wrong-output", None)
TREE = {
    "sources/sglang/root": "/opt/sglang/python/sglang",
    "sources/sglang/tree": "sha256:1",
    "sources/sglang/count": 2,
    "sources/sglang/files/srt%2Flayers%2Fattn.py": "sha256:" + "a" * 64 + " 10",
    "sources/sglang/files/srt%2Fmem_cache%2Fpool.py": "sha256:" + "b" * 64 + " 20",
}
GIT = {"git/sglang/root": "/opt/sglang", "git/sglang/head": "4e1b0a7" + "0" * 33, "git/sglang/dirty": False}


def edited(name="srt%2Flayers%2Fattn.py"):
    return {**TREE, "sources/sglang/tree": "sha256:2", f"sources/sglang/files/{name}": "sha256:" + "c" * 64 + " 11"}


def test_an_edited_source_file_is_blamed_by_its_path():
    one = suspect(told(snapshot(TREE), snapshot(edited()), WRONG), "file", "/opt/sglang/python/sglang/srt/layers/attn.py")
    assert (one.good, one.bad) == ("sha256:aaaaaaaa… 10 bytes", "sha256:cccccccc… 11 bytes")


def test_a_file_of_the_part_that_the_symptom_shows_in_leads():
    bad = snapshot({**edited(), "sources/sglang/files/srt%2Fmem_cache%2Fpool.py": "sha256:" + "d" * 64 + " 20"})
    assert told(snapshot(TREE), bad, OOM).suspects[0].subject.name.endswith("mem_cache/pool.py")
    assert told(snapshot(TREE), bad, WRONG).suspects[0].subject.name.endswith("layers/attn.py")


def test_an_edit_of_blanks_only_weighs_little():
    bad = snapshot(
        {
            **edited(),
            **GIT,
            "git/sglang/dirty": True,
            "git/sglang/files/python%2Fsglang%2Fsrt%2Flayers%2Fattn.py": {"status": ".M", "sha256": "c", "only": "whitespace"},
        }
    )
    assert not [one for one in told(snapshot({**TREE, **GIT}), bad, WRONG).suspects if one.confidence >= 0.2]


def test_files_that_came_with_another_commit_are_the_commits():
    bad = snapshot({**edited(), **GIT, "git/sglang/head": "5" * 40})
    assert [one.subject.kind for one in told(snapshot({**TREE, **GIT}), bad, WRONG).suspects] == ["git"]


def test_a_touched_file_with_the_same_bytes_is_ruled_out():
    good, bad = (
        {**TREE, "sources/sglang/times/srt%2Fmem_cache%2Fpool.py": [1, 1]},
        {**TREE, "sources/sglang/times/srt%2Fmem_cache%2Fpool.py": [1772418660000000000, 1]},
    )
    found = told(snapshot(good), snapshot(bad), OOM)
    assert (found.word, [one.because for one in found.ruled_out if one.subject.name == "sglang sources"]) == (
        "SAME",
        ["2 files, the same digests on both sides; pool.py was touched at 2026-03-02 02:31Z but byte for byte the same"],
    )


@pytest.mark.parametrize(
    "bad",
    [
        snapshot({**TREE, "sources/sglang/files/srt%2Fmem_cache%2Fpool.py": unknown("timeout")}),
        snapshot(TREE, sources=ProbeResult("timeout")),
        snapshot({**TREE, "sources/sglang/files": unknown("error", "more files than the budget")}),
    ],
)
def test_sources_that_were_not_read_whole_are_not_ruled_out(bad):
    assert places(told(snapshot(TREE), bad, OOM), "sglang sources") == []


def test_another_commit_is_blamed_with_the_commits_between():
    one = suspect(told(snapshot(GIT), snapshot({**GIT, "git/sglang/head": "5" * 40}), Symptom("slow", None)), "git", "/opt/sglang")
    assert one.commands[1].run == "git -C /opt/sglang log --oneline 4e1b0a700000..555555555555"


def test_edits_that_are_gone_are_drift_too():
    good = snapshot({**GIT, "git/sglang/dirty": True, "git/sglang/files/python%2Fa.py": {"status": ".M", "sha256": "1", "only": None}})
    one = suspect(told(good, snapshot(GIT), Symptom("startup-crash", None)), "git", "/opt/sglang")
    assert (one.good, one.bad, one.confidence >= 0.5) == ("1 file not as committed", "clean", True)


def test_an_untracked_note_is_not_blamed_and_the_commit_is_ruled_out():
    found = told(snapshot(GIT), snapshot({**GIT, "git/sglang/files/notes.md": {"status": "??", "sha256": "1", "only": None}}), OOM)
    assert (found.suspects, places(found, "git head of /opt/sglang")) == ((), ["ruled_out"])


def test_a_commit_is_not_ruled_out_while_tracked_files_differ():
    found = told(snapshot(GIT), snapshot({**GIT, "git/sglang/dirty": True, "git/sglang/files/a.py": {"status": ".M", "sha256": "1", "only": None}}), OOM)
    assert places(found, "git head of /opt/sglang") == []


def test_an_untracked_module_may_be_imported_and_counts_as_an_edit():
    found = told(
        snapshot(GIT), snapshot({**GIT, "git/sglang/files/sitecustomize.py": {"status": "??", "sha256": "1", "only": None}}), Symptom("import-error", None)
    )
    assert suspect(found, "git", "/opt/sglang").because[0].says.startswith("edits that are in no commit: sitecustomize.py")


IN_TREE = 'File "/opt/sglang/python/sglang/srt/offload.py", line 7, in <module>'


@pytest.mark.parametrize(("trace", "says"), [(IN_TREE, "the traceback ends in a file of it"), ("", "another commit")])
def test_another_commit_is_a_suspect_though_edits_are_not_known_and_more_so_where_the_traceback_ends_in_it(trace, says):
    good, bad = (snapshot({"git/sglang/root": "/opt/sglang", "git/sglang/head": head * 7, "git/sglang/dirty": unknown("not_recorded")}) for head in "ab")
    found = suspect(told(good, bad, Symptom("import-error", None), trace=trace), "git", "/opt/sglang")
    assert any(says in term.says for term in found.because)
    assert any("file of it" in term.says for term in found.because) is bool(trace)


def test_a_file_of_the_served_model_of_which_other_lines_were_shown_is_a_suspect():
    shown = '$ cat /models/x/generation_config.json\n{{\n  "eos_token_id": {ids},\n}}\n$ cat /proc/meminfo\nMemFree: {free} kB\n'
    launch = "$ python -m sglang.launch_server --model-path /models/x\n"
    good, bad = (read_dump(shown.format(ids=ids, free=free) + launch, "paste") for ids, free in (("[1, 2]", 7), ("1", 9)))
    found = told(good, bad, WRONG)
    assert [(one.subject.kind, one.subject.name) for one in found.suspects] == [("file", "/models/x/generation_config.json")]


def test_a_checkout_that_is_no_longer_told_of_is_no_edit():
    found = told(snapshot(GIT), snapshot(package("torch", "2.9.1")), OOM)
    assert not [term.says for one in found.suspects for term in one.because if "edits" in term.says]


def test_edits_whose_files_are_not_told_are_not_called_after_the_fact():
    (one,) = told(snapshot({**GIT, "git/sglang/dirty": True}), snapshot(GIT), OOM).suspects
    assert "uncommitted edits of the good side are gone: in which files is not told" in [term.says for term in one.because]
