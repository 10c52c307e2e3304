from __future__ import annotations

import pytest

from driftwatch.compare.pair import compare
from tests.explain.cases import package, snapshot


def followed(good, bad):
    return {change.path: change.follows for change in compare(snapshot(good), snapshot(bad)) if change.is_folded}


def left(good, bad):
    return [change.path for change in compare(snapshot(good), snapshot(bad)) if not change.is_folded]


def test_what_comes_with_a_version_follows_it():
    good, bad = package("x", "1", requires=["a"], installed_at="t1", text_version="1"), package("x", "2", requires=["b"], installed_at="t2", text_version="2")
    assert left(good, bad) == ["packages/x/version"]


def test_a_package_that_came_is_one_change():
    assert left({}, package("x", "2", build="cu124", text_version="2")) == ["packages/x/version"]


def test_a_text_version_that_did_not_go_along_stands_by_itself():
    good, bad = package("x", "1", text_version="1"), package("x", "2", text_version="3")
    assert left(good, bad) == ["packages/x/text_version", "packages/x/version"]


def test_another_build_of_one_version_is_told_by_its_record():
    good, bad = package("x", "1", record="a", installed_at="t1"), package("x", "1", record="b", installed_at="t2")
    assert left(good, bad) == ["packages/x/record"]


def test_the_counts_of_altered_files_follow_the_file():
    good = package("x", "1")
    bad = {**package("x", "1", verified={"files": 3, "altered": 1}), "packages/x/altered/x%2Fa.py": {"size": 2, "recorded_size": 1}}
    assert left(good, bad) == ["packages/x/altered/x%2Fa.py"]


def test_files_of_a_tree_follow_its_commit_and_else_stand_for_its_digest():
    good, bad = {"sources/s/files/a.py": "1", "sources/s/tree": "1"}, {"sources/s/files/a.py": "2", "sources/s/tree": "2"}
    assert left(good, bad) == ["sources/s/files/a.py"]
    assert left({**good, "git/s/head": "c1"}, {**bad, "git/s/head": "c2"}) == ["git/s/head"]


def test_a_dirty_tree_is_told_by_its_files():
    assert left({"git/s/dirty": False}, {"git/s/dirty": True, "git/s/files/a.py": {"status": ".M"}}) == ["git/s/files/a.py"]


def test_libraries_follow_the_driver_only_to_the_same_version():
    good = {
        "driver/module/version": "550.1",
        "driver/library/libcuda/version": "550.1",
        "driver/library/libnvidia-ml/version": "550.1",
        "driver/version": "550.1",
    }
    bad = {
        "driver/module/version": "580.2",
        "driver/library/libcuda/version": "580.2",
        "driver/library/libnvidia-ml/version": "575.9",
        "driver/version": "580.2",
    }
    assert left(good, bad) == ["driver/library/libnvidia-ml/version", "driver/module/version"]


@pytest.mark.parametrize(
    ("good", "bad", "is_left"), [("ro vmlinuz-6.8.1 quiet", "ro vmlinuz-6.9.0 quiet", False), ("ro vmlinuz-6.8.1", "ro vmlinuz-6.9.0 iommu=off", True)]
)
def test_a_command_line_follows_the_kernel_where_it_only_names_it(good, bad, is_left):
    found = left({"kernel/release": "6.8.1", "kernel/cmdline": good}, {"kernel/release": "6.9.0", "kernel/cmdline": bad})
    assert ("kernel/cmdline" in found) is is_left


@pytest.mark.parametrize(("path", "is_left"), [("/srv/llm/venv/lib/python3.12/site-packages", False), ("/srv/llm/venv/lib/python3.11/site-packages", True)])
def test_what_names_the_folder_of_an_environment_follows_its_interpreter(path, is_left):
    good = {"python/executable": "/opt/venv/bin/python3", "packages/vllm/location": "/opt/venv/lib/python3.12/site-packages", "env/PATH": "/opt/venv/bin:/bin"}
    bad = {"python/executable": "/srv/llm/venv/bin/python3", "packages/vllm/location": path, "env/PATH": "/srv/llm/venv/bin:/bin"}
    assert left(good, bad) == (["packages/vllm/location"] if is_left else []) + ["python/executable"]


def test_a_resolved_argument_follows_the_given_one():
    good, bad = {"servers/s/given/tp_size": "4", "servers/s/args/tp_size": 4}, {"servers/s/given/tp_size": "8", "servers/s/args/tp_size": 8}
    assert followed(good, bad) == {"servers/s/args/tp_size": "servers/s/given/tp_size"}


def test_a_seed_that_nobody_gave_is_picked_anew_and_folded():
    assert left({"servers/s/args/random_seed": 1}, {"servers/s/args/random_seed": 2}) == []
    assert left(
        {"servers/s/given/random_seed": "1", "servers/s/args/random_seed": 1}, {"servers/s/given/random_seed": "2", "servers/s/args/random_seed": 2}
    ) == ["servers/s/given/random_seed"]


def test_a_ranks_own_variable_follows_the_servers():
    good, bad = {"servers/s/env/A": "1", "servers/s/scheduler_TP0/env/A": "1"}, {"servers/s/env/A": "2", "servers/s/scheduler_TP0/env/A": "2"}
    assert left({**good, "servers/s/running": True}, {**bad, "servers/s/running": True}) == ["servers/s/env/A"]
