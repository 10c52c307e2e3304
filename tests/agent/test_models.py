"""The model that is served, as it lies on disk: which revision, which settings, which code, and whether all of its weights are there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from driftwatch.agent.collectors import models
from driftwatch.agent.collectors.models import digest_of, parse_mount, served
from driftwatch.agent.model_folder import parse_config, parse_index
from driftwatch.agent.probe import Unknown
from driftwatch.agent.real import RealRoot
from tests.agent.recording import told
from tests.agent.serving_lab import host_of, process, record
from tests.lab import faultfs, nvml_stand_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = json.dumps({"architectures": ["KimiForCausalLM"], "model_type": "kimi", "quantization_config": {"quant_method": "fp8"}, "vocab_size": 9})
INDEX = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})


def serving(folder, model, files=(), links=None, more=(), **described):
    """Return a recorded host that serves a model."""
    argv = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", model, *more)
    return host_of(record(folder, {**process(41, argv, {"HOME": "/srv"}), **dict(files)}, links, **described))


def facts_of(host):
    facts, status, _ = told(models.collect, host)
    assert status == "ok"
    return facts


def test_a_folder_tells_settings_code_and_sizes_of_weights(tmp_path):
    files = {f"/data/Kimi-K2/{name}": text for name, text in {
        "config.json": CONFIG, "modeling_kimi.py": "x = 1\n", "model.safetensors.index.json": INDEX, "model-1.safetensors": "12345", "tokenizer.json": "{}",
    }.items()}
    facts = facts_of(serving(tmp_path, "/data/Kimi-K2/", {**files, "/proc/mounts": "/dev/sda / ext4 rw 0 0\nnas:/m /data nfs4 ro 0 0\n"}))
    below = {path.partition("Kimi-K2/")[2]: value for path, value in facts.items()}
    assert (below["path"], below["folder"], below["filesystem"], below["served_as"]) == ("/data/Kimi-K2", "/data/Kimi-K2", "nfs4 nas:/m", ["model"])
    assert (below["config/architectures"], below["config/quantization"]) == (["KimiForCausalLM"], "fp8")
    assert below["weights/model-1.safetensors"] == below["weights_bytes"] == 5
    assert below["weights_missing"] == ["model-2.safetensors"]
    assert {"settings/config.json", "settings/tokenizer.json", "remote_code/modeling_kimi.py", "remote_code_digest", "weights_index"} <= set(below)


def test_code_that_was_edited_gives_another_digest(tmp_path):
    digests = [facts_of(serving(tmp_path / text, "/data/m", {"/data/m/modeling.py": text}))["models/m/remote_code_digest"] for text in ("a", "b")]
    assert digests[0] != digests[1]


@pytest.mark.parametrize(("more", "refs", "expected"), [((), {"main": COMMIT}, COMMIT), (("--revision", COMMIT[:8]), {}, COMMIT)])
def test_a_model_of_a_hub_tells_the_commit_that_is_served(tmp_path, more, refs, expected):
    top = "/srv/.cache/huggingface/hub/models--moonshotai--Kimi-K2"
    files = {f"{top}/refs/{name}": text for name, text in refs.items()}
    files.update({f"{top}/blobs/aa": "1234567", f"{top}/blobs/bb.incomplete": "1", f"{top}/snapshots/{COMMIT}/config.json": CONFIG})
    links = {f"{top}/snapshots/{COMMIT}/model-1.safetensors": "../../blobs/aa", f"{top}/snapshots/{COMMIT}/model-2.safetensors": "../../blobs/cc"}
    facts = facts_of(serving(tmp_path, "moonshotai/Kimi-K2", files, links, more))
    below = {path.partition("Kimi-K2/")[2]: value for path, value in facts.items()}
    assert (below["revision"], below["snapshots"], below["unfinished_downloads"]) == (expected, [COMMIT], 1)
    assert (below["weights/model-1.safetensors"], below["weights/model-2.safetensors"]) == (7, None)


@pytest.mark.parametrize(("denied", "unknown"), [
    ("blobs", ["unfinished_downloads"]), (f"snapshots/{COMMIT}/encoder", ["weights", "weights_files", "weights_missing"]),
    (f"snapshots/{COMMIT}/config.json", ["config", "weights_bytes"]),
])
def test_a_part_of_a_model_that_may_not_be_read_is_unknown(tmp_path, denied, unknown):
    top = "/srv/.cache/huggingface/hub/models--org--m"
    files = {f"{top}/refs/main": COMMIT, f"{top}/blobs/bb.incomplete": "1", f"{top}/snapshots/{COMMIT}/config.json": CONFIG,
             f"{top}/snapshots/{COMMIT}/encoder/model.safetensors": "1"}
    facts = facts_of(serving(tmp_path, "org/m", files, denied=[f"{top}/{denied}"]))
    assert {facts["models/org%2Fm/" + name].status for name in unknown} == {"denied"}


def test_a_revision_that_is_not_there_is_said_and_nothing_is_made_up(tmp_path):
    top = "/srv/.cache/huggingface/hub/models--org--m"
    facts = facts_of(serving(tmp_path, "org/m", {f"{top}/refs/main": "f" * 40, f"{top}/snapshots/{COMMIT}/config.json": "{}"}))
    assert facts["models/org%2Fm"].status == "error"
    assert "no snapshot of revision ffff" in facts["models/org%2Fm"].reason


def test_the_copies_that_transformers_runs_are_told_beside_the_model_s_own_code(tmp_path):
    copied = "/srv/.cache/huggingface/modules/transformers_modules/Kimi_hyphen_K2/modeling.py"
    facts = facts_of(serving(tmp_path, "/data/Kimi-K2", {"/data/Kimi-K2/modeling.py": "new", copied: "old"}))
    assert facts["models/Kimi-K2/copied_code/Kimi_hyphen_K2%2Fmodeling.py"] != facts["models/Kimi-K2/remote_code/modeling.py"]


def test_without_a_server_the_log_tells_what_was_served(tmp_path):
    log = "server_args=ServerArgs(model_path='/data/m', tokenizer_path='/data/m')\n"
    facts = facts_of(host_of(record(tmp_path, {"/log": log, "/data/m/config.json": "{"}, server_log="/log")))
    assert facts["models/m/served_as"] == ["model", "tokenizer"]
    assert facts["models/m/config/unreadable"].startswith("no JSON")


def test_where_nothing_names_a_model_that_is_unknown(tmp_path):
    assert facts_of(host_of(record(tmp_path, {})))["models"] == Unknown("not_recorded", "no server runs, and no log was named: --log FILE")


def test_a_folder_nobody_looked_at_is_unknown_and_a_missing_one_is_absent(tmp_path):
    assert facts_of(serving(tmp_path / "a", "/data/m", not_recorded=["/data"]))["models/m"].status == "not_recorded"
    assert set(facts_of(serving(tmp_path / "b", "/data/m"))) == {"models/m/served_as", "models/m/path"}


@pytest.mark.skipif(bool(faultfs.why_not()), reason=f"no FUSE here: {faultfs.why_not()}")
def test_a_model_on_a_file_system_that_never_answers_is_a_timeout_and_the_probe_goes_on(tmp_path):
    with faultfs.mounted(tmp_path / "tree", "hangdir") as tree:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "--model", str(tree / "hangdir")], env={"HOME": str(tmp_path)})
        try:
            facts = facts_of(host_of(RealRoot(), env_from_pid=child.pid))
        finally:
            child.kill()
            child.wait()
    assert facts["models/hangdir"].status == "timeout"


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"weight_map": 1}', '{"weight_map": []}'])
def test_a_broken_file_is_no_traceback(text):
    assert parse_index(text) == []
    parse_config(text)


def test_one_model_in_several_roles_is_told_once_and_a_draft_beside_it():
    found = served({"model_path": "/m", "tokenizer_path": "/m", "speculative_draft_model_path": "org/draft", "revision": "v1"})
    assert [(one.name, one.revision, one.roles) for one in found] == [("m", "v1", ["model", "tokenizer"]), ("org/draft", "main", ["draft"])]


@pytest.mark.parametrize("arguments", [{"lora_modules": ["sql=/a/sql", '{"name": "x", "path": "/a/x"}']}, {"lora_paths": "/a/sql", "revision": "v1"}])
def test_the_adapters_of_a_model_are_looked_at_too(arguments):
    assert [(one.name, one.given, one.revision, one.roles) for one in served(arguments)] == [("sql", "/a/sql", "main", ["adapter"])]


def test_the_mount_of_a_path_is_the_longest_that_holds_it():
    mounts = "a / ext4 rw 0 0\nb /data xfs rw 0 0\nc /data/models nfs4 rw 0 0\nd /data/mod tmpfs rw 0 0\n"
    assert parse_mount(mounts, "/data/models/m") == "nfs4 c"
    assert parse_mount("", "/data") == ""


def test_a_line_that_is_no_mount_holds_nothing():
    assert parse_mount("a    \n   b /data xfs\nc /data nfs4 rw 0 0\n", "/data") == "nfs4 c"


def test_a_digest_of_all_is_unknown_where_one_has_none():
    assert isinstance(digest_of({"a.py": "sha256:1 1", "b.py": "not hashed, 9 bytes"}), Unknown)


def test_models_are_told_on_the_oldest_python(tmp_path):
    answer = nvml_stand_in.told(nvml_stand_in.start("models", tmp_path, python=nvml_stand_in.oldest_python()))
    assert answer.status == "ok"
