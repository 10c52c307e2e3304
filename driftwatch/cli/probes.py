"""Lists every probe: what it reads, its deadline, and whether it needs root."""

from __future__ import annotations

import json
from typing import Any

import typer

from driftwatch.agent.probe import Probe
from driftwatch.capture.plan import offers
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.report.table import columns


def command(ctx: typer.Context) -> int:
    """List every probe: its name, its deadline, what turns it on, what it reads, and what it could add as root."""
    desk = open_desk(ctx)
    rows = [_row(offer.probe) for offer in sorted(offers(), key=lambda offer: offer.probe.name)]
    answer(desk, json.dumps(rows, indent=1) + "\n" if desk.given.format == "json" else columns([_cells(row) for row in rows], desk.page))
    return 0


def _row(probe: Probe) -> dict[str, Any]:
    return {
        "probe": probe.name, "deadline_s": probe.deadline_s, "group": probe.group, "reads": probe.reads, "root_shows": probe.root_shows,
        "tells": list(probe.tells),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    root = f"; as root also {row['root_shows']}" if row["root_shows"] else ""
    return [row["probe"], f"{row['deadline_s']:g} s", f"--with {row['group']}" if row["group"] else "", row["reads"] + root]
