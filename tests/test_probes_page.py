"""The reference of the probes is made from the probes, and kept current."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from driftwatch.capture.plan import offers

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(ROOT / "scripts/make_probes_page.py"))["page"]()


def test_the_page_is_what_the_probes_say(made):
    assert (ROOT / "docs/probes.md").read_text(encoding="utf-8") == made, "make it anew: python scripts/make_probes_page.py"


@pytest.mark.parametrize("offer", offers(), ids=lambda offer: offer.probe.name)
def test_each_probe_stands_there_with_deadline_group_root_and_paths(made, offer):
    probe = offer.probe
    section = made.partition(f"\n## {probe.name}\n")[2].partition("\n## ")[0]
    wanted = [probe.reads, f"deadline {probe.deadline_s:g} s", *(f"`{glob}`" for glob in (*probe.tells, *probe.volatile))]
    wanted += [f"--with {probe.group}"] if probe.group else []
    wanted += [probe.root_shows] if probe.root_shows else []
    assert [words for words in wanted if words not in section] == []
