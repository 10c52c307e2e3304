"""What the error itself names comes before what is near to it: moved packages, a variable and those that share its value, the driver, GPU memory."""

from __future__ import annotations

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.explain.families import argument_family
from driftwatch.explain.naming import names_path
from driftwatch.explain.releases import is_unreleased
from driftwatch.model import Symptom
from driftwatch.other_names import NOT_UNDER_THIS_NAME
from driftwatch.symptom import classify, trace_of
from tests.explain.cases import package, snapshot, suspect, told, unknown

NEEDS = {"requires": ["openai", "cbor2", "numpy"]}


def test_a_package_that_moved_and_is_named_comes_before_others_that_the_raiser_needs():
    good = snapshot({**package("vllm", "0.9", **NEEDS), **package("openai", "1.99.9"), **package("numpy", "2.2.0"), **package("cbor2", "5.6")})
    bad = snapshot({**package("vllm", "0.9", **NEEDS), **package("openai", "1.100.1"), **package("numpy", "2.2.6"), **package("cbor2", "5.7")})
    error = Symptom("import-error", "ImportError: cannot import name 'TextConfig' from 'openai.types.responses' (/x/site-packages/openai/types/__init__.py)")
    assert told(good, bad, error).suspects[0].subject.name == "openai"


def test_memory_that_a_gpu_lacks_is_no_limit_of_the_address_space():
    sides = snapshot(package("torch", "2.1")), snapshot(package("torch", "2.2"))
    texts = ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", "MemoryError: Unable to allocate 3 GiB")
    found = [suspect(told(*sides, Symptom("oom", text)), "limit", "address space limit (as)") is not None for text in texts]
    assert found == [False, True]


PTX = "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain."


@pytest.mark.parametrize(("text", "strength"), [(PTX, "likely"), ("RuntimeError: something else", "weak")])
def test_a_driver_that_only_a_tool_printed_is_a_suspect_and_more_so_where_the_error_is_of_an_old_one(text, strength):
    good, bad = (snapshot({"driver/version": version, **package("rich", release)}) for version, release in (("575.57.08", "14.0"), ("550.144.03", "14.1")))
    found = suspect(told(good, bad, Symptom("runtime-crash", text)), "driver", "NVIDIA driver")
    assert (found.good, found.bad, found.strength) == ("575.57.08", "550.144.03", strength)


URI = "ValueError: ROUTER_PORT 'tcp://10.96.193.120:6785' appears to be a URI."


def test_of_variables_with_one_value_the_one_that_the_error_names_comes_first():
    more = {"env/VLLM_ROUTER_PORT_6785_TCP": "tcp://10.96.193.120:6785", "env/VLLM_ROUTER_SERVICE_HOST": "10.96.193.120"}
    found = told(snapshot({}), snapshot({"env/ROUTER_PORT": "tcp://10.96.193.120:6785", **more}), Symptom("startup-crash", URI))
    assert found.suspects[0].subject.name == "ROUTER_PORT"
    assert found.suspects[0].confidence > found.suspects[1].confidence + 0.2


def test_an_address_is_no_path():
    assert not names_path(URI, "tcp://10.96.193.120:6785")


@pytest.mark.parametrize(("error", "is_first"), [("AssertionError: res=<Response [502]>, res.text=''", True), ("ImportError: undefined symbol: x", False)])
def test_a_proxy_is_suspected_where_a_request_failed(error, is_first):
    bad = snapshot({**package("rich", "14.1"), "env/http_proxy": "http://10.0.0.9:3128"})
    found = told(snapshot(package("rich", "14.0")), bad, Symptom("startup-crash", error))
    assert (found.suspects[0].subject.name == "http_proxy" and found.suspects[0].strength != "weak") is is_first


@pytest.mark.parametrize(
    ("version", "is_one"), [("2.3.0.dev20231210+cu121", True), ("0.5.0rc1", True), ("2.9.0+cu128", False), ("0.4.6.post1", False), (None, False)])
def test_a_build_before_a_release_is_known_by_its_version(version, is_one):
    assert is_unreleased(version) is is_one


