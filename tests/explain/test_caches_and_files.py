from __future__ import annotations

from driftwatch.model import Symptom
from tests.explain.cases import package, snapshot, suspect, told

WRONG, CRASH, START = Symptom("wrong-output"), Symptom("runtime-crash"), Symptom("startup-crash")
TWICE = "python/owned_twice/cutlass%2Fwarp%2Fmma.py"


def cache(oldest, **more):
    return {"caches/triton/path": "/root/.triton/cache", "caches/triton/oldest": oldest, **{f"caches/triton/{name}": value for name, value in more.items()}}


def test_entries_older_than_the_compiler_are_a_cause():
    made = package("triton", "3.6.0", installed_at="2026-05-01T10:00:00Z")
    found = told(snapshot({**made, **cache("2026-05-02T10:00:00Z")}), snapshot({**made, **cache("2026-01-19T10:00:00Z")}), WRONG)
    assert found.suspects[0].subject.name == "/root/.triton/cache"
    assert any("before triton was installed" in term.says for term in found.suspects[0].because)


def test_entries_that_were_older_on_the_good_side_too_did_no_harm_there():
    made = package("triton", "3.6.0", installed_at="2026-05-01T10:00:00Z")
    found = told(snapshot({**made, **cache("2026-01-19T10:00:00Z")}), snapshot({**made, **cache("2026-01-19T10:00:00Z", entries=9)}), WRONG)
    assert not any("was installed" in term.says for one in found.suspects for term in one.because)


def test_a_younger_cache_is_no_suspect_by_its_age():
    found = told(snapshot(cache("2026-01-19")), snapshot(cache("2026-05-01")), WRONG)
    assert all(one.confidence < 0.5 for one in found.suspects)


def test_damaged_entries_that_came_are_a_cause():
    found = told(snapshot(cache("2026-05-01")), snapshot(cache("2026-05-01", damaged_files=["a.json"])), CRASH)
    assert suspect(found, "cache", "/root/.triton/cache").confidence > 0.5


def test_a_file_that_was_cut_is_blamed_by_its_path():
    path = "files/~%2F.config%2Flibnccl.so.2"
    found = told(snapshot({f"{path}/bytes": 274_000_000}), snapshot({f"{path}/bytes": 98_000_000}), CRASH)
    assert found.suspects[0].subject.name == "~/.config/libnccl.so.2"
    assert any("did not end" in term.says for term in found.suspects[0].because)


def test_a_path_whose_bytes_come_from_its_other_owner_is_blamed():
    owners = {"by": ["libs-base", "libs-cu13"]}
    found = told(snapshot({TWICE: {**owners, "bytes_of": ["libs-cu13"]}}), snapshot({TWICE: {**owners, "bytes_of": ["libs-base"]}}), CRASH)
    assert (found.suspects[0].subject.name, found.suspects[0].bad) == ("cutlass/warp/mma.py", "from libs-base")


def test_many_paths_that_moved_between_two_owners_are_one_suspect():
    def side(winner):
        return {f"{TWICE}{number}": {"by": ["libs-base", "libs-cu13"], "bytes_of": [winner]} for number in range(5)}

    assert [one.subject.name for one in told(snapshot(side("libs-cu13")), snapshot(side("libs-base")), CRASH).suspects] == ["libs-base"]


def test_an_option_that_came_into_a_list_weighs_more_than_another_value_of_one():
    base = {"servers/sglang/running": True}
    name = "servers/sglang/env/PYTORCH_CUDA_ALLOC_CONF"
    came = told(snapshot({**base, name: "max_split_size_mb:512"}), snapshot({**base, name: "expandable_segments:True,max_split_size_mb:512"}), START)
    moved = told(snapshot({**base, name: "max_split_size_mb:512"}), snapshot({**base, name: "max_split_size_mb:256"}), START)
    assert came.suspects[0].confidence > moved.suspects[0].confidence
    assert any("+ expandable_segments" in term.says for term in came.suspects[0].because)
