"""An audit as JUnit XML, for CI systems: a test case a host. Drift is a failure, what could not be looked at an error, a host not asked is skipped."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from driftwatch.report.audit.night import Night, Row, Way
from driftwatch.report.clean import clean
from driftwatch.report.page import Page

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0 knows no other characters


def render(night: Night, _page: Page) -> str:
    """Return the audit as one test suite."""
    ways = {way.letter: way for way in night.ways}
    cases = [_case(row, ways.get(row.way)) for row in night.rows]
    failures, errors = night.count("drift"), night.count("unseen", "unreachable", "no baseline")
    head = (f'<testsuite name="driftwatch audit" tests="{len(night.rows)}" failures="{failures}" errors="{errors}" skipped="{night.count("not asked")}"'
            f' time="{night.elapsed_s:.3f}" timestamp={quoteattr(night.began_at.rstrip("Z"))}>')
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def _case(row: Row, way: Way | None) -> str:
    head = f'  <testcase classname="driftwatch.audit" name={_attribute(row.host)} time="{row.elapsed_s:.3f}"'
    if row.state == "same":
        return head + "/>"
    if row.state == "not asked":
        return f"{head}>\n    <skipped/>\n  </testcase>"
    tag = "failure" if row.state == "drift" else "error"
    says = way.says if way is not None and row.state == "drift" else row.reason or row.state
    return f"{head}>\n    <{tag} type={_attribute(row.state)} message={_attribute(says)}>{_text(_detail(way))}</{tag}>\n  </testcase>"


def _detail(way: Way | None) -> str:
    if way is None:
        return ""
    lines = [f"{one.mark} {one.path}  {one.good} -> {one.bad}" for one in way.differences] + [f"? {one.what}: {one.status} {one.reason}" for one in way.silent]
    return "\n".join([*lines, way.look])


def _attribute(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("", clean(text)))


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("", "\n".join(clean(line) for line in text.split("\n"))))
