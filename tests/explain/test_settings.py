from __future__ import annotations

import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.explain.families import argument_family, is_workaround, package_family, variable_family
from driftwatch.explain.naming import names_argument, names_file, names_package, names_variable
from driftwatch.explain.servers import with_argument
from driftwatch.model import Symptom
from tests.explain.cases import OOM, no_server, places, snapshot, suspect, told, unknown

RUNS = {"servers/sglang/running": True}


def args(**values):
    return {f"servers/sglang/args/{name}": value for name, value in values.items()}


def env(**values):
    return {**RUNS, **{f"servers/sglang/env/{name}": value for name, value in values.items()}}


def test_an_argument_that_the_error_names_is_strong_for_its_class():
    found = told(
        snapshot(args(context_length=4096, port=1)),
        snapshot(args(context_length=131072, port=2)),
        Symptom("oom", "KV pool holds fewer than --context-length 131072"),
    )
    assert [one.subject.name for one in found.suspects] == ["context_length"]


def test_harmless_arguments_are_left_under_changes():
    assert told(snapshot(args(log_level="info", port=1)), snapshot(args(log_level="debug", port=2)), OOM).suspects == ()


def test_a_given_argument_of_a_running_server_is_compared_with_the_resolved_one_of_a_log():
    good = snapshot({**RUNS, "servers/sglang/given/tp_size": "4", "servers/sglang/args": unknown("not_recorded")})
    found = told(good, snapshot({**no_server(), **args(tp_size=8)}), Symptom("hang", None))
    assert suspect(found, "launch-arg", "tp_size") is not None


def test_the_same_number_as_text_is_no_change():
    good = snapshot({**RUNS, "servers/sglang/given/mem_fraction_static": "0.850", "servers/sglang/args": unknown("not_recorded")})
    assert told(good, snapshot({**no_server(), **args(mem_fraction_static=0.85)}), OOM).suspects == ()


def test_a_given_argument_that_resolves_to_the_same_value_is_not_blamed():
    good = snapshot({**RUNS, **args(attention_backend="fa3")})
    assert (
        told(good, snapshot({**RUNS, **args(attention_backend="fa3"), "servers/sglang/given/attention_backend": "fa3"}), Symptom("slow", None)).suspects == ()
    )


def test_a_default_that_moved_is_told_as_one():
    given = {**RUNS, "servers/sglang/given/model_path": "/m"}
    found = told(snapshot({**given, **args(attention_backend="flashinfer")}), snapshot({**given, **args(attention_backend="fa3")}), Symptom("slow", None))
    assert suspect(found, "launch-arg", "attention_backend").layer == "launch argument (default)"


def test_equal_arguments_are_ruled_out_only_where_all_are_known():
    assert places(told(snapshot(args(a=1)), snapshot({**args(a=1), "env/A": "1"})), "launch arguments of sglang") == ["ruled_out"]
    assert "ruled_out" not in places(told(snapshot(args(a=1)), snapshot({"servers/sglang/args": unknown("timeout")})), "launch arguments of sglang")


@pytest.mark.parametrize(
    "bad", [{"servers/sglang/given": unknown("not_recorded", "no server runs")}, {"services/sglang/unit/ExecStart": "sglang serve --new"}]
)
def test_equal_arguments_rule_nothing_out_where_the_command_line_is_not_known_or_moved(bad):
    good = {**args(a=1), "services/sglang/unit/ExecStart": "sglang serve"}
    assert places(told(snapshot(good), snapshot({**good, **bad})), "launch arguments of sglang") == []


@pytest.mark.parametrize(
    ("good", "bad", "mark", "run"), [({}, {"NCCL_ALGO": "Tree"}, "+", "unset NCCL_ALGO"), ({"NCCL_ALGO": "Ring"}, {}, "-", "export NCCL_ALGO=Ring")]
)
def test_a_variable_that_came_or_went_is_a_suspect(good, bad, mark, run):
    one = suspect(told(snapshot(env(**good)), snapshot(env(**bad)), Symptom("hang", None)), "env-var", "NCCL_ALGO")
    assert (one.mark, one.commands[1].run) == (mark, run)


