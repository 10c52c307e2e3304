"""What an error text says without naming a thing: a new value, the work that a variable steers, a refusal of the operating system."""

from __future__ import annotations

import pytest

from driftwatch.explain.error_words import is_of_system, missing_module, variable_fits
from driftwatch.explain.flips import flips
from driftwatch.explain.naming import code_of, is_file_about, is_import_of, names_path, names_value
from driftwatch.model import Symptom
from driftwatch.symptom import classify
from tests.explain.cases import case_of, package, snapshot, suspect, told


def args(**values):
    return {"servers/sglang/running": True, **{f"servers/sglang/given/{name}": value for name, value in values.items()}}


def says(found, kind, name):
    return [term.says for term in suspect(found, kind, name).because]


@pytest.mark.parametrize(
    ("text", "value", "is_named"),
    [
        ("Invalid attention backend: 'fa4'", "fa4", True), ("fa40 is no backend", "fa4", False), ("the FlashInfer backend needs", "flashinfer", True),
        ("expandable_segments is not supported", "max_split_size_mb:512,expandable_segments:True", True), ("error in 8 ranks", 8, False),
        ("asked for 131072 tokens", 131072, True), ("auto was chosen", "auto", False), ("true", True, False), ("no text", None, False),
    ])
def test_a_text_names_a_value_by_a_word_that_means_something(text, value, is_named):
    assert names_value(text, value) is is_named


@pytest.mark.parametrize(("value", "is_named"), [("/nfs/shared/triton", True), ("/other:/nfs/shared/triton/", True), ("/nfs", False), ("triton", False)])
def test_a_text_names_the_folder_of_a_value(value, is_named):
    assert names_path("PermissionError: [Errno 13] Permission denied: '/nfs/shared/triton/AB12'", value) is is_named


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("speculative_algorithm", "EAGLE", "speculative"), ("attention_backend", "flashinfer", "flashinfer"), ("mem_fraction_static", 0.8, ""),
        ("tp_size", 8, ""),
    ])
def test_a_traceback_goes_through_code_that_an_argument_selects(name, value, word):
    trace = 'File "/root/sglang/srt/speculative/eagle_worker.py", line 5, in f\nFile "/root/sglang/srt/layers/flashinfer_mla_backend.py", line 5, in g'
    assert code_of(trace, name, value) == word


@pytest.mark.parametrize(("module", "name"), [("google", "protobuf"), ("cuda", "cuda-bindings"), ("torch", "torch"), ("sgl_kernel", "sgl-kernel")])
def test_the_first_part_of_an_import_tells_its_distribution(module, name):
    assert is_import_of(module, name)


def test_the_last_file_of_a_traceback_may_be_called_after_a_distribution():
    trace = 'File "/a/scheduler.py", line 1, in f\nFile "/a/constrained/xgrammar_backend.py", line 2, in g'
    assert is_file_about(trace, "xgrammar")
    assert not is_file_about(trace, "outlines")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LANG", "UnicodeDecodeError: 'ascii' codec can't decode byte 0xe2"), ("LD_LIBRARY_PATH", "libtorch_cuda.so: undefined symbol: ncclCommWindowRegister"),
        ("CUDA_VISIBLE_DEVICES", "CUDA error: invalid device ordinal"), ("NCCL_SOCKET_IFNAME", "NCCL WARN Bootstrap : no socket interface found"),
        ("HF_HUB_OFFLINE", "LocalEntryNotFoundError: outgoing traffic has been disabled"), ("OMP_NUM_THREADS", "libgomp: Thread creation failed"),
    ])
def test_an_error_speaks_of_the_work_that_a_variable_steers(name, text):
    assert variable_fits(text, name)
    assert not variable_fits("AssertionError: head size 80", name)


def test_a_refusal_of_the_system_is_told_from_an_error_of_code():
    assert is_of_system("OSError: [Errno 28] No space left on device")
    assert not is_of_system("TypeError: run() takes 2 positional arguments")


@pytest.mark.parametrize(("text", "module"), [("No module named 'pyairports.airports'", "pyairports"), ("cannot import name 'x' from 'y'", "")])
def test_the_module_that_is_not_there(text, module):
    assert missing_module(text) == module


def test_a_new_value_that_the_error_names_passes_packages_that_moved():
    good, bad = args(attention_backend="fa3"), args(attention_backend="fa4")
    symptom = Symptom("startup-crash", "AssertionError: Backend requires SM>=90 and fa4 installed.")
    found = told(snapshot({**good, **package("transformers", "4.57.1")}), snapshot({**bad, **package("transformers", "4.57.2")}), symptom)
    assert found.suspects[0].subject.name == "attention_backend"


