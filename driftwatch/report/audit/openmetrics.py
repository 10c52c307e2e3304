"""An audit as OpenMetrics text: for node_exporter's textfile collector, for a push gateway, for whatever scrapes.

Names and units as Prometheus recommends: a prefix, base units, no unit where there is none, gauges only, since each audit stands for itself.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Mapping

from driftwatch.report.audit.night import Night, State
from driftwatch.report.clean import clean
from driftwatch.report.page import Page

STATES: tuple[State, ...] = ("same", "drift", "unseen", "unreachable", "no baseline", "not asked")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Sample = tuple[Mapping[str, str], float]


def render(night: Night, _page: Page) -> str:
    """Return the audit's metrics, closed by ``# EOF``."""
    began = float(calendar.timegm(tuple(int(one) for one in re.findall(r"\d+", night.began_at))))
    lines = [
        *_gauge("driftwatch_audit_start_timestamp_seconds", "When the audit began.", [({}, began)], "seconds"),
        *_gauge("driftwatch_audit_duration_seconds", "How long the audit took.", [({}, round(night.elapsed_s, 3))], "seconds"),
        *_gauge("driftwatch_audit_hosts", "Hosts by how they ended.", [({"state": one.replace(" ", "_")}, night.count(one)) for one in STATES]),
        *_gauge("driftwatch_host_reachable", "Whether the host told anything at all.",
                [({"host": row.host}, row.state != "unreachable") for row in night.rows if row.state != "not asked"]),
        *_gauge("driftwatch_host_differences", "Facts that differ from the host's baseline, acknowledged ones left out.",
                [({"host": row.host}, row.changes) for row in night.rows if row.state in ("same", "drift", "unseen")]),
        *_gauge("driftwatch_host_new_differences", "Differences and open questions that no earlier audit told.",
                [({"host": row.host}, row.new) for row in night.rows if row.state not in ("no baseline", "not asked")]),
        *_gauge("driftwatch_host_open_questions", "Questions that the baseline answers and the host did not.",
                [({"host": row.host}, row.unanswered) for row in night.rows if row.state in ("same", "drift", "unseen")]),
        *_gauge("driftwatch_host_suspects", "Suspects of likely strength and above.",
                [({"host": row.host}, row.suspects) for row in night.rows if row.state in ("same", "drift", "unseen")]),
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _gauge(name: str, says: str, samples: Iterable[Sample], unit: str = "") -> list[str]:
    found = [f"{name}{_labels(labels)} {float(value):g}" if abs(value) < 1e6 else f"{name}{_labels(labels)} {float(value)!r}" for labels, value in samples]
    return [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {says}", *found] if found else []


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{key}="{clean(value).translate(_ESCAPES)}"' for key, value in labels.items()) + "}" if labels else ""