def test_families_of_variables_are_routed_by_the_symptom():
    good, bad = snapshot(env(OMP_NUM_THREADS="8", NCCL_ALGO="Ring")), snapshot(env(OMP_NUM_THREADS="64", NCCL_ALGO="Tree"))
    first = {klass: told(good, bad, Symptom(klass, None)).suspects[0].subject.name for klass in ("hang", "slow")}
    assert first == {"hang": "NCCL_ALGO", "slow": "OMP_NUM_THREADS"}


def test_a_variable_of_debugging_is_left_under_changes():
    assert told(snapshot(env()), snapshot(env(NCCL_DEBUG="WARN", PYTHONFAULTHANDLER="1")), OOM).suspects == ()


@pytest.mark.parametrize(("name", "is_one"), [
    ("SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK", True), ("FLASHINFER_DISABLE_VERSION_CHECK", True), ("SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK", True),
    ("VLLM_DISABLE_COMPILE_CACHE", False),
])
def test_a_check_that_was_switched_off_is_a_workaround(name, is_one):
    assert is_workaround(name) is is_one


def test_a_workaround_that_was_set_weighs_less_than_another_variable_of_its_family():
    found = told(snapshot(env()), snapshot(env(NCCL_P2P_DISABLE="1", NCCL_ALGO="Tree")), Symptom("slow", None))
    assert [one.subject.name for one in found.suspects] == ["NCCL_ALGO", "NCCL_P2P_DISABLE"]


def test_of_an_option_list_only_the_options_that_differ_are_told():
    good, bad = (
        snapshot(env(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:512")),
        snapshot(env(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,max_split_size_mb:512")),
    )
    assert "options: + expandable_segments:True" in [term.says for term in told(good, bad, OOM).suspects[0].because]


def test_the_shells_variable_weighs_less_while_a_server_runs():
    shell, server = snapshot({**RUNS, "env/NCCL_ALGO": "Tree"}), snapshot(env(NCCL_ALGO="Tree"))
    hang = Symptom("hang", None)
    assert told(snapshot(RUNS), shell, hang).suspects[0].confidence < told(snapshot(RUNS), server, hang).suspects[0].confidence


def test_a_variable_of_the_process_that_was_named_counts_as_the_servers():
    source = {"env_source": "the process named with --env-from-pid"}
    named, shell = snapshot({**RUNS, **source, "env/NCCL_ALGO": "Tree"}), snapshot({**RUNS, "env/NCCL_ALGO": "Tree"})
    hang = Symptom("hang", None)
    assert told(snapshot({**RUNS, **source}), named, hang).suspects[0].confidence > told(snapshot(RUNS), shell, hang).suspects[0].confidence


def test_environments_of_two_kinds_weigh_little():
    bad = snapshot({**RUNS, "env_source": "the process named with --env-from-pid", "env/NCCL_ALGO": "Tree"})
    assert told(snapshot(RUNS), bad, Symptom("hang", None)).suspects[0].confidence < 0.3


def test_a_secret_is_never_put_into_a_command():
    found = told(snapshot(env(MY_SO_PATH={"keyed": "hmac-sha256:1"})), snapshot(env(MY_SO_PATH={"keyed": "hmac-sha256:2"})), Symptom("import-error", None))
    assert [one.label for one in found.suspects[0].commands] == ["confirm"]


def test_an_equal_environment_of_the_server_is_ruled_out_with_its_secrets_counted():
    snap = snapshot(env(A="1", B="2", TOKEN={"keyed": "hmac-sha256:1"}))
    found = told(snap, snapshot({**snap.facts, "os/id": "x"}))
    assert [one.because for one in found.ruled_out if one.subject.name == "environment of sglang"] == ["2 values equal, 1 secret equal by keyed hash"]


def test_an_environment_with_a_masked_secret_is_not_ruled_out():
    snap = snapshot(env(A="1", TOKEN={"masked": True}))
    assert places(told(snap, snapshot({**snap.facts, "os/id": "x"})), "environment of sglang") == []


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        ("try to increase --mem-fraction-static.", "mem_fraction_static", True),
        ("server_args.mem_fraction_static=0.55", "mem_fraction_static", True),
        ("port already in use", "port", False),
        ("--port 30000", "port", True),
        ("--mem-fraction-static-x", "mem_fraction_static", False),
    ],
)
def test_an_argument_is_named_as_an_option_or_with_a_value(text, name, named):
    assert names_argument(text, name) is named


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        ("ImportError: libtvm_ffi.so: no", "apache-tvm-ffi", True),
        ("No module named 'flashinfer'", "flashinfer-python", True),
        ("/site-packages/sgl_kernel/x.so", "sgl-kernel", True),
        ("max_running_requests=8", "requests", False),
        ("libnccl.so.2: undefined", "nvidia-nccl-cu12", True),
        ("three requests failed", "requests", False),
        ("numpy.core failed", "numpy", True),
    ],
)
def test_a_package_is_named_as_code_does(text, name, named):
    assert names_package(text, name) is named