def test_a_nightly_that_replaced_a_release_weighs_more_than_a_release():
    def found(version):
        return suspect(told(snapshot(package("torch", "2.1.2")), snapshot(package("torch", version)), Symptom("hang")), "package", "torch").confidence

    assert found("2.3.0.dev20231210") > found("2.3.0")


@pytest.mark.parametrize("more", [" --enable-mixed-chunk", " --schedule-policy fcfs"])
def test_of_two_commands_that_were_typed_what_only_one_gives_is_a_difference(more):
    good, bad = (read_dump(f"$ python3 -m sglang.launch_server --model-path org/model --tp 8{given}\n", "paste") for given in ("", more))
    assert [one.subject.name for one in told(good, bad, Symptom("runtime-crash")).suspects] == [more.split()[0][2:].replace("-", "_")]


@pytest.mark.parametrize(("symbol", "is_first"), [("cuGreenCtxDestroy", True), ("nvmlDeviceGetFabricInfo", True), ("_ZN3c104cuda14ExchangeDeviceEa", False)])
def test_a_symbol_of_the_drivers_own_library_points_to_the_driver(symbol, is_first):
    good, bad = (snapshot({"driver/version": version, **package("aiohttp", other)}) for version, other in (("550.144.03", "3.11"), ("535.86.10", "3.12")))
    error = Symptom("import-error", f"ImportError: /opt/venv/lib/python3.12/site-packages/sgl_kernel/common_ops.abi3.so: undefined symbol: {symbol}")
    found = told(good, bad, error).suspects[0]
    assert ((found.subject.kind, found.strength) == ("driver", "likely")) is is_first


def test_of_a_family_that_moved_together_the_leader_comes_first_though_the_error_fits_all():
    sides = [snapshot({name: value for one in ("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base") for name, value in package(one, version).items()})
             for version in ("4.6.2", "4.6.0")]
    found = told(*sides, Symptom("startup-crash", "cutlass.base_dsl.common.DSLUserCodeError: error[TYPE_UNSTABLE_JOIN]")).suspects
    assert [one.subject.name for one in found] == ["nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base"]
    assert found[0].confidence > found[1].confidence


FRAME = 'Traceback (most recent call last):\n  File "/v/site-packages/kernels/layer.py", {place}\nValueError: a version must be specified.\n'


@pytest.mark.parametrize("place", ["line 12, in __init__", "in __init__"])
def test_who_raised_and_moved_comes_before_others_also_where_a_frame_has_no_number(place):
    names = ("kernels", "cuda-python", "huggingface-hub")
    good, bad = (snapshot({path: value for name in names for path, value in package(name, version).items()}) for version in ("0.14.1", "0.15.2"))
    text = FRAME.format(place=place)
    assert told(good, bad, classify(text), trace=trace_of(text)).suspects[0].subject.name == "kernels"


@pytest.mark.parametrize(("backend", "is_named"), [("PyTorch & CuDNN Compatibility Issue Detected", True), ("a cuBLAS issue", False)])
def test_a_library_is_known_by_its_usual_spelling(backend, is_named):
    good, bad = (snapshot({**package("nvidia-cudnn-cu13", version), **package("numpy", version)}) for version in ("9.16", "9.13"))
    found = suspect(told(good, bad, Symptom("startup-crash", f"RuntimeError: {backend}")), "package", "nvidia-cudnn-cu13")
    assert any("words of its library" in term.says for term in found.because) is is_named


def test_an_abbreviated_argument_is_weighed_as_the_whole_one():
    assert [argument_family(name) for name in ("max_running_requests", "max_running_request", "max_")] == ["memory", "memory", "other"]


