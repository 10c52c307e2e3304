"""The formats of an audit, each read back by a reader of its own kind."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from driftwatch.cli.wiring.night_formats import FORMATS, load_render
from driftwatch.fleet.nodes import expand
from driftwatch.report.audit import openmetrics
from driftwatch.report.audit.night import COLUMNS, Difference, Night, Row, Silent, Suspected, Way
from driftwatch.report.page import Page

HOSTILE = 'x\x1b[31m"<b>\\\n\u202e&'


def cells(**marks):
    return {**dict.fromkeys(COLUMNS, "."), **marks}


def fleet():
    """Return a night of 200 hosts as ux.md draws it: 3 ways, some unseen, some out of reach."""
    driver = (Difference("driver/version", "~", "580.95.05", "580.105.08"),)
    suspects = (Suspected("strong", "the driver", ("why",), 0.9),)
    groups = [
        (Way("A", "drift", expand("gpu-r07-[01-09]"), cells(drv="~", krn="~"), "driver 580.95.05 → 580.105.08", suspects, driver, 2), {}),
        (Way("B", "unseen", expand("gpu-r09-[01-06]"), cells(gpu="?"), "", silent=(Silent("probes/nvml", "timeout", "no answer in 20 s"),), is_new=False), {}),
        (Way("C", "unreachable", expand("gpu-r12-[13-16]"), dict.fromkeys(COLUMNS, "x"), "no answer"), {"reason": "no route"}),
    ]
    rows = [
        Row(host, way.state, way.letter, f"{host}@last", f"{host}@good", 1.5, changes=way.total, new=int(way.is_new), **more)
        for way, more in groups for host in way.hosts
    ]
    rows += [Row(host, "same", "", f"{host}@last", f"{host}@good", 1.25) for host in expand("gpu-s[001-181]")]
    return Night("@good", "2026-11-29T02:00:00Z", 112.0, tuple(rows), tuple(way for way, _ in groups), "DRIFT", 1)


def render(name, night=None, **page):
    return load_render(name, is_whole=page.pop("is_whole", False))(night or fleet(), Page(**page))


def test_two_hundred_hosts_are_a_row_for_each_way_of_differing():
    lines = render("text").splitlines()
    matrix = lines[lines.index(next(line for line in lines if "drv krn" in line)) + 1:]
    assert [line[:6].split() for line in matrix[:4]] == [["A", "9"], ["B", "6"], ["C", "4"], ["181"]]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("is_whole", [False, True])
def test_no_line_of_text_is_wider_than_the_page(width, is_whole):
    long = replace(fleet(), rows=tuple(replace(row, host=row.host * 3) for row in fleet().rows))
    room = max(width, 79 if width < 79 else 0)  # the matrix itself takes what its columns take
    assert max(map(len, render("text", long, width=width, is_whole=is_whole).splitlines())) <= room


def test_with_all_hosts_each_has_a_row():
    assert sum(line.lstrip().startswith(("A ", "B ", "C ", "gpu-s")) for line in render("text", is_whole=True).splitlines()) >= 200


def test_ascii_pages_get_ascii():
    assert render("text", unicode=False).isascii()


def test_only_new_leaves_out_what_was_told():
    assert "B 6 hosts" not in render("text", replace(fleet(), only_new=True))


def test_json_holds_every_host_and_its_format():
    told = json.loads(render("json"))
    assert (told["format"], len(told["hosts"]), [way["letter"] for way in told["ways"]]) == (1, 200, ["A", "B", "C"])


def test_json_lines_are_one_a_host():
    told = [json.loads(line) for line in render("jsonl").splitlines()]
    assert (len(told), {one["state"] for one in told}) == (200, {"drift", "unseen", "unreachable", "same"})


def test_junit_counts_drift_as_failures_and_silence_as_errors():
    suite = ET.fromstring(render("junit"))
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("200", "9", "10")
    assert len(suite.findall("testcase/failure")) == 9


@pytest.mark.parametrize("parse", [open_metrics, prometheus])
def test_metrics_are_read_by_the_official_parsers(parse):
    found = {family.name: family for family in parse(render("openmetrics"))}
    states = {one.labels["state"]: one.value for one in found["driftwatch_audit_hosts"].samples}
    assert states == {"same": 181, "drift": 9, "unseen": 6, "unreachable": 4, "no_baseline": 0, "not_asked": 0}
    assert found["driftwatch_audit_start_timestamp_seconds"].samples[0].value == 1795917600


def test_metrics_have_names_and_units_as_prometheus_recommends():
    for family in open_metrics(render("openmetrics")):
        assert family.name.startswith("driftwatch_")
        assert family.documentation.endswith(".")
        assert family.unit == ("seconds" if family.name.endswith("_seconds") else "")


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_text_is_inert_in_every_format(name):
    night = fleet()
    way = replace(night.ways[0], says=HOSTILE, differences=(Difference(HOSTILE, "~", HOSTILE, HOSTILE),), hosts=(HOSTILE,))
    row = replace(night.rows[0], host=HOSTILE, reason=HOSTILE)
    text = render(name, replace(night, ways=(way,), rows=(row,)))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_hostile_host_name_is_one_label_to_the_parser():
    night = replace(fleet(), rows=(Row(HOSTILE, "same"),))
    (family,) = [one for one in open_metrics(openmetrics.render(night, Page())) if one.name == "driftwatch_host_reachable"]
    assert [list(sample.labels) for sample in family.samples] == [["host"]]


def test_markdown_keeps_its_budget_and_counts_the_ways_that_do_not_fit():
    many = tuple(replace(way, letter=f"W{n}", says="long " * 200) for n in range(200) for way in fleet().ways[:1])
    text = render("markdown", replace(fleet(), ways=many))
    assert len(text) < 60_000
    assert "more ways of differing" in text


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "openmetrics"])
def test_every_format_names_every_way_and_every_host_without_an_answer(name):
    text = render(name)
    assert all(word in text for word in ("580.105.08", "gpu-r12-", "probes/nvml"))
