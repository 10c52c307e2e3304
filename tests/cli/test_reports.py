"""`diff` in its formats through the real command, how much it says with -q and -v, `--anonymise`, and what Tab offers."""

from __future__ import annotations

import json
import re

import pytest

from driftwatch.cli.wiring.formats import report_formats
from driftwatch.store import document
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label
from tests.cli.conftest import ROOT

PAIR = (ROOT / "snapshots/good.json", ROOT / "snapshots/bad.json")
SAYS = ("mem-fraction-static", "0.768")


def test_there_are_four_formats_text_first():
    assert report_formats()[0] == "text"
    assert {"json", "markdown", "html"} <= set(report_formats())


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_every_format_names_the_culprit_and_hides_the_host_where_that_is_asked(cli, name):
    file = cli.home / f"report.{name}"
    assert cli.run("diff", *PAIR, "--format", name, "-o", file).returncode == 1
    shown = file.read_text()
    assert all(said in shown.replace("_", "-") for said in SAYS)
    assert "bw-a" in shown
    assert cli.run("diff", *PAIR, "--format", name, "-o", file, "--anonymise").returncode == 1
    hidden = file.read_text()
    assert "bw-a" not in hidden
    assert all(said in hidden.replace("_", "-") for said in SAYS)


def test_quiet_tells_only_the_findings_and_nothing_where_there_is_none(cli):
    told = cli.run("diff", *PAIR, "-q")
    assert (told.returncode, told.stdout.split()[0], len(told.stdout.splitlines())) == (1, "LIKELY", 3)
    same = cli.run("diff", PAIR[0], PAIR[0], "-q")
    assert (same.returncode, same.stdout) == (0, "")


def test_verbose_tells_the_weights_that_give_the_confidence(cli):
    weights = [float(one) for one in re.findall(r"\(([+-]\d\.\d\d)\)", cli.run("diff", *PAIR, "-v", "--width", "120").stdout)]
    first = json.loads(cli.run("diff", *PAIR, "--json").stdout)["suspects"][0]
    assert weights == pytest.approx([*(term["weight"] for term in first["because"]), first["prior"]], abs=0.01)


@pytest.fixture
def stored(cli):
    store = FileStore(cli.store)
    entry = store.save(document.load(PAIR[0]))
    set_label(store, entry, "good", set_at="2026-03-05T00:00:00Z")
    return cli


def offered(cli, line):
    words = line.split(" ")
    return cli.run(_DRIFTWATCH_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)).stdout.split()


def test_tab_offers_hosts_references_tags_and_facts(stored):
    assert offered(stored, "driftwatch history b") == ["bw-a"]
    assert offered(stored, "driftwatch show bw-a@g") == ["bw-a@good"]
    assert offered(stored, "driftwatch tag g") == ["good"]
    assert offered(stored, "driftwatch show bw-a@good driver/m") == ["driver/module/"]
    assert offered(stored, "driftwatch show bw-a@good driver/module/v") == ["driver/module/version"]
    assert offered(stored, "driftwatch history bw-a packages/torch/ver") == ["packages/torch/verified", "packages/torch/version"]


def test_tab_offers_references_and_symptoms_to_options_of_diff(stored):
    assert offered(stored, "driftwatch diff --good bw") == ["bw-a@last", "bw-a@good"]
    assert offered(stored, "driftwatch diff bw-a --symptom s") == ["startup-crash", "slow"]


def test_tab_offers_the_facts_of_the_host_to_only(stored):
    assert offered(stored, "driftwatch diff bw-a --only driver/m") == ["driver/module/"]
    assert offered(stored, "driftwatch diff bw-a@good bw-a --only packages/torch/ver") == ["packages/torch/verified", "packages/torch/version"]
    assert offered(stored, "driftwatch plan bw-a --only driver/module/v") == ["driver/module/version"]
    assert offered(stored, "driftwatch ack bw-a --only driver/module/v") == ["driver/module/version"]
    assert offered(stored, "driftwatch diff --only driver/m") == []


def test_tab_never_complains(cli):
    assert offered(cli, "driftwatch show nobody@last dri") == []
    cli.store.parent.joinpath("driftwatch.toml").write_text("no toml")
    assert offered(cli, "driftwatch history b") == []