@pytest.mark.parametrize(("error", "is_blamed"), [
    ("ModuleNotFoundError: No module named 'openai'", True), ("ModuleNotFoundError: No module named 'litellm'", False), ("openai: Connection refused", False),
])
def test_a_package_that_is_not_found_by_its_name_any_more_is_blamed_where_the_error_lacks_it(error, is_blamed):
    gone = unknown("not_recorded", NOT_UNDER_THIS_NAME)
    good, bad = snapshot({**package("openai", "1.69.0"), **package("torch", "2.5.1")}), snapshot({"packages/openai/version": gone, **package("torch", "2.6.0")})
    found = suspect(told(good, bad, Symptom("startup-crash", error)), "package", "openai")
    assert (found is not None) is is_blamed
    assert found is None or (found.good, found.bad) == ("1.69.0", "not found by this name")


def test_a_package_whose_name_no_answer_came_for_is_not_blamed_for_being_gone():
    bad = snapshot({"packages/openai/version": unknown("timeout")})
    error = Symptom("startup-crash", "ModuleNotFoundError: No module named 'openai'")
    assert suspect(told(snapshot(package("openai", "1.69.0")), bad, error), "package", "openai") is None


@pytest.mark.parametrize(("error", "first"), [
    ("AssertionError: expected size 7==9, stride 5120==5120 at dim=0", "speculative_config"),
    ("RuntimeError: expected 7 tokens but got 9", "speculative_config"),
    ("AssertionError: step 79 of 97", None),
])
def test_an_argument_whose_values_the_error_sets_against_each_other_is_the_first(error, first):
    sides = [snapshot({"servers/vllm/args/gpu_memory_utilization": part, "servers/vllm/args/speculative_config": f"{{method:dflash,tokens:{tokens}}}"})
             for part, tokens in ((0.9, 7), (0.88, 9))]
    found = told(*sides, Symptom("startup-crash", error)).suspects
    alone = found[0].subject.name if found[0].confidence > found[1].confidence else None
    assert alone in {first, "gpu_memory_utilization" if first is None else first}
    says = [term.says for one in found if one.subject.name == "speculative_config" for term in one.because]
    assert any("sets its old value against its new one" in one for one in says) is (first is not None)


def test_a_variable_is_of_the_error_that_speaks_of_what_it_steers():
    good, bad = snapshot(package("transformers", "4.56.2")), snapshot({**package("transformers", "4.57.1"), "env/VLLM_USE_FLASHINFER_SAMPLER": "1"})
    found = told(good, bad, Symptom("startup-crash", "RuntimeError: FlashInfer requires GPUs with sm75 or higher"))
    assert found.suspects[0].subject.name == "VLLM_USE_FLASHINFER_SAMPLER"


def test_a_name_that_a_module_lacks_is_no_distribution_of_that_name():
    good = snapshot({**package("setuptools", "69.5.1"), **package("packaging", "24.0")})
    bad = snapshot({**package("setuptools", "70.1.0"), **package("packaging", "24.1")})
    found = told(good, bad, Symptom("import-error", "ImportError: cannot import name 'packaging' from 'pkg_resources'"))
    assert found.suspects[0].subject.name == "setuptools"
    assert found.suspects[0].confidence > found.suspects[1].confidence


@pytest.mark.parametrize("advice", ["Please install sglang first: pip install sglang", "Neither vLLM nor SGLang is installed. At least one is required."])
def test_advice_to_install_does_not_hide_what_could_not_be_loaded(advice):
    text = f"ImportError: libnvrtc.so.12: cannot open shared object file: No such file\nImportError: {advice}\n"
    assert classify(text).signature.startswith("ImportError: libnvrtc.so.12")


@pytest.mark.parametrize(("error", "says"), [
    ("AssertionError('Logits Processors are not supported in multi-step decoding')", True), ("RuntimeError: CUDA error: an illegal memory access", False)])
def test_an_error_that_refuses_settings_is_of_an_argument_before_a_native_library(error, says):
    good, bad = snapshot(package("nvidia-nvjitlink-cu12", "12.6.68")), snapshot(package("nvidia-nvjitlink-cu12", "12.6.77"))
    good, bad = (snapshot({**side.facts, "servers/vllm/args/num_scheduler_steps": steps}) for side, steps in ((good, 1), (bad, 8)))
    found = told(good, bad, Symptom("runtime-crash", error)).suspects
    assert found[0].subject.name == "num_scheduler_steps"
    assert any("does not go with another" in term.says for term in found[0].because) is says


