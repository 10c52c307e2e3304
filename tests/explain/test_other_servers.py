"""Servers that no reader knows, and what a paste tells beside the packages: options of a container, programs, paths, drivers by their packages."""

from __future__ import annotations

import pytest

from driftwatch.explain.command_lines import options, words
from driftwatch.model import Symptom
from tests.explain.cases import package, snapshot, suspect, told

WRONG, SLOW = Symptom("wrong-output", None), Symptom("slow", None)


def test_options_of_a_command_line_are_told_by_their_field_names():
    line = words("serve --rope-scaling dynamic --num-shard=2 -ngl 99 --no-warmup -v")
    assert options(line) == {"rope_scaling": "dynamic", "num_shard": "2", "ngl": "99", "no_warmup": True, "v": True}
    assert words("serve 'unpaired") == []


def test_an_option_of_a_container_whose_server_is_not_known_is_weighed_like_an_argument():
    line = ["--model-id", "/data/llama", "--num-shard", "2"]
    good, bad = (snapshot({"containers/tgi/command": one}) for one in (line, [*line, "--rope-scaling", "dynamic"]))
    found = told(good, bad, WRONG).suspects[0]
    assert (found.subject.kind, found.subject.name, found.good, found.bad) == ("launch-arg", "rope_scaling", None, "dynamic")


def test_where_a_servers_own_arguments_are_known_its_container_tells_no_others():
    sides = [snapshot({"containers/x/command": ["python", "--tp", tp], "servers/sglang/given/tp_size": tp}) for tp in ("2", "4")]
    assert [one.subject.name for one in told(*sides, WRONG).suspects if one.subject.kind == "launch-arg"] == ["tp_size"]


@pytest.mark.parametrize(("name", "is_server"), [("ollama", True), ("uv", False)])
def test_a_program_that_moved_is_a_server_or_a_tool_beside_it(name, is_server):
    sides = [snapshot({f"programs/{name}/version": version}) for version in ("0.15.5", "0.15.6")]
    found = suspect(told(*sides, SLOW), "package", name)
    assert (found is not None and any("it serves" in term.says for term in found.because)) is is_server


def test_a_folder_that_is_there_no_more_is_a_suspect():
    good, bad = (snapshot({"files/%2Fopt%2Flib/exists": one, **package("rich", version)}) for one, version in ((True, "14.0"), (False, "14.1")))
    found = told(good, bad, SLOW).suspects[0]
    assert (found.subject.name, found.good, found.bad, found.because[0].says) == ("/opt/lib", "there", None, "it is there no more")


def test_a_driver_disagrees_with_itself_by_its_packages_where_no_library_was_read():
    parts = {"driver/module/version": "580.126.09", "driver/library/libcuda/version": None, "driver/library/libnvidia-ml/version": None}
    good, bad = (snapshot({**parts, "driver/on_disk/version": None, "os_packages/libnvidia-compute-580-server/version": f"{version}-0ubuntu0.24.04.1"})
                 for version in ("580.126.09", "580.159.03"))
    found = told(good, bad, Symptom("device-lost", "Failed to initialize NVML: Driver/library version mismatch")).suspects[0]
    assert (found.subject.kind, found.bad) == ("driver", "580.159.03 libnvidia-compute-580-server")


def test_a_later_build_of_one_kernel_weighs_less_than_another_kernel():
    good = snapshot({"kernel/release": "6.8.0-100-generic"})
    releases = ("6.8.0-101-generic", "6.11.0-8-generic")
    later, other = (suspect(told(good, snapshot({"kernel/release": one}), SLOW), "kernel", "kernel") for one in releases)
    assert later.confidence < other.confidence


def test_two_hosts_with_as_many_cards_differ_in_nothing():
    cards = ["GPU-1b7e0c44-52f1", "GPU-9c20f5a1-0d3b", "GPU-1b7e0c44-52f1,GPU-9c20f5a1-0d3b"]
    one, other, both = (snapshot({"env/NVIDIA_VISIBLE_DEVICES": value, **package("rich", value[4:6])}) for value in cards)
    assert suspect(told(one, other, SLOW), "env-var", "NVIDIA_VISIBLE_DEVICES").strength == "weak"
    assert suspect(told(one, both, SLOW), "env-var", "NVIDIA_VISIBLE_DEVICES").confidence > 0.2


@pytest.mark.parametrize(("text", "is_missed"), [("ImportError: Please install vllm[audio] for audio support", True), ("TypeError: x", False)])
def test_a_distribution_that_is_gone_leads_where_the_error_lacks_something(text, is_missed):
    good = snapshot({**package("soundfile", "0.14"), **package("tokenizers", "0.23.1")})
    found = told(good, snapshot(package("tokenizers", "0.23.2")), Symptom("runtime-crash", text)).suspects
    assert (found[0].subject.name == "soundfile") is is_missed


def test_a_server_that_went_back_leads_before_what_it_brought():
    good, bad = (snapshot({**package("sglang", one, requires=["flashinfer-python"]), **package("flashinfer-python", other)})
                 for one, other in (("0.5.17", "0.6.15"), ("0.5.9", "0.6.3")))
    assert told(good, bad, WRONG).suspects[0].subject.name == "sglang"
