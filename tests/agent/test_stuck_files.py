"""Files that never answer, or answer wrongly: the probe that met them says so, the others answer, and the run ends in time."""

from __future__ import annotations

import pytest

from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.real import RealRoot
from tests.agent import lab
from tests.agent.lab import planned
from tests.lab import faultfs

pytestmark = pytest.mark.skipif(bool(faultfs.why_not()), reason=f"no FUSE here: {faultfs.why_not()}")

TRIAL = """
def hashes(host):
    for path, stat in host.walk(host.settings.source):
        yield "hashes/" + path, host.sha256(host.settings.source + "/" + path).sha256

def lists(host):
    yield "lists/names", host.list(host.settings.source + "/hangdir")

def good(host):
    yield "good/a", 1

PROBES = (probe(hashes), probe(lists), probe(good))
"""


@pytest.mark.parametrize(("probe", "which", "asked"), [
    ("hashes", ("a.py", "hang.py", "ok.py"), "hash"), ("hashes", ("hangstat.py",), "list"), ("lists", ("hangdir",), "list"),
])
def test_a_file_system_that_never_answers_costs_its_own_probe_and_no_more(tmp_path, probe, which, asked):
    with faultfs.mounted(tmp_path / "tree", *which) as tree:
        told = lab.run(tmp_path, TRIAL, planned(probe), planned("good"), source=str(tree))
    outcome = told.outcomes[probe]
    assert outcome["status"] == "timeout"
    assert f"it was waiting for: {asked} {tree}" in outcome["reason"]
    assert told.outcomes["good"]["status"] == "ok"
    assert told.wall_s < 1.0 + 0.5 + 1.0 + 2.0
    for left in outcome.get("left_behind", []):
        assert left["state"] == "D"


@pytest.mark.parametrize(("name", "word"), [
    ("eio.py", "EIO"), ("half.py", "EIO"), ("short.py", "size changed while read"), ("endless.py", "size changed while read"),
])
def test_a_digest_is_never_that_of_a_part(tmp_path, name, word):
    with faultfs.mounted(tmp_path / "tree", name) as tree, pytest.raises(Unreadable, match=word):
        Host(RealRoot(), Settings()).sha256(str(tree / name))
