"""Real imports by a real interpreter: what it gives is told, and what ends, crashes or chatters is no answer."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors import imports
from driftwatch.agent.host import Settings, Target
from driftwatch.model import matches
from tests.agent.installs import facts_of, host_for, install, venv
from tests.agent.recording import recorded, told

MODULES = {
    "fine": '__version__ = "1.0"\n',
    "leaves": "import os\nos._exit(0)\n",
    "exits": "raise SystemExit(0)\n",
    "crashes": "import ctypes\nctypes.string_at(0)\n",
    "chatters": 'import os\nprint(\'{"version": "9"}\', flush=True)\nos.write(1, b"\\x1b[31m" + b"noise" * 500000)\nos.write(2, b"x")\n__version__ = "2.0"\n',
    "breaks": "import nowhere_to_be_found\n",
    "raises": "raise RuntimeError('undefined symbol: _ZN3c10')\n",
    "counts": "__version__ = 3\n",
    "forks": "import os, time\nif os.fork() == 0:\n    os._exit(0)\n__version__ = '4.0'\n",
    "snoops": "import sys\n__version__ = repr(sys.argv)\n",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What one real environment gives for all modules and two that are not files."""
    python, site = venv(tmp_path_factory.mktemp("imports") / "venv")
    for name, text in MODULES.items():
        install(site, f"the-{name}", "0.9", {f"{name}/__init__.py": text})
    (site / "bare").mkdir()
    asked = (*MODULES, "bare", "absent_one")
    return site, facts_of(imports.collect, host_for(site, python=python, packages=asked))


def version(found, name):
    return found[1][f"packages/the-{name}/imported_version"]


def test_a_module_tells_version_and_file_under_its_distribution(found):
    assert version(found, "fine") == "1.0"
    assert found[1]["packages/the-fine/imported_file"] == f"{found[0]}/fine/__init__.py"


@pytest.mark.parametrize(("name", "how"), [("leaves", "exit code 0"), ("exits", "exit code 0"), ("crashes", "signal 11")])
def test_an_interpreter_that_ended_without_an_answer_died(found, name, how):
    assert version(found, name).status == "died"
    assert how in version(found, name).reason
    assert "without an answer" in version(found, name).reason


def test_what_a_module_prints_is_no_answer(found):
    assert version(found, "chatters") == "2.0"


@pytest.mark.parametrize(("name", "why"), [
    ("breaks", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"), ("raises", "RuntimeError: undefined symbol: _ZN3c10"),
])
def test_an_import_that_fails_says_why(found, name, why):
    assert version(found, name) == ("error", f"import {name}: {why}")


def test_a_version_that_is_no_text_and_a_fork_are_lived_with(found):
    assert (version(found, "counts"), version(found, "forks")) == ("3", "4.0")


def test_a_module_does_not_see_how_it_will_be_answered_for(found):
    assert version(found, "snoops") == "['-c']"


def test_a_folder_without_init_is_a_namespace(found):
    assert found[1]["packages/bare/imported_file"] == f"namespace: {found[0]}/bare"


def test_a_module_that_is_not_there_tells_nothing(found):
    assert not any("absent" in path for path in found[1])


def test_every_path_is_one_that_the_probe_says_it_tells(found):
    assert all(matches(path, imports.PROBES[0].tells) for path in found[1])


@pytest.mark.parametrize(("described", "status"), [({}, "not_recorded"), ({"hangs": [["/opt/venv/bin/python3", "-I"]]}, "timeout")])
def test_an_import_that_was_not_recorded_or_hung_is_said_in_one_short_sentence(tmp_path, described, status):
    host = recorded(tmp_path, {"/opt/venv/lib/site-packages/x.py": ""}, **described)
    host.settings = Settings()._replace(packages=("torch",))
    host.targets = (Target("/opt/venv/bin/python3", ("/opt/venv/lib/site-packages",), None, ""),)
    value = facts_of(imports.collect, host)["packages/torch/imported_version"]
    assert value.status == status
    assert value.reason.startswith("/opt/venv/bin/python3: import torch: ")


def test_an_interpreter_that_is_not_there_is_an_error(tmp_path):
    value = facts_of(imports.collect, host_for(tmp_path, python=str(tmp_path / "python"), packages=("torch",)))["packages/torch/imported_version"]
    assert value == ("error", f"{tmp_path}/python: no such interpreter")


def test_without_an_interpreter_nothing_is_absent(tmp_path):
    assert told(imports.collect, recorded(tmp_path, {}))[1] == "not_recorded"