def test_a_file_that_is_missed_among_a_hubs_blobs_is_of_those_who_read_them():
    sides = [snapshot({**package("transformers", one), **package("xgrammar", one), **package("llguidance", one)}) for one in ("5.9.0", "5.12.1")]
    error = Symptom("startup-crash", "FileNotFoundError: [Errno 2] No such file or directory: '.../blobs/media_utils.py'")
    assert told(*sides, error).suspects[0].subject.name == "transformers"


ASKED = "ImportError: cannot import name 'GuidedParams' from 'vllm.sampling_params'", "ModuleNotFoundError: No module named 'vllm.entrypoints.speech'"


@pytest.mark.parametrize("text", ASKED)
def test_what_is_asked_of_a_server_that_moved_is_not_looked_for_in_a_package_that_went_away(text):
    good = snapshot({**package("vllm", "0.11.2"), **package("xformers", "0.0.33"), **package("grpcio", "1.80"), **package("trl", "0.25")})
    bad = snapshot({**package("vllm", "0.12.0"), **package("grpcio", "1.81"), **package("trl", "0.25")})
    found = told(good, bad, Symptom("import-error", text)).suspects
    assert (found[0].subject.name, found[0].strength) == ("vllm", "strong")
    assert all(one.strength != "strong" for one in found[1:])


def test_a_class_of_a_library_in_an_error_names_it():
    good, bad = (snapshot({**package("cachetools", one), **package("uvicorn", other)}) for one, other in (("5.5.2", "0.34.1"), ("6.0.0b3", "0.34.2")))
    found = told(good, bad, Symptom("runtime-crash", "AttributeError: 'AdapterLRUCache' object has no attribute '_LRUCache__update'"))
    assert found.suspects[0].subject.name == "cachetools"


@pytest.mark.parametrize(("path", "text", "name"), [
    ("libc/version", "/usr/include/x86_64-linux-gnu/bits/mathcalls.h(79): error: exception specification is incompatible", "glibc"),
    ("toolchain/gcc", "error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!", "gcc"),
    ("cuda/nvcc", "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist", "nvcc"),
    ("cuda/nvcc", "RuntimeError: CUDA out of memory", None)])
def test_a_tool_that_compiles_is_blamed_by_an_error_of_its_work_alone(path, text, name):
    good, bad = (snapshot({path: version, **package("rich", version)}) for version in ("12.8", "13.0"))
    found = suspect(told(good, bad, Symptom("startup-crash", text)), "library", name or "nvcc")
    assert (found is not None and found.strength == "likely") == (name is not None)


def test_a_compiler_that_is_gone_is_what_the_error_misses():
    good, bad = (read_dump(f"$ command -v gcc cc nvcc; cat /etc/base\n{found}cuda:12.1-{base}\n$ exit\n", "x")
                 for found, base in (("/usr/bin/gcc\n/usr/bin/cc\n", "devel"), ("", "runtime")))
    found = told(good, bad, Symptom("startup-crash", "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.")).suspects[0]
    assert (found.subject.name, found.good, found.bad, found.strength) == ("gcc", "/usr/bin/gcc", None, "strong")


def test_who_asks_for_what_an_unmoved_package_lacks_is_likelier_than_what_that_one_needs():
    needs = {"huggingface-hub": {}, "transformers": {"requires": ["huggingface-hub"]}, "peft": {"requires": ["transformers"]}}
    old, new = {"huggingface-hub": "0.26", "transformers": "4.37", "peft": "0.13.2"}, {"huggingface-hub": "0.27", "transformers": "4.37", "peft": "0.14.0"}
    told_of = [{path: value for name, version in side.items() for path, value in package(name, version, **needs[name]).items()} for side in (old, new)]
    good, bad = map(snapshot, told_of)
    found = told(good, bad, Symptom("import-error", "ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' (/x/transformers/__init__.py)"))
    assert (found.suspects[0].subject.name, found.suspects[0].strength) == ("peft", "strong")
