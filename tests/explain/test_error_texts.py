from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.explain.code_names import missing_symbols, speaks_with
from driftwatch.explain.explain import explain
from driftwatch.explain.naming import frames, lacks_symbol_of, names_package, quotes_version
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import Symptom
from driftwatch.symptom import trace_of
from tests.explain.cases import case_of, snapshot, told

GOOD = {
    "transformers": "5.1.0", "torch": "2.9.0", "numpy": "2.2.6", "protobuf": "6.33.5", "setuptools": "80.0", "huggingface-hub": "0.36.0", "fastapi": "0.136.1",
    "starlette": "0.50.0", "nvidia-nccl-cu12": "2.27.5", "nvidia-cudnn-cu12": "9.10.2", "cuda-python": "12.9.0", "flashinfer-python": "0.6.12", "anyio": "4.12",
    "apache-tvm-ffi": "0.1.8", "outlines": "0.1.11", "tokenizers": "0.22.2", "compressed-tensors": "0.11.0", "xgrammar": "0.1.30", "openai": "2.1",
}


def versions(**more):
    return snapshot({f"packages/{name}/version": version for name, version in {**GOOD, **more}.items()})


@pytest.mark.parametrize(
    ("culprit", "klass", "error"),
    [
        ("transformers", "import-error", "ImportError: cannot import name 'AutoModelForVision2Seq' from 'transformers' (/x/transformers/__init__.py)"),
        ("numpy", "import-error", "ImportError: Numba needs NumPy 2.2 or less. Got NumPy 2.3."),
        ("protobuf", "import-error", "TypeError: Descriptors cannot be created directly."),
        ("setuptools", "import-error", "ModuleNotFoundError: No module named 'pkg_resources'"),
        ("huggingface-hub", "import-error", "ImportError: huggingface-hub>=0.34.0,<1.0 is required, but found huggingface-hub==9.9.9."),
        ("nvidia-nccl-cu12", "hang", "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:268, unhandled system error"),
        ("nvidia-cudnn-cu12", "runtime-crash", "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),
        ("starlette", "runtime-crash", "TypeError: Router.__init__() got an unexpected keyword argument 'on_startup'"),
        ("cuda-python", "import-error", "ImportError: cannot import name 'cudart' from 'cuda' (unknown location)"),
        ("apache-tvm-ffi", "startup-crash", "terminate called after throwing an instance of 'tvm::ffi::Error'"),
        ("outlines", "import-error", "ModuleNotFoundError: No module named 'outlines.fsm'"),
        ("compressed-tensors", "startup-crash", "ImportError: cannot import name 'QuantizationScheme' from 'compressed_tensors.quantization'"),
        ("xgrammar", "runtime-crash", "AttributeError: module 'xgrammar' has no attribute 'GrammarCompiler'"),
    ],
)
def test_the_error_text_names_its_culprit_among_everything_that_moved(culprit, klass, error):
    found = told(versions(), versions(**dict.fromkeys(GOOD, "9.9.9")), Symptom(klass, error))
    assert found.suspects[0].subject.name == culprit


def test_a_fault_of_python_code_speaks_against_native_packages():
    error = Symptom("runtime-crash", "AttributeError: '_Included' object has no attribute 'path'")
    found = told(versions(), versions(fastapi="9.9", **{"apache-tvm-ffi": "9.9"}), error)
    assert found.suspects[0].subject.name == "fastapi"


def test_a_mangled_name_is_of_its_outermost_namespace():
    text = "a.so: undefined symbol: _ZNK3c105Error4whatEv, b.so: undefined symbol: ncclCommInitRank"
    assert missing_symbols(text) == ["c10", "ncclCommInitRank"]
    assert (lacks_symbol_of(text, "torch"), lacks_symbol_of(text, "nvidia-nccl-cu12"), lacks_symbol_of(text, "numpy")) == ("c10", "ncclCommInitRank", "")


@pytest.mark.parametrize(("text", "name"), [("libcudart.so.12: cannot open", "nvidia-cuda-runtime-cu12"), ("libnccl.so.2: bad", "nvidia-nccl-cu13"),
                                            ("libcudnn_ops.so.9", "nvidia-cudnn-cu12"), ("No module named 'PIL'", "pillow")])
def test_a_library_or_an_import_name_names_its_distribution(text, name):
    assert names_package(text, name)


def test_a_version_is_quoted_as_a_number_of_its_own():
    assert quotes_version("found x==0.6.1, not y", "0.6.1")
    assert not quotes_version("found x==0.6.13", "0.6.1")


def test_words_of_a_library_are_no_words_of_another():
    assert speaks_with("CUDNN_STATUS_NOT_INITIALIZED", "nvidia-cudnn-cu12")
    assert not speaks_with("CUDNN_STATUS_NOT_INITIALIZED", "nvidia-nccl-cu12")


def test_the_innermost_frame_of_a_traceback_is_what_raised():
    site = "/opt/venv/lib/python3.12/site-packages"
    lines = [f'  File "{site}/vllm/engine.py", line 3, in f', "    g()", f'  File "{site}/outlines/base.py", line 9, in g', "    x.bar", "KeyError: 'bar'"]
    assert frames(trace_of("\n".join(["Traceback (most recent call last):", *lines]))) == ["vllm", "outlines"]


def test_the_raiser_of_a_traceback_outweighs_what_it_went_through():
    trace = 'File "/x/site-packages/transformers/a.py", line 1\nFile "/x/site-packages/tokenizers/b.py", line 2'
    case = replace(case_of(versions(), versions(transformers="9", tokenizers="9"), Symptom("startup-crash", "KeyError: 'x'")), trace=trace)
    assert explain(case, load_rules(has_entry_points=False)).suspects[0].subject.name == "tokenizers"