def test_an_argument_that_only_one_command_line_gives_is_a_suspect():
    found = told(snapshot(args(tp_size=8)), snapshot(args(tp_size=8, kv_cache_dtype="fp8_e4m3")), Symptom("accuracy"))
    assert suspect(found, "launch-arg", "kv_cache_dtype").confidence > 0.5


def test_a_command_line_beside_resolved_arguments_is_not_compared_with_them():
    resolved = {"servers/sglang/running": True, "servers/sglang/args/kv_cache_dtype": "auto", "servers/sglang/args/tp_size": 8}
    assert told(snapshot(resolved), snapshot(args(tp_size=8)), Symptom("accuracy")).suspects == ()


def test_the_library_that_prints_a_refusal_only_asked():
    trace = "PermissionError: [Errno 13] Permission denied: '/nfs/shared/triton/AB12'"
    good = {**package("triton", "3.5.1"), "env/TRITON_CACHE_DIR": "/root/.triton", "env_source": "the server's process"}
    bad = {**package("triton", "3.5.2"), "env/TRITON_CACHE_DIR": "/nfs/shared/triton", "env_source": "the server's process"}
    found = told(snapshot(good), snapshot(bad), Symptom("startup-crash", trace))
    assert found.suspects[0].subject.name == "TRITON_CACHE_DIR"


def test_a_web_package_gains_little_from_a_raiser_of_the_model():
    good = {**package("transformers", "4.57.1", requires=["requests", "tokenizers"]), **package("requests", "2.32.4"), **package("tokenizers", "0.22.1")}
    bad = {**good, **package("requests", "2.32.5"), **package("tokenizers", "0.22.2")}
    found = told(snapshot(good), snapshot(bad), Symptom("startup-crash", "AttributeError: module 'transformers' has no attribute 'x'"))
    assert found.suspects[0].subject.name == "tokenizers"


def test_what_came_after_the_server_was_started_weighs_less():
    def at(when):
        bad = {**package("sgl-kernel", "0.3.22", installed_at=when), "servers/sglang/running": True, "servers/sglang/started_at": "2026-03-05T15:00:00Z"}
        return told(snapshot({**package("sgl-kernel", "0.3.21"), "servers/sglang/running": True}), snapshot(bad), Symptom("wrong-output"))

    late, early = at("2026-03-05T16:00:00Z"), at("2026-03-05T14:00:00Z")
    assert suspect(late, "package", "sgl-kernel").confidence < suspect(early, "package", "sgl-kernel").confidence
    assert any(one.startswith("it came at 2026-03-05 16:00Z") for one in says(late, "package", "sgl-kernel"))


def test_the_same_version_from_another_place_is_another_package():
    direct = {"packages/sglang/direct_url": {"url": "file:///root/sglang/python"}}
    found = told(snapshot({**package("sglang", "0.5.9"), **direct}), snapshot({**package("sglang", "0.5.9"), "packages/sglang/direct_url": {"url": "file:///home/dev/sglang"}}))
    assert "the same version, from another place" in says(found, "package", "sglang")[0]


def test_huge_pages_that_were_switched_off_are_a_suspect_of_slow_work():
    found = told(snapshot({"thp/enabled": "always"}), snapshot({"thp/enabled": "never"}), Symptom("slow"))
    assert suspect(found, "host-memory", "thp enabled").confidence > 0.5


def test_one_that_stands_out_of_many_is_likelier_for_it():
    web = {f"packages/{name}/version": "1.0" for name in ("h11", "idna", "certifi", "click", "yarl", "anyio", "sniffio")}
    good = {**web, **args(quantization="none"), "env/LANG": "C"}
    bad = {**dict.fromkeys(web, "1.1"), **args(quantization="fp8")}
    found = told(snapshot(good), snapshot(bad), Symptom("accuracy"))
    assert any("nothing of it comes near" in one for one in says(found, "launch-arg", "quantization"))


def test_a_bare_exception_is_an_error_that_names_its_kind():
    line = "Exception: Capture cuda graph failed: CUDA out of memory."
    log = f"[2026-03-05 15:02:11 TP0] Scheduler hit an exception: Traceback (most recent call last):\n{line}\n"
    assert classify(log) == Symptom("oom", line)


def test_a_rewritten_file_can_be_put_back():
    good = package("triton", "3.5.1")
    bad = {**good, "packages/triton/rewritten/triton%2F__init__.py": {"size": 9, "recorded_size": 9, "sha256": "ab" * 32}}
    assert [flip.step.lines[0].rpartition(" ")[2] for flip in flips(case_of(snapshot(good), snapshot(bad)))] == ["triton==3.5.1"]