def test_a_variable_is_named_as_a_word():
    assert names_variable("set NCCL_ALGO to Ring", "NCCL_ALGO")
    assert not names_variable("MY_NCCL_ALGO", "NCCL_ALGO")


def test_a_file_is_named_by_its_base_name_or_its_module():
    assert names_file('File "/x/model_runner.py", line 3', "sglang/srt/model_runner.py")
    assert names_file("sglang.srt.utils: failed", "sglang/srt/utils/__init__.py")


@pytest.mark.parametrize(
    ("family", "of", "name"),
    [
        ("kernel", package_family, "flashinfer-jit-cache"),
        ("collectives", package_family, "nvidia-nccl-cu13"),
        ("cuda", package_family, "nvidia-cublas-cu12"),
        ("other", package_family, "left-pad"),
        ("graphs", argument_family, "cuda_graph_max_bs"),
        ("harmless", argument_family, "log_level_http"),
        ("speed", argument_family, "decode_attention_backend"),
        ("harmless", variable_family, "NCCL_DEBUG_SUBSYS"),
        ("allocator", variable_family, "PYTORCH_CUDA_ALLOC_CONF"),
        ("loader", variable_family, "SGLANG_NCCL_SO_PATH"),
        ("devices", variable_family, "HIP_VISIBLE_DEVICES"),
        ("framework", variable_family, "SGLANG_ENABLE_JIT_DEEPGEMM"),
        ("harmless", variable_family, "HF_TOKEN"),
    ],
)
def test_names_belong_to_families(family, of, name):
    assert of(name) == family


@pytest.mark.parametrize(("value", "said"), [
    ('{"method":"mtp"}', "with --x '{\"method\":\"mtp\"}'"), ({"a": [1]}, "with --x '{\"a\": [1]}'"), (["a b", "c"], "with --x 'a b' c"),
    (0.85, "with --x 0.85"), (True, "with --x"), (None, "without --x"),
])
def test_what_is_to_be_tried_with_an_argument_can_be_pasted(value, said):
    assert with_argument("x", value) == said


def test_a_variable_of_which_a_paste_tells_the_name_alone_is_told_where_the_other_paste_says_that_it_is_not_set():
    shown = "$ env | grep -E 'HOST|NCCL' | sort\n{}HOSTNAME=worker-0\nNCCL_DEBUG=WARN\n"
    good, bad = (read_dump(shown.format(more), "x") for more in ("", "HOST_IP=192.0.2.12\n"))
    found = told(good, bad, Symptom("hang")).suspects
    assert [(one.subject.name, one.good, one.bad) for one in found] == [("HOST_IP", None, "set")]
