"""A snapshot accounts for every probe, whatever happened to the line."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from driftwatch.capture.bundle import COMPRESSION, bundle, lean, payload, sha256_of_sources
from driftwatch.capture.plan import CaptureError, offers, plan_for
from driftwatch.capture.take import Order, take_recorded, take_snapshot
from driftwatch.model import Known, Unknown
from driftwatch.transports.local import LocalTransport
from driftwatch.transports.wire import LinkLost

ROOT = Path(__file__).parent.parent.parent
HOSTS = ROOT / "tests/hosts"
GOOD = str(HOSTS / "s1-seed-fraction.tar.xz/s1-seed-fraction/good")
MAIN_JOB = ("driver", "env", "git", "nvml", "packages", "record", "servers", "sources", "system", "targets", "versions")
GROUPED = {offer.probe.name for offer in offers() if offer.probe.group}
EVERY = tuple(sorted({offer.module for offer in offers()}))
WHEN = "2026-03-02T10:00:00Z"


class Broken:
    """A line that gives some frames of a real run, then breaks."""

    def __init__(self, keep):
        self.keep = keep

    def stream(self, shipment, deadline_s):
        for number, frame in enumerate(LocalTransport().stream(shipment, deadline_s)):
            if number == self.keep:
                raise LinkLost("the connection was lost", "look at the host")
            yield frame


@pytest.fixture(scope="module")
def good():
    return take_recorded(GOOD, Order(plan_for()))


def test_every_planned_probe_of_a_recorded_host_is_answered(good):
    assert {name: result.status for name, result in good.probes.items() if result.status not in {"ok", "absent"}} == {
        **dict.fromkeys(GROUPED, "not_recorded"), "env": "not_recorded",
    }
    assert good.source == "recorded-host"
    assert (good.host, good.taken_at) == ("bw-a", "2026-02-26T15:20:00Z")


def test_the_same_recorded_host_gives_the_same_facts_whenever_it_is_read(good):
    again = take_recorded(GOOD, Order(plan_for()))
    assert json.dumps(again.facts, sort_keys=True) == json.dumps(good.facts, sort_keys=True)


def test_a_probe_that_was_not_asked_is_unknown_and_never_absent(good):
    found = good.get("packages/torch/imported_version")
    assert isinstance(found, Unknown)
    assert found.status == "not_recorded"
    assert "--with imports" in found.reason


def test_a_line_that_breaks_keeps_what_was_told_and_loses_the_rest_with_the_reason():
    made = take_snapshot("gpu-a", Broken(12), Order(plan_for()), WHEN)
    lost = [result for result in made.probes.values() if result.status == "lost"]
    assert lost
    assert all(result.reason == "the connection was lost: look at the host" for result in lost)
    assert set(made.probes) == {offer.probe.name for offer in offers()}


def test_an_unreachable_host_loses_every_probe_and_no_fact_is_made_up():
    made = take_snapshot("gpu-a", Broken(0), Order(plan_for()), WHEN)
    assert made.facts == {}
    assert isinstance(made.get("driver/module/version"), Unknown)
    assert {result.status for name, result in made.probes.items() if name not in GROUPED} == {"lost"}


def test_this_machine_is_read_over_the_same_path():
    made = take_snapshot("here", LocalTransport(), Order(plan_for(only=["system"]), deadline_s=20.0), WHEN)
    assert made.probes["system"].status == "ok"
    assert made.get("kernel/release") == Known(Path("/proc/sys/kernel/osrelease").read_text().strip())
    assert made.extra == {"partial": True}


def test_what_is_no_recorded_host_is_refused_by_name(tmp_path):
    with pytest.raises(CaptureError, match=tmp_path.name):
        take_recorded(str(tmp_path), Order(plan_for()))


def test_a_host_that_was_unreachable_when_it_was_recorded_is_all_lost(tmp_path):
    described = {"format": 1, "hostname": "gpu-x", "taken_at": WHEN, "unreachable": True, "error": "no route to host"}
    (tmp_path / "host.json").write_text(json.dumps(described))
    made = take_recorded(str(tmp_path), Order(plan_for()))
    assert {result.status for name, result in made.probes.items() if name not in GROUPED} == {"lost"}
    assert "no route to host" in made.probes["system"].reason


def test_the_same_sources_give_the_same_bytes(tmp_path):
    """Ship from a copy made later and elsewhere: its times and folder do not enter."""
    shutil.copytree(ROOT / "driftwatch", tmp_path / "driftwatch", ignore=shutil.ignore_patterns("__pycache__"))
    program = "import hashlib; from driftwatch.capture.bundle import bundle, sha256_of_sources as of; "
    program += f"print(hashlib.sha256(bundle({EVERY!r})).hexdigest(), of({EVERY!r}))"
    there = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert there.stdout.split() == [hashlib.sha256(bundle(EVERY)).hexdigest(), sha256_of_sources(EVERY)]


def test_this_machine_is_looked_at_from_our_own_folder_in_which_nothing_is_written(tmp_path):
    shutil.copytree(ROOT / "driftwatch", tmp_path / "driftwatch", ignore=shutil.ignore_patterns("__pycache__"))
    program = "from driftwatch.capture.take import *; from driftwatch.capture.plan import plan_for; "
    program += f"print({{one.status for one in take_recorded({str(GOOD)!r}, Order(plan_for(only=['system', 'env']))).probes.values()}})"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert ast.literal_eval(ran.stdout) == {"ok", "not_recorded"}
    assert [path.name for path in tmp_path.rglob("*.pyc")] == []


@pytest.mark.parametrize(("collectors", "most"), [(MAIN_JOB, 60 << 10), (EVERY, 128 << 10)], ids=["main job", "all there are"])
def test_the_agent_is_small_on_the_wire(collectors, most):
    with zipfile.ZipFile(io.BytesIO(bundle(collectors))) as archive:
        pynvml = archive.read("pynvml.py")
    whole = len(payload({"recorded": None, "plan": [{"module": name} for name in collectors]}))
    assert whole - len(zlib.compress(pynvml, COMPRESSION)) <= most


def test_a_plan_carries_what_its_probes_import_and_no_more():
    with zipfile.ZipFile(io.BytesIO(bundle(("system",)))) as archive:
        names = set(archive.namelist())
    assert "driftwatch/agent/collectors/system.py" in names
    assert not {"pynvml.py", "driftwatch/agent/recorded.py", "driftwatch/agent/collectors/git.py"} & names


class Untyped(ast.NodeTransformer):
    """Takes away the types of variables, but for those of a class, which are its fields, where types come from, and what a probe says to people."""

    is_inside = False

    def visit_FunctionDef(self, node):
        before, self.is_inside = self.is_inside, True
        self.generic_visit(node)
        self.is_inside = before
        return node

    def visit_AnnAssign(self, node):
        return ast.Assign([node.target], node.value) if self.is_inside and node.value else node

    def visit_keyword(self, node):
        return None if node.arg in ("reads", "root_shows") else node

    def visit_ImportFrom(self, node):
        return None if node.module == "typed" else node


def what_runs(source):
    tree = Untyped().visit(ast.parse(source))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, "value", None), str):
            body[:1] = [] if node is tree else [ast.Expr(ast.Constant(0))]
    return ast.dump(tree)


@pytest.mark.parametrize("path", sorted((ROOT / "driftwatch/agent").rglob("*.py")), ids=lambda path: path.stem)
def test_a_lean_source_is_the_same_program_on_the_same_lines(path):
    source = path.read_bytes()
    compile(lean(source), str(path), "exec")
    assert what_runs(lean(source)) == what_runs(source)
    assert lean(source).count(b"\n") == source.count(b"\n")
    assert b"  #" not in lean(source), "a comment with a quotation mark in it travels"


def test_pynvml_is_shipped_as_it_is_installed_here():
    with zipfile.ZipFile(io.BytesIO(bundle(("nvml",)))) as archive:
        assert archive.read("pynvml.py") == Path(importlib.util.find_spec("pynvml").origin).read_bytes()


def test_the_watcher_sees_frames_as_they_come():
    seen = []
    take_recorded(GOOD, Order(plan_for(only=["system"]), watch=seen.append))
    assert [frame["frame"] for frame in seen][-1] == "end"
