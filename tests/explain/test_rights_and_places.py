"""Whose files are, where they lie, and what lies before what was installed."""

from __future__ import annotations

import pytest

from driftwatch.model import Symptom
from tests.explain.cases import snapshot, told

CACHE = "folders/%2Ftmp%2Fx-cache"
DENIED = Symptom("startup-crash", 'IO error while creating file "/tmp/x-cache/fb374d41": Permission denied (os error 13)')


def owned(owner, mode="rwxr-xr-x"):
    return snapshot({f"{CACHE}/path": "/tmp/x-cache", f"{CACHE}/owner": owner, f"{CACHE}/mode": mode})  # a name in a text


def test_a_folder_of_another_owner_is_blamed_where_the_error_is_of_rights_and_names_what_lies_in_it():
    one = told(owned("serve:serve"), owned("batch:batch"), DENIED).suspects[0]
    assert (one.subject.kind, one.subject.name, one.good, one.bad, one.strength) == ("cache", "/tmp/x-cache", "serve:serve", "batch:batch", "strong")


@pytest.mark.parametrize("text", ["RuntimeError: CUDA error: an illegal memory access", "OSError: /data/x-cache-2/a: No such file or directory"])
def test_another_owner_is_nothing_where_the_error_is_of_something_else(text):
    assert told(owned("serve:serve"), owned("batch:batch"), Symptom("runtime-crash", text)).suspects == ()


def test_a_cache_that_lies_on_a_network_file_system_now_is_blamed_for_an_error_of_its_files():
    good, bad = (snapshot({"files/~%2F.cache%2Foutlines/file_system": place}) for place in ("ext4 at /", "nfs4 at /root/.cache"))
    one = told(good, bad, Symptom("runtime-crash", "sqlite3.OperationalError: disk I/O error")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("cache", "~/.cache/outlines", "strong")


LACKS = Symptom("import-error", "ModuleNotFoundError: No module named 'vllm._C'")
TRACE = 'File "/workspace/vllm/model_executor/layers/activation.py", line 9, in <module>'


@pytest.mark.parametrize(("more", "trace", "name"), [
    ({}, TRACE, "/workspace/vllm"),
    ({"packages/vllm/editable": True}, TRACE, None),
    ({}, TRACE.replace("/workspace/", "/opt/venv/lib/python3.12/site-packages/"), None),
])
def test_a_folder_of_sources_that_shadows_what_is_installed_is_blamed(more, trace, name):
    side = snapshot({"packages/vllm/version": "0.2.2", **more})
    found = told(side, side, LACKS, trace=trace)
    assert [one.subject.name for one in found.suspects if one.subject.kind == "file"] == ([name] if name else [])


def test_a_submodule_at_another_commit_is_blamed_where_the_error_names_a_file_of_it():
    top = {"git/flashinfer/root": "/flashinfer", "git/flashinfer/head": "2222222"}
    good, bad = (snapshot({**top, "git/flashinfer/submodules/3rdparty%2Fcutlass": commit}) for commit in ("b46b16d00348", "da5e086dab31"))
    one = told(good, bad, Symptom("startup-crash", "/flashinfer/3rdparty/cutlass/include/cute/copy_atom.hpp(194): error: name followed by")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("git", "/flashinfer/3rdparty/cutlass", "strong")


def test_files_of_another_user_that_came_into_a_cache_are_blamed_where_the_error_is_of_rights_there():
    top = {"caches/triton/path": "/home/serve/.triton/cache"}
    good, bad = (snapshot({**top, "caches/triton/owners": owners}) for owners in ([1001], [0, 1001]))
    text = "PermissionError: [Errno 13] Permission denied: '/home/serve/.triton/cache/AB12/x.json'"
    one = told(good, bad, Symptom("startup-crash", text)).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("cache", "/home/serve/.triton/cache", "strong")


@pytest.mark.parametrize(("last", "names"), [("tokenizer.json", ["/models/m/consolidated.safetensors"]), ("config.json", [])])
def test_a_file_that_the_other_side_s_sorted_listing_passes_over_came_and_one_behind_its_end_is_not_known(last, names):
    seen = {"files/%2Fmodels%2Fm%2Fconfig.json/bytes": 601}
    good = snapshot({**seen, "folders/%2Fmodels%2Fm/listed_to": last})
    bad = snapshot({**seen, "files/%2Fmodels%2Fm%2Fconsolidated.safetensors/bytes": 14496078512, "folders/%2Fmodels%2Fm/listed_to": "tokenizer.json"})
    assert [one.subject.name for one in told(good, bad, Symptom("startup-crash", "KeyError: 'layers.0.attention.wk.weight'")).suspects] == names
