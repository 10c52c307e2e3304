from __future__ import annotations

import pytest

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


def test_a_cache_whose_object_the_error_names_is_a_suspect_and_one_that_only_stands_in_a_frame_is_not():
    side = snapshot(package("torch", "2.11.0"))
    texts = ("ImportError: /tmp/torchinductor_alice/triton/0/d5f8/__triton_launcher.so: undefined symbol: cuLaunchKernel",
             "RuntimeError: CUDA error in /tmp/torchinductor_alice/ab/cab.py")
    found = [told(side, side, Symptom("import-error", text)).suspects for text in texts]
    assert [[(one.subject.kind, one.subject.name) for one in suspects] for suspects in found] == [[("cache", "/tmp/torchinductor_alice")], []]


def test_a_folder_of_a_cache_that_is_in_no_list_and_is_older_than_the_good_side_s_is_blamed():
    top = "folders/~%2F.cache%2Fvllm%2Ftorch_compile_cache"
    path = {f"{top}/path": "~/.cache/vllm/torch_compile_cache"}
    good, bad = (snapshot({**path, f"{top}/oldest": day, f"{top}/newest": day}) for day in ("2026-07-04", "2026-06-27"))
    one = told(good, bad, Symptom("startup-crash", "AttributeError: no attribute 'workspace'")).suspects[0]
    assert (one.subject.kind, one.subject.name) == ("cache", "~/.cache/vllm/torch_compile_cache")


def test_a_library_that_needs_another_one_now_is_blamed_where_the_error_names_that():
    path = "files/sgl_kernel%2Fcommon_ops.abi3.so/needs"
    good, bad = (snapshot({path: [f"libnvrtc.so.{major}"]}) for major in (13, 12))
    one = told(good, bad, Symptom("import-error", "ImportError: libnvrtc.so.12: cannot open shared object file")).suspects[0]
    assert (one.subject.kind, one.subject.name) == ("file", "sgl_kernel/common_ops.abi3.so")


@pytest.mark.parametrize(("name", "after", "subject"), [
    ("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "2.7.4", ("package", "flash-attn")),
    ("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "2.8.0", ("file", "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so")),
    ("libnccl.so.2", "2.7.4", ("file", "libnccl.so.2")),
])
def test_another_compiled_module_of_one_version_is_its_packages(name, after, subject):
    good, bad = (snapshot({**package("flash-attn", version), f"files/{name}/sha256": digest * 64}) for version, digest in (("2.7.4", "a"), (after, "b")))
    found = told(good, bad, Symptom("import-error", "ImportError: flash_attn_2_cuda: undefined symbol"))
    assert suspect(found, *subject) is not None
