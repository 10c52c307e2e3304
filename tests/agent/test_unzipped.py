"""The modules of the shipped zip are compiled once, and named as any other loader of a zip names them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from driftwatch.capture.bundle import bundle

BEFORE = ("driftwatch/__init__.py", "driftwatch/agent/__init__.py", "driftwatch/agent/main.py", "driftwatch/agent/unzipped.py", "driftwatch/agent/typed.py")
TOLD = """
import json, sys
sys.path.insert(0, sys.argv[1])
compiled = []
sys.addaudithook(lambda event, given: compiled.append(str(given[1])) if event == "compile" else None)
import driftwatch.agent.main, driftwatch.agent.real
from driftwatch.agent.collectors import packages
print(json.dumps([compiled, {name: module.__file__ for name, module in sys.modules.items() if name.startswith("driftwatch")}]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    archive = tmp_path_factory.mktemp("agent") / "agent.zip"
    archive.write_bytes(bundle(("packages",)))
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", TOLD, str(archive)], capture_output=True, text=True, check=True)
    return archive, *json.loads(ran.stdout)


def test_each_module_is_compiled_once(told):
    archive, compiled, _ = told
    ours = Counter(name[len(str(archive)) + 1 :] for name in compiled if name.startswith(str(archive)))
    assert {name: count for name, count in ours.items() if name not in BEFORE and count != 1} == {}
    assert len(ours) > 12


def test_each_module_has_the_name_of_its_file(told):
    archive, _, files = told
    wanted = {name: f"{archive}/{name.replace('.', '/')}" for name in files}
    folders = ("driftwatch", "driftwatch.agent", "driftwatch.agent.collectors")
    assert files == {name: f"{path}/__init__.py" if name in folders else f"{path}.py" for name, path in wanted.items()}
